"""mail.answer_invitation: an invitation that came by mail, answered to the one who invited (iTIP REPLY, RFC 5546)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage

from actions import nominal
from actions.plain import clean
from actions.tools import ics
from actions.tools.letter import Letter
from actions.tools.mailbox import Mailbox, bracketed, parsed
from actions.tools.send import ACCOUNT, Sends, outgoing
from actions.tools.tool import Arg, Args
from schemas.errors import StepFailed

MANIFEST = outgoing(
    name="mail.answer_invitation",
    description="Answer an invitation that came by mail.",
    says="Answer the invitation in the mail {message_id} to {to}: {answer}",
    args={
        "message_id": Arg(type="MessageId", says="the mail with the invitation"),
        "to": Arg(type="Email", says="who invited; anybody else is refused"),
        "answer": Arg(type="Answer", says="accepted, declined or tentative"),
        "account": ACCOUNT,
    },
)
_WORDS = {"accepted": "Accepted", "declined": "Declined", "tentative": "Tentative"}
_KEPT = ("UID", "SEQUENCE", "DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "SUMMARY", "ORGANIZER")
"""What a reply repeats of the request, as it stands there."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """``attendee`` is the owner's own address, as the request has it."""

    block: ics.Block
    organiser: str
    attendee: str


class MailAnswerInvitation(Sends):
    """The reply says nothing that the request did not: its lines, and the owner's one word."""

    manifest = MANIFEST

    async def letter(self, args: Args, box: Mailbox) -> Letter:
        wanted, word = bracketed(str(args["message_id"])), _WORDS.get(str(args["answer"]))
        if word is None:
            raise StepFailed("an invitation is accepted, declined or left open", code="invalid")
        raw = await box.read(wanted)
        if raw is None:
            raise StepFailed("the mail with the invitation is not there any more", code="not_found")
        found = invitation_in(parsed(raw), box.address)
        if str(args["to"]).lower() != found.organiser:
            raise StepFailed(f"{clean(found.organiser, 80)} invites, not {args['to']}", code="denied")
        title = clean(ics.unescaped(found.block.value("SUMMARY") or ""), 150)
        reply = answer_to(found, str(args["answer"]), ics.utc(self._clock.now()))
        body = f"{box.address} answers: {word.lower()}."
        calendar = (reply.encode("utf-8", "surrogateescape"), "REPLY")
        return Letter(box.address, found.organiser, f"{word}: {title}", body, thread=[wanted], calendar=calendar)


def invitation_in(mail: EmailMessage, own: str) -> Invitation:
    """StepFailed where the mail does not invite the owner to one thing."""
    for text in _calendars(mail):
        found = ics.blocks(text)
        if "METHOD:REQUEST" not in text.upper().split() or not found:
            continue
        block = found[0]
        people = [value.strip() for name, _, value in block.lines if name == "ATTENDEE"]
        attendee = next((each for each in people if _address(each) == own.lower()), None)
        organiser = _address(block.value("ORGANIZER") or "")
        if attendee is None or not block.has("UID"):
            raise StepFailed("the invitation is not for the owner of this account", code="invalid")
        if nominal.fault("Email", organiser):
            raise StepFailed("the invitation does not say who invites", code="invalid")
        return Invitation(block, organiser, attendee)
    raise StepFailed("the mail holds no invitation", code="invalid")


def answer_to(found: Invitation, answer: str, stamp: str) -> str:
    """The iTIP object. ``stamp``: the instant of the answer, in UTC."""
    lines = [f"{name}{params}:{value}" for name, params, value in found.block.lines if name in _KEPT]
    lines += [f"DTSTAMP:{stamp}", f"ATTENDEE;PARTSTAT={answer.upper()}:{found.attendee}"]
    empty = ics.EMPTY.replace("END:VCALENDAR", "METHOD:REPLY\r\nEND:VCALENDAR")
    return ics.inserted(empty, lines)


def _calendars(mail: EmailMessage) -> Iterator[str]:
    for part in mail.walk():
        if part.get_content_type() == "text/calendar":
            raw = part.get_payload(decode=True)
            if isinstance(raw, bytes):
                yield raw.decode("utf-8", "surrogateescape")


def _address(value: str) -> str:
    return value.strip().lower().removeprefix("mailto:")

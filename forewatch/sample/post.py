"""Post: who writes what to whom; turns wordings into letters in the writer's own habits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal
from zoneinfo import ZoneInfo

from forewatch.sample.cast import Company, Person, slug
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Address, Attachment, Letter, Quoting, Shape
from forewatch.sample.speech import Language, Speaker, Value, Wording
from forewatch.sample.stage import Stage

Encoding = Literal["quoted-printable", "base64", "8bit"]
_ZONES: dict[Language, str] = {
    "en": "Europe/London",
    "de": "Europe/Berlin",
    "fr": "Europe/Paris",
    "es": "Europe/Madrid",
}


@dataclass(frozen=True, slots=True)
class Habits:
    """How a mail program writes."""

    shape: Shape
    charset: str
    encoding: Encoding
    mailer: str
    quoting: Quoting = "angle"


_SYSTEMS = (
    Habits("html", "utf-8", "quoted-printable", "CampaignWorks 7"),
    Habits("html", "iso-8859-1", "quoted-printable", "FakturaDesk 11.2"),
    Habits("both", "utf-8", "base64", "MailPress 3.0"),
    Habits("both", "windows-1252", "quoted-printable", "Office Suite Server 16"),
    Habits("plain", "iso-8859-1", "8bit", "batchmail 0.9"),
    Habits("plain", "utf-8", "8bit", "cronpost"),
    Habits("html", "windows-1252", "base64", "ERP Notify 5"),
    Habits("both", "utf-8", "quoted-printable", "TransactMail"),
)
_PEOPLE = (
    Habits("plain", "utf-8", "quoted-printable", "Thunderclap 128 flowed", "angle"),
    Habits("plain", "iso-8859-1", "quoted-printable", "Post 4.2", "angle"),
    Habits("both", "utf-8", "quoted-printable", "Webmail", "blockquote"),
    Habits("html", "windows-1252", "quoted-printable", "Outlet 16.0", "outlook"),
    Habits("plain", "utf-8", "base64", "Pocket Mail", "angle"),
    Habits("both", "iso-8859-1", "base64", "Outlet 15.4", "outlook"),
)


def _habits(stage: Stage, name: str, choices: tuple[Habits, ...]) -> Habits:
    return stage.dice["habits", name].pick(choices)


def owner_address(stage: Stage) -> Address:
    return stage.family.owner.address


def from_company(
    stage: Stage,
    dice: Dice,
    company: Company,
    kind: str,
    at: datetime,
    slots: dict[str, Value],
    *,
    answers: Letter | None = None,
    jsonld: dict[str, Any] | None = None,
) -> Letter:
    """A system's letter: formal, in the company's house style. JSON-LD makes it an HTML mail.

    Some systems say that their mail is automatic, most do not.
    """
    habits = _habits(stage, company.name, _SYSTEMS)
    wording = company.speaker.word(kind, dice["wording"], {**_own_slots(stage, dice, company, at), **slots})
    letter = _letter(stage, dice, company.sender, company.speaker, wording, at, habits, formal=True)
    foreign = dice["zone"].chance(30)
    return replace(
        letter,
        at=at.astimezone(ZoneInfo(_ZONES[company.lang])) if foreign else at,
        automatic=stage.dice["automatic", company.name].chance(35),
        answers=answers,
        jsonld=jsonld,
        shape=("both" if habits.shape == "both" else "html") if jsonld else habits.shape,
        blocks=(*letter.blocks, company.speaker.words("noreply"))
        if "noreply" in company.sender.mail
        else letter.blocks,
    )


def from_person(
    stage: Stage,
    dice: Dice,
    person: Person,
    kind: str,
    at: datetime,
    slots: dict[str, Value],
    *,
    answers: Letter | None = None,
    quote: bool = False,
) -> Letter:
    """A friend's letter: informal, in the habits of their mail program."""
    habits = _habits(stage, person.address.mail, _PEOPLE)
    speaker = person.speaker
    wording = speaker.word(kind, dice["wording"], {**_common(stage, dice, at), **slots})
    letter = _letter(stage, dice, person.address, speaker, wording, at, habits, formal=False)
    return replace(letter, answers=answers, quoting=habits.quoting if quote else None)


def by_owner(
    stage: Stage, dice: Dice, to: Letter, kind: str, at: datetime, slots: Mapping[str, Value] = MappingProxyType({})
) -> Letter:
    """The owner's reply, in the language of the letter it answers."""
    letter = _owners(stage, dice, to.speaker, kind, at, slots)
    quoting = _habits(stage, stage.family.owner.address.mail, _PEOPLE).quoting
    return replace(letter, subject=answering(to), to=(to.sender,), answers=to, quoting=quoting)


def from_owner(stage: Stage, dice: Dice, to: Person, kind: str, at: datetime) -> Letter:
    """A letter of the owner's own accord, in the friend's language."""
    return replace(_owners(stage, dice, to.speaker, kind, at, {}), to=(to.address,))


def answering(letter: Letter) -> str:
    """The subject of an answer."""
    return f"Re: {letter.subject.removeprefix('Re: ')}"


def _owners(stage: Stage, dice: Dice, other: Speaker, kind: str, at: datetime, slots: Mapping[str, Value]) -> Letter:
    """Something that the owner sends, in the language of the other."""
    habits = _habits(stage, stage.family.owner.address.mail, _PEOPLE)
    speaker = Speaker.of(other.lang, dice["speaker"], other.book)
    wording = speaker.word(kind, dice["wording"], {**_common(stage, dice, at), **slots})
    letter = _letter(stage, dice, stage.family.owner.address, speaker, wording, at, habits, formal=False)
    return replace(letter, sent=True)


def _common(stage: Stage, dice: Dice, at: datetime) -> dict[str, Value]:
    owner = stage.family.owner
    return {
        "first": owner.first,
        "family": owner.surname,
        "child": stage.child(dice["child"]),
        "today": stage.day_of(at),
    }


def _own_slots(stage: Stage, dice: Dice, company: Company, at: datetime) -> dict[str, Value]:
    return {**_common(stage, dice, at), "company": company.name, "iban": company.iban, "domain": company.domain}


def _letter(
    stage: Stage,
    dice: Dice,
    sender: Address,
    speaker: Speaker,
    wording: Wording,
    at: datetime,
    habits: Habits,
    *,
    formal: bool,
) -> Letter:
    tone = "formal" if formal else "informal"
    names: dict[str, Value] = {"first": stage.family.owner.first, "family": stage.family.surname}
    greeting = speaker.say(dice["greeting"].pick(speaker.words(f"greeting_{tone}")), names)
    closing = dice["closing"].pick(speaker.words(f"closing_{tone}"))
    return Letter(
        at=at,
        message_id=f"{dice['id'].hexes(12)}.{at:%Y%m%d%H%M}@{sender.domain}",
        speaker=speaker,
        sender=sender,
        to=(stage.family.owner.address,),
        subject=wording.subject,
        blocks=(greeting, *wording.blocks, closing, sender.name),
        shape=habits.shape,
        charset=habits.charset,
        encoding=habits.encoding,
        mailer=habits.mailer,
    )


def newsletter(letter: Letter) -> Letter:
    """The same as bulk mail: with List headers and a way out."""
    goodbye = letter.speaker.words("unsubscribe").format(domain=letter.sender.domain)
    return replace(letter, bulk=True, automatic=False, preheader=letter.subject, blocks=(*letter.blocks, goodbye))


def with_pdf(letter: Letter, number: str) -> Letter:
    """A small PDF beside the text, as invoices come."""
    content = f"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n% {number}\ntrailer<</Root 1 0 R>>\n%%EOF\n".encode()
    return replace(letter, attachment=Attachment(f"{slug(number)}.pdf", "application/pdf", content))

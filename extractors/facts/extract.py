"""The one door to the facts in somebody's words: a mail, the description of a meeting, the purpose of a payment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from extractors.facts import (
    alert,
    amount,
    booking,
    change,
    claim,
    deadline,
    expiry,
    guards,
    invoice,
    preparation,
    promise,
    question,
    refund,
    resolution,
)
from extractors.facts.context import TextContext
from extractors.facts.merge import merge
from extractors.facts.passage import TEXT_CAP, Passage
from schemas.fact import AmountFact, DueFact, Fact, InvoiceFact, PromiseFact

_SUBJECT_CAP = 500
_ANSWER = re.compile(r"\s*(?:re|aw|sv|antw|rép|rv)(?:\[\d+\])?\s?:", re.IGNORECASE)


def extract(
    text: str, context: TextContext, *, subject: str = "", structured: Sequence[Fact] = (), part: str = "text"
) -> list[Fact]:
    """The facts in ``subject`` and ``text``, deterministic; of each kind the best stands first.

    Both must be clean (``extractors.text.clean``) and hold only what the sender wrote now: no quoted replies.
    ``structured`` are facts from markup (JSON-LD, iTIP): words that say the same add nothing to them. ``part`` names
    the text in the spans.
    """
    passages = [Passage(part, text[:TEXT_CAP], context)]
    titled = [Passage("subject", subject[:_SUBJECT_CAP], context), *passages]
    new = passages if _ANSWER.match(subject) else titled  # the subject of an answer is quoted too
    resolutions = list(resolution.find(titled))
    dues = [due for passage in new for due in deadline.find(passage)]
    amounts = [found for passage in new for found in amount.find(passage)]
    is_settled = any(fact.outcome == "paid" for fact in resolutions) or _owes_nothing(passages)
    bills = invoice.find(titled, dues, amounts, resolutions)
    dues = _as_billed(dues, amounts, bills)
    promises = list(promise.find(passages))
    open_dues = [
        due
        for due in dues
        if not (is_settled and due.what in ("pay", "debit", "act")) and not any(_is_by(made, due) for made in promises)
    ]
    found: list[Fact] = [*open_dues, *amounts, *resolutions, *bills]
    found += booking.find(titled, resolutions)
    found += [*expiry.find(new, dues), *change.find(new), *refund.find(new)]
    found += [fact for passage in passages for fact in question.find(passage)]
    found += [*promises, *claim.find(titled), *alert.find(titled)]
    found += [fact for passage in passages for fact in preparation.find(passage)]
    return merge(structured, found)


def _as_billed(dues: Sequence[DueFact], amounts: Sequence[AmountFact], bills: Sequence[InvoiceFact]) -> list[DueFact]:
    """A due day without a verb, in a mail with a total, is for paying it; a bill that is debited needs no payment."""
    meant: dict[str, str] = {}
    if bills or any(fact.role in ("total", "due") for fact in amounts):
        meant["act"] = "pay"
    if bills and bills[0].autopay:
        meant |= {"act": "debit", "pay": "debit"}
    return [due.model_copy(update={"what": meant.get(due.what, due.what)}) for due in dues]


def _is_by(made: PromiseFact, due: DueFact) -> bool:
    """The day is the one by which the sender promises something: no duty of the reader."""
    if made.by != due.on or made.span is None or due.span is None or made.span.part != due.span.part:
        return False
    return made.span.start <= due.span.start < made.span.end


def _owes_nothing(passages: Sequence[Passage]) -> bool:
    """ "No payment is due" in a clause that is no condition ("if you have already paid, ...")."""
    for passage in passages:
        for clause in passage.clauses:
            match = guards.NOTHING_TO_PAY.search(clause.text)
            if match and not guards.CONDITION.search(clause.text[: match.start()]):
                return True
    return False


def main_due(facts: Sequence[Fact]) -> DueFact | None:
    """The deadline that a person must act on: what is debited by itself comes last."""
    dues = [fact for fact in facts if isinstance(fact, DueFact)]
    return next((due for due in dues if due.what != "debit"), dues[0] if dues else None)

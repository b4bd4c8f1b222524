"""Scores proposals against the labels of a household (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from forewatch.sample.household import Household
from forewatch.sample.labels import Label
from schemas.clock import local_day

GRACE = timedelta(days=2)
"""How long after the source has withdrawn a matter its proposal may stay: polls have their hours."""
REFRESHES = 2
"""Proposals about one situation, one after the other, that are no nuisance: an early and a late reminder."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One reason of a proposal. ``tokens``: what its evidence may be known by (Message-IDs, UIDs, bank references,
    accounts). Offers with the same ``id`` are reasons of one proposal.

    ``closed_at``: when it ended to wait for the person: answered, withdrawn or expired; None: it waits still.
    """

    id: str
    rule: str
    title: str
    offered_at: datetime
    retracted_at: datetime | None
    surface: str
    tokens: frozenset[str]
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that went wrong: about which label or offer, and why."""

    what: str
    reason: str
    label: Label | None = None
    offer: Offer | None = None


@dataclass(frozen=True, slots=True)
class RuleScore:
    """Of the labels that are first of all one rule's. ``false_alarms``: wrong proposals that this rule made."""

    rule: str
    situations: int
    noticed: int
    look_alikes: int
    disturbed: int
    false_alarms: int


@dataclass(frozen=True, slots=True)
class Score:
    """Shares are between 0 and 1; a share of nothing is 1.

    ``cancellation_recall`` is over the cancelled situations that were noticed. ``redundancy`` is the share of right
    proposals about a situation of which another one, of whatever rule, still waited for an answer or that had been
    told ``REFRESHES`` times before.
    """

    recall: float
    precision: float
    cancellation_recall: float
    interruptions_per_week: float
    redundancy: float
    situations: int
    noticed: int
    look_alikes: int
    disturbed: int
    """Look-alikes about which something was said."""
    proposals: int
    right: int
    said: int
    """What proposals said, each rule that speaks in one counted for itself, of which ``said_right`` were right."""
    said_right: int
    cancelled: int
    """Cancelled situations that were noticed, of which ``withdrawn`` were withdrawn in time."""
    withdrawn: int
    repeated: int
    """Right proposals that are redundant."""
    rules: tuple[RuleScore, ...]
    misses: tuple[Finding, ...]
    false_alarms: tuple[Finding, ...]
    not_withdrawn: tuple[Finding, ...]
    withdrawn_early: tuple[Finding, ...]
    """Proposals withdrawn although the matter was still open; they count as noticed."""


@dataclass(frozen=True, slots=True)
class _Day:
    """An offer in local days."""

    offer: Offer
    offered_on: date
    retracted_on: date | None


def score(household: Household, offers: Iterable[Offer], until: date | None = None) -> Score:
    """``until``: the first local day that was not played; situations that could still be noticed then do not count."""
    end = min(until or household.end, household.end)
    zone = ZoneInfo(household.zone)
    known = [_in_days(offer, zone) for offer in offers]
    situations = [label for label in household.situations if label.notice_by < end]
    found = {label.id: [day for day in known if _is_about(label, day)] for label in situations}
    right = {day.offer for days in found.values() for day in days}
    wrong = [day for day in known if day.offer not in right]
    if end < household.end:  # what will only be due later may be noticed early
        later = [label for label in household.situations if label.notice_by >= end]
        wrong = [day for day in wrong if not any(_is_about(label, day) for label in later)]
    misses = [_miss(label, known) for label in situations if not found[label.id]]
    cancelled = [label for label in situations if label.cancelled_on and label.cancelled_on + GRACE < end]
    held = [_held(label, found[label.id]) for label in cancelled if found[label.id]]
    told = len({offer.id for offer in right})
    disturbed = {label.id for label in household.look_alikes for day in wrong if _touches(label, day)}
    withdrawn = sum(finding is None for finding in held)
    repeated = len({offer for days in found.values() for offer in _repeats(days)})
    noticed = {name for name, days in found.items() if days}
    return Score(
        recall=_share(len(situations) - len(misses), len(situations)),
        precision=_share(len(known) - len(wrong), len(known)),
        cancellation_recall=_share(withdrawn, len(held)),
        interruptions_per_week=_per_week(known, (end - household.start).days),
        redundancy=_share(repeated, told, nothing=0.0),
        situations=len(situations),
        noticed=len(situations) - len(misses),
        look_alikes=len(household.look_alikes),
        disturbed=len(disturbed),
        proposals=len({day.offer.id for day in known}),
        right=told,
        said=len(known),
        said_right=len(known) - len(wrong),
        cancelled=len(held),
        withdrawn=withdrawn,
        repeated=repeated,
        rules=tuple(_by_rule(situations, noticed, household.look_alikes, disturbed, wrong)),
        misses=tuple(misses),
        false_alarms=tuple(_false_alarm(day, household.labels) for day in wrong),
        not_withdrawn=tuple(finding for finding in held if finding),
        withdrawn_early=tuple(_early(situations, found)),
    )


def _by_rule(
    situations: Sequence[Label],
    noticed: Collection[str],
    look_alikes: Sequence[Label],
    disturbed: Collection[str],
    wrong: Sequence[_Day],
) -> Iterable[RuleScore]:
    alarms = Counter(day.offer.rule for day in wrong)
    for rule in sorted({label.rules[0] for label in (*situations, *look_alikes)} | set(alarms)):
        true = [label.id for label in situations if label.rules[0] == rule]
        quiet = [label.id for label in look_alikes if label.rules[0] == rule]
        yield RuleScore(
            rule=rule,
            situations=len(true),
            noticed=sum(name in noticed for name in true),
            look_alikes=len(quiet),
            disturbed=sum(name in disturbed for name in quiet),
            false_alarms=alarms[rule],
        )


def bare(token: str) -> str:
    """Message-IDs are written with and without their brackets."""
    return token.strip().removeprefix("<").removesuffix(">")


def _in_days(offer: Offer, zone: ZoneInfo) -> _Day:
    retracted_on = local_day(offer.retracted_at, zone) if offer.retracted_at else None
    return _Day(offer, local_day(offer.offered_at, zone), retracted_on)


def _is_about(label: Label, day: _Day) -> bool:
    in_time = label.notice_from <= day.offered_on <= label.notice_by
    return in_time and day.offer.rule in label.rules and _shares_item(label, day.offer)


def _touches(label: Label, day: _Day) -> bool:
    return label.notice_from <= day.offered_on <= label.notice_by and _shares_item(label, day.offer)


def _shares_item(label: Label, offer: Offer) -> bool:
    tokens = {bare(token) for token in offer.tokens}
    return any(bare(item) in tokens for item in label.items)


def _miss(label: Label, known: Sequence[_Day]) -> Finding:
    near = [day for day in known if _shares_item(label, day.offer)]
    if not near:
        return Finding(label.id, "nothing was said about it", label=label)
    day = near[0]
    if day.offer.rule not in label.rules:
        reason = f"only rule {day.offer.rule} spoke of it"
    else:
        reason = f"offered on {day.offered_on}, not within {label.notice_from} .. {label.notice_by}"
    return Finding(label.id, reason, label=label, offer=day.offer)


def _false_alarm(day: _Day, labels: Iterable[Label]) -> Finding:
    near = [label for label in labels if _shares_item(label, day.offer)]
    look_alikes = [label for label in near if label.expect == "silence"]
    if look_alikes:
        return Finding(day.offer.title, f"look-alike: {look_alikes[0].why}", label=look_alikes[0], offer=day.offer)
    if not near:
        return Finding(day.offer.title, "nothing of the kind is there", offer=day.offer)
    label = near[0]
    if day.offer.rule not in label.rules:
        reason = f"{day.offer.rule} is not the rule for it"
    else:
        reason = f"offered on {day.offered_on}, not within {label.notice_from} .. {label.notice_by}"
    return Finding(day.offer.title, reason, label=label, offer=day.offer)


def _held(label: Label, days: Sequence[_Day]) -> Finding | None:
    """What is wrong about the withdrawal of a cancelled situation; None: nothing."""
    assert label.cancelled_on is not None
    still_open = [day for day in days if day.retracted_on is None or day.retracted_on > label.cancelled_on + GRACE]
    if still_open:
        reason = f"still open after {label.cancelled_on + GRACE}"
        return Finding(label.id, reason, label=label, offer=still_open[0].offer)
    if all(day.retracted_on is not None and day.retracted_on < label.cancelled_on for day in days):
        return Finding(label.id, f"withdrawn before {label.cancelled_on}", label=label, offer=days[-1].offer)
    return None


def _early(situations: Iterable[Label], found: dict[str, list[_Day]]) -> Iterable[Finding]:
    """Unless a newer offer took its place: a reminder with a new date renews the matter."""
    for label in situations:
        over = label.cancelled_on or label.notice_by
        last = max((day.offered_on for day in found[label.id]), default=over)
        for day in found[label.id]:
            if day.retracted_on is not None and last <= day.retracted_on < over:
                yield Finding(label.id, f"withdrawn on {day.retracted_on}, before {over}", label=label, offer=day.offer)


def _repeats(days: Sequence[_Day]) -> Iterable[str]:
    """The ids of the offers that one matter did not need."""
    first = {day.offer.id: day.offer for day in sorted(days, key=lambda day: day.offer.offered_at, reverse=True)}
    offers = sorted(first.values(), key=lambda offer: (offer.offered_at, offer.id))
    for number, offer in enumerate(offers):
        if number >= REFRESHES or any(_waits(earlier, offer.offered_at) for earlier in offers[:number]):
            yield offer.id


def _waits(offer: Offer, at: datetime) -> bool:
    return offer.closed_at is None or offer.closed_at > at


def _per_week(known: Sequence[_Day], days: int) -> float:
    return sum(day.offer.surface == "now" for day in known) * 7 / days if days else 0.0


def _share(part: int, whole: int, nothing: float = 1.0) -> float:
    return part / whole if whole else nothing

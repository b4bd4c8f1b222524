"""The engine says of windows what their description says, on random streams; the description is window_reference.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.case import PREFIX
from rules.state import RuleState
from rules.testing import Player, make_event
from schemas.event import Event
from tests.scale import scaled
from tests.unit.rules.drawing import made
from tests.unit.rules.window_reference import Asked, Standing, Thing, box, standing

STARTS = st.sampled_from(
    [("Europe/Berlin", "2026-03-22"), ("Europe/Berlin", "2026-10-18"), ("America/New_York", "2026-03-01"),
     ("America/New_York", "2026-10-26"), ("Australia/Lord_Howe", "2026-03-29"), ("Australia/Lord_Howe", "2026-09-28"),
     ("America/Santiago", "2026-03-30"), ("America/Santiago", "2026-08-31"), ("Asia/Kathmandu", "2026-12-24")]
)  # fmt: skip
"""A few days before clocks change: by an hour, by half an hour, at midnight, or never."""
HOURS = {"month": 24 * 30, "week": 24 * 7, "every 3d": 72, "2d": 48, "session 1d": 24, "day": 24, "every 6h": 6,
         "7h": 7, "session 9h": 9, "every 1h": 1}  # fmt: skip
ALIGNED = [over for over in HOURS if not over[0].isdigit() and not over.startswith("session")]


NAMES = ["count", "count", "few", "distinct", "sum", "sum", "little", "mean", "rate", "spike", "drop"]
ANYWHERE = ("count", "distinct", "sum", "mean")
"""Detectors that sliding windows suit, too."""


@st.composite
def rules(draw: st.DrawFn) -> Asked:
    name = draw(st.sampled_from(NAMES))
    overs = ALIGNED if name in ("spike", "drop") else [one for one in HOURS if name in ANYWHERE or one[0] > "9"]
    setting: dict[str, Any] = {"over": draw(st.sampled_from(overs)), "by": draw(st.sampled_from([["account"], []]))}
    match name:
        case "count":
            setting |= draw(st.sampled_from([{"at_least": 2}, {"above": 2}, {"at_least": 4}]))
        case "few":
            setting |= draw(st.sampled_from([{"below": 2}, {"at_most": 2}, {"at_least": 1, "below": 3}]))
        case "distinct":
            setting |= {"distinct": "amount", "at_least": draw(st.sampled_from([2, 3]))}
        case "mean":
            setting |= {"value": "amount", "min_count": draw(st.sampled_from([1, 2, 4]))}
            setting |= draw(st.sampled_from([{"above": 10}, {"at_most": 10}, {"below": 5}]))
        case "sum":
            setting |= {"value": "amount"} | draw(st.sampled_from([{"above": 20}, {"at_least": 30.5}]))
        case "little":
            setting |= {"value": "amount", "below": draw(st.sampled_from([10, -1]))}
        case "rate":
            over, per = draw(st.sampled_from([("7h", "1h"), ("every 6h", "2h"), ("2d", "1d"), ("every 3d", "12h")]))
            setting |= {"over": over, "per": per, "at_least": draw(st.sampled_from([0.4, 1.5]))}
        case _:
            setting |= {"times": draw(st.sampled_from([1.5, 2, 3])), "min_history": 3}
            setting |= {"floor": draw(st.sampled_from([1, 2]))} | draw(st.sampled_from([{}, {"value": "amount"}]))
    lateness = timedelta(hours=draw(st.sampled_from([0, 5, 12])))
    detector = {"few": "count", "distinct": "count", "little": "sum"}.get(name, name)
    return Asked(detector, setting, ZoneInfo("UTC"), lateness)


ROWS = st.tuples(
    st.integers(1, 100),  # how long after the one before it, in parts of a window
    st.sampled_from([0, 0, 0, 40, 300, 900]),  # minutes until it was seen
    st.sampled_from((500, 1000, 2000, 9000, -700)),
    st.sampled_from("aab"),
    st.sampled_from([None, None, None, (60, 3000), (600, 100)]),  # minutes until it was corrected, and to what
    st.sampled_from([None, None, None, None, 5, 2000]),  # minutes until it was withdrawn
)
STREAMS = st.lists(ROWS, min_size=1, max_size=10) | st.lists(ROWS, min_size=15, max_size=30)


def things(rows: Iterable[Any], start: datetime, window: int, pace: float) -> list[Thing]:
    found, at = [], start
    for name, (gap, delay, cents, account, corrected, gone) in enumerate(rows):
        at += timedelta(minutes=1 + int(gap * pace * window * 60 / 100))
        seen = at + timedelta(minutes=delay)
        newer = (seen + timedelta(minutes=corrected[0]), corrected[1]) if corrected else None
        last = newer[0] if newer else seen
        found.append(Thing(name, account, at, seen, cents, newer, last + timedelta(minutes=gone) if gone else None))
    return found if _is_remembered(found, window) else [replace(thing, account="a") for thing in found]


def _is_remembered(found: list[Thing], window: int) -> bool:
    """A key in which nothing happens for a window and thirty days is forgotten, and begins anew."""
    times = [[thing.at for thing in found if thing.account == account] for account in "ab"]
    return all(b - a < timedelta(hours=window, days=30) for of in times for a, b in pairwise(of))


TEMPLATE = make_event({"kind": "bank.posted", "amount": "1.00 EUR"}, 0, ZoneInfo("UTC"))


def events(stream: Iterable[Thing]) -> list[Event]:
    """In the order in which they are seen, and some of them twice."""
    found = []
    for thing in stream:
        assert TEMPLATE.amount is not None
        seen = [(thing.seen, thing.cents, "upsert")]
        seen += [(*thing.corrected, "upsert")] if thing.corrected else []
        seen += [(thing.gone, thing.cents, "retract")] if thing.gone else []
        for version, (at, cents, op) in enumerate(seen):
            event = TEMPLATE.model_copy(
                update={
                    "id": f"{thing.name}-{version}", "subject": f"thing-{thing.name}", "version": str(version),
                    "occurred_at": thing.at, "observed_at": at, "account": thing.account, "op": op,
                    "amount": TEMPLATE.amount.model_copy(update={"amount": Decimal(cents) / 100}),
                }
            )  # fmt: skip
            found.append(event)
            if thing.name % 5 == 0:
                found.append(event.model_copy(update={"observed_at": at + timedelta(minutes=90)}))
    return sorted(found, key=lambda event: (event.observed_at, event.id))


def said(asked: Asked, stream: list[Event], now: datetime, split: int) -> Standing:
    """What stands at a time, when the state was saved and loaded after so many events."""
    detector = asked.setting | {"lateness": f"{int(asked.lateness.total_seconds()) // 3600}h"}
    rule = {"id": "r", "title": "R", "when": {"kind": "bank.posted"}, "max_age": "3660d", asked.name: detector}
    played = Player(made([rule | {"propose": {"title": "x"}}], asked.zone), asked.zone)
    seen = [event for event in stream if event.observed_at <= now]
    played.play(seen[:split])
    loaded = RuleState()
    loaded.load(dict(played.state.items()))
    played.state = loaded
    played.play(seen[split:], until=now)
    ids = [signal.id for signal in played.signals]
    assert len(ids) == len(set(ids))
    if asked.is_aligned:
        keys = [trigger.key.rpartition("|") for trigger in played.standing()]
        spans = [
            (key.partition("|")[0], box(asked.over, datetime.fromisoformat(at), asked.zone)) for key, _, at in keys
        ]
        assert len(set(spans)) == len(spans), "each has one trigger that stands"
        return {(key, *span) for key, span in spans}
    names = ("end", "end") if asked.slides else ("start", "end")
    cases: list[Any] = [entry for _, entry in played.state.items(PREFIX)]
    found = {
        (case["key"].partition("|")[0], *(datetime.fromisoformat(case["data"][name]) for name in names))
        for case in cases
        if case["fired"]
    }
    assert len(found) == len(played.standing())
    return found


@settings(max_examples=scaled(300, 10_000), deadline=None)
@given(rules(), STARTS, STREAMS, st.sampled_from([0.1, 0.4, 1.0]), st.integers(0, 60), st.sampled_from([0.4, 1.0, 1.3]))
def test_windows_say_what_their_description_says(
    asked: Asked, where: tuple[str, str], rows: Any, pace: float, split: int, part: float
) -> None:
    """At any time: in the middle of the stream, at its end, and after it."""
    zone = ZoneInfo(where[0])
    asked = Asked(asked.name, asked.setting, zone, asked.lateness)
    start = datetime.fromisoformat(where[1]).replace(tzinfo=UTC)
    stream = things(rows, start, HOURS[asked.over], pace)
    now = start + part * (stream[-1].at - start)
    expected = standing(asked, stream, now)
    note(f"{asked.name} {'stands' if expected else 'is silent'}")
    assert said(asked, events(stream), now, split) == expected


@settings(max_examples=scaled(40, 2000), deadline=None)
@given(rules(), STARTS, STREAMS, st.sampled_from([0.1, 0.4]), st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference_to_what_stands(
    asked: Asked, where: tuple[str, str], rows: Any, pace: float, chance: Any
) -> None:
    """Whether things are seen at once or, within the lateness, in any order."""
    asked = Asked(asked.name, asked.setting, ZoneInfo(where[0]), asked.lateness)
    start = datetime.fromisoformat(where[1]).replace(tzinfo=UTC)
    prompt = [replace(thing, seen=thing.at, corrected=None, gone=None) for thing in things(
        rows, start, HOURS[asked.over], pace)]  # fmt: skip
    late = [replace(thing, seen=thing.at + chance.random() * asked.lateness) for thing in prompt]
    now = prompt[-1].at + asked.lateness + timedelta(days=1)
    assert said(asked, events(late), now, 0) == said(asked, events(prompt), now, 0)

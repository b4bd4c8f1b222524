"""Strategies for the property tests: valid rules of every detector with every modifier, and streams of events."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from rules.ruleset import RuleSet
from rules.testing import make_event
from schemas.event import Event
from schemas.model import Json
from schemas.rule import Rule

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC")

# --- rules -----------------------------------------------------------------------------------------------------------

_MISSED: dict[str, Any] = {"on_missed": ["fire_once", "fire_each", "skip"], "tolerance": ["0d", "2h"]}
_LEVEL: dict[str, Any] = {"when": {"kind": ["bank.posted", "bank.balance"]}}
_ROWS: dict[str, Any] = {"when": {"kind": "bank.posted"}}
_MAILS: dict[str, Any] = {"when": {"kind": "mail.received"}}
_ANSWER = {"kind": "mail.sent", "where": "payload.thread == trigger.payload.thread"}
_OVERS = ["day", "week", "month", "every 6h", "every 3d"]


def _one(**choices: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping: of each list one of its items, of each key with '?' sometimes nothing."""
    given = {name: st.sampled_from(of) if isinstance(of, list) else st.just(of) for name, of in choices.items()}
    optional = {name.rstrip("_"): of for name, of in given.items() if name.endswith("_")}
    return st.fixed_dictionaries({name: of for name, of in given.items() if not name.endswith("_")}, optional=optional)


def _detector(base: dict[str, Any], name: str, settings: st.SearchStrategy[dict[str, Any]]) -> Any:
    return settings.map(lambda setting: base | {name: setting})


_WINDOW: dict[str, Any] = {
    "over": ["7d", "36h", "session 9h", "session 2d", *_OVERS],
    "by_": ["account", [], ["account", "payload.merchant"]],
    "lateness_": ["0d", "6h", "2d"],
}
_SERIES: dict[str, Any] = {"over": _OVERS, "by_": ["account", []], "lateness_": ["0d", "6h", "2d"]}

DETECTORS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "match": st.sampled_from([
        _ROWS, _MAILS, {"when": {"kind": "bank.posted", "match": {"amount": {"below": -5}}}},
        {"when": [{"kind": "mail.received", "where": "has(fact.due)"}, {"kind": ["calendar.scheduled", "mail.sent"]}]},
    ]),
    "deadline": _detector(
        {"when": {"kind": "mail.received", "where": "has(fact.due) || has(fact.invoice)"}},
        "deadline",
        _one(
            at="fact.invoice.due or fact.due", lead=["1d", "36h", ["5d", "1d"], ["3d", "2h"]], after_=["2d", "7h"],
            time_=["07:30"], overdue_=["9d"], on_missed_=_MISSED["on_missed"], tolerance_=_MISSED["tolerance"],
        ),
    ),
    "absence": _detector(
        _MAILS, "absence",
        _one(
            of=[_ANSWER], within=["2d", "30h"], on_missed_=_MISSED["on_missed"], tolerance_=_MISSED["tolerance"]
        ),
    ),
    "periodic": _detector(
        _ROWS | {"key": "payload.merchant"}, "absence",
        _one(
            periodic=[{"min_history": 2, "slack": "1d"}, {"min_history": 4, "longest": "40d"}],
            on_missed_=_MISSED["on_missed"], tolerance_=_MISSED["tolerance"],
        ),
    ),
    "anomaly": _detector(
        _ROWS, "anomaly",
        _one(
            value=["amount", "-amount"], by_=["account", "payload.merchant"], threshold_=[1.0], min_history=[3, 5],
            direction_=["both", "down"], floor_=[6.0], season_=["month", "weekday"],
        ),
    ),
    "conflict": _detector(
        {"when": {"kind": ["calendar.scheduled", "calendar.changed"]}}, "conflict",
        _one(ahead_=["5d", "60d"], min_overlap_=["1h"], on_missed_=_MISSED["on_missed"]),
    ),
    "count": _detector(_ROWS, "count", _one(**_WINDOW, at_least=[2, 3])),
    "few": _detector(_ROWS, "count", _one(**_WINDOW | {"over": [*_OVERS, "session 9h"]}, below=[2, 3])),
    "sum": _detector(_ROWS, "sum", _one(**_WINDOW, value=["amount", "-amount"], above=[10, -3])),
    "distinct": _detector(_ROWS, "count", _one(**_WINDOW, distinct=["amount", "payload.merchant"], at_least=[2, 3])),
    "mean": _detector(_ROWS, "mean", _one(**_WINDOW, value=["amount", "-amount"], above=[0, 10], min_count=[1, 2])),
    "rate": _detector(
        _ROWS, "rate", _one(over=["36h", "every 6h", "every 3d"], per_=["2h"], at_least=[0.1, 0.3], by_=["account"])
    ),
    "spike": _detector(_ROWS, "spike", _one(**_SERIES, value_=["-amount"], times_=[1.5], min_history_=[3])),
    "drop": _detector(_ROWS, "drop", _one(**_SERIES, value_=["-amount"], times_=[1.5], min_history_=[3])),
    "sequence": _detector(
        _MAILS, "sequence",
        _one(
            then=[
                {"kind": "mail.sent", "where": "payload.thread == first.payload.thread"},
                [{"kind": "bank.posted"}, {"kind": "mail.sent", "where": "matter == step1.matter"}],
            ],
            within=["2d", "5h"], without_=[{"kind": "mail.received", "where": "has(fact.resolution)"}],
        ),
    ),
    "change": _detector(
        _LEVEL, "change",
        _one(
            value=["amount", "-amount"], by_=[["account"], ["payload.merchant"]], direction_=["up", "down"],
            min_percent_=[5.0], steady_=[2], apart_=["12h"],
        ),
    ),
    "new_value": _detector(
        _ROWS, "new_value",
        _one(
            value=["payload.merchant", "amount"], by_=["account", []], min_history_=[1, 2], learn_=["2d"],
            tell_=["amount < -5"],
        ),
    ),
    "threshold": _detector(
        _LEVEL, "threshold",
        st.sampled_from([{"value": "amount", "below": -5}, {"value": "amount", "above": 0, "clear": -40}]),
    ),
    "flatline": _detector(
        {"when": {"kind": ["bank.posted", "record.steps"]}, "key": "account"}, "flatline",
        _one(
            after=["2d", "30h"], min_history_=[1, 2], time_=["22:15"], on_missed_=_MISSED["on_missed"],
            tolerance_=_MISSED["tolerance"],
        ),
    ),
}  # fmt: skip
"""By kind of detector: all but what every rule may have."""

ANSWERED: dict[str, Any] = {"kind": "mail.sent", "where": "subject == trigger.subject || matter == trigger.matter"}
PAID: list[dict[str, Any]] = [
    {"kind": "bank.posted", "where": "payload.merchant == 'acme' && matter == trigger.matter", "within": "9d"},
    {"kind": "mail.sent", "where": "matter == trigger.matter", "before": "3d", "consumes": True},
]
_MODIFIERS: dict[str, Any] = {
    "unless_": [*PAID, PAID],
    "for_": ["2h", "1d"],
    "cooldown_": ["1d", "20h"],
    "group_": [{"wait": "1h"}, {"wait": "10m", "interval": "1d", "by": "account"}],
    "schedule_": [{"quiet": {"hours": "22:00-07:00"}}, {"quiet": [{"days": ["sat", "sun"]}], "through": "high"}],
    "max_age_": ["2d", "30d"],
}
_KEYS = [["subject"], ["matter"], ["account", "matter"], ["{{ account }}: {{ title | lower }}"]]


@st.composite
def rules(draw: st.DrawFn, name: str, *, detectors: Any = tuple(DETECTORS), modified: bool = True) -> dict[str, Any]:
    """One rule as a mapping; ``modified``: with modifiers and keys."""
    detector = draw(st.sampled_from(list(detectors)))
    rule: dict[str, Any] = dict(draw(DETECTORS[detector]))
    if modified:
        names = draw(st.sets(st.sampled_from(sorted(_MODIFIERS)), max_size=3))
        rule |= draw(_one(**{one.rstrip("_"): _MODIFIERS[one] for one in sorted(names)}))
        if "key" not in rule and draw(st.booleans()):
            rule["key"] = draw(st.sampled_from(_KEYS))
    urgency = draw(st.sampled_from(["normal", "critical"]))
    propose = {"title": f"{name}: {{{{ title }}}} {{{{ amount }}}}", "urgency": urgency}
    return {"id": name, "title": f"Rule {name}", "propose": propose, **rule}


@st.composite
def rule_lists(draw: st.DrawFn, most: int = 4) -> list[dict[str, Any]]:
    """Some rules, of which some inhibit others."""
    found = [draw(rules(f"rule-{number}")) for number in range(draw(st.integers(1, most)))]
    for rule in found:
        others = [other["id"] for other in found if other is not rule]
        if others and draw(st.integers(0, 3)) == 0:
            rule["inhibit"] = draw(st.sampled_from(others))
    return found


def made(rules: list[dict[str, Any]], zone: ZoneInfo) -> RuleSet:
    return RuleSet.of([Rule.model_validate(rule) for rule in rules], zone=zone)


# --- events ----------------------------------------------------------------------------------------------------------

_THREADS = st.sampled_from(["t1", "t2"])
_MATTERS = st.sampled_from(["m1", "m2", None])
_DAYS = st.integers(-3, 20).map(lambda day: f"{day:+d}d")
_FACTS: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {},
    optional={
        "due": _DAYS,
        "invoice": st.fixed_dictionaries({"number": st.sampled_from("12"), "due": _DAYS}),
        "resolution": st.just("paid"),
    },
)
MAILS: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.sampled_from(["mail.received", "mail.received", "mail.sent"]), "matter": _MATTERS,
     "title": st.sampled_from(["one", "Two"]), "payload": st.fixed_dictionaries({"thread": _THREADS})},
    optional={"facts": _FACTS, "subject": st.sampled_from("uv")},
)  # fmt: skip
ROWS: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.sampled_from(["bank.posted"] * 4 + ["bank.balance"]), "account": st.sampled_from("ab"),
     "amount": st.sampled_from(["-5.00 EUR", "-50.00 EUR", "900.00 EUR", "-7.00 CHF"]), "matter": _MATTERS},
    optional={"subject": st.sampled_from("pqr")},
).flatmap(
    lambda row: st.sampled_from(["acme", "kiosk"]).map(
        lambda merchant: row | ({"payload": {"merchant": merchant}} if row["kind"] == "bank.posted" else {})
    )
)  # fmt: skip
ENTRIES: st.SearchStrategy[dict[str, Json]] = st.builds(
    lambda kind, subject, hour, lasts: {
        "kind": kind, "subject": subject, "title": subject, "starts": f"+{hour}h", "ends": f"+{hour + lasts}h"
    },
    st.sampled_from(["calendar.scheduled", "calendar.scheduled", "calendar.changed"]),
    st.sampled_from("xyz"), st.integers(24 * 9, 24 * 10), st.integers(1, 6),
)  # fmt: skip
GONE: st.SearchStrategy[dict[str, Json]] = st.sampled_from(
    [{"kind": "bank.removed", "subject": subject} for subject in "pqr"]
    + [{"kind": "calendar.cancelled", "subject": subject} for subject in "xy"]
    + [{"kind": "bank.posted", "op": "retract", "subject": "p"}, {"kind": "mail.removed", "subject": "u"}]
)
OTHERS: st.SearchStrategy[dict[str, Json]] = st.sampled_from(
    [{"kind": "record.steps", "account": "a"}, {"kind": "account.silent", "subject": "s"}, {"kind": "run.done"}]
)
SHORTS = st.one_of(MAILS, MAILS, ROWS, ROWS, ROWS, ENTRIES, GONE, OTHERS)
Stream = list[tuple[int, int, dict[str, Json]]]
_ENTRIES = st.tuples(st.integers(0, 20 * 24), st.sampled_from([0, 0, 0, 1, 5, 30, 24 * 20]), SHORTS)
STREAMS: st.SearchStrategy[Stream] = st.lists(_ENTRIES, max_size=8) | st.lists(_ENTRIES, min_size=15, max_size=40)
"""When each is seen (hours), how much earlier it occurred, and what it is."""
SINGLE: st.SearchStrategy[Stream] = st.lists(
    st.tuples(st.integers(0, 20 * 24), st.just(0), MAILS | ROWS | ENTRIES),
    min_size=12,
    max_size=30,
    unique_by=lambda entry: entry[0],
).map(lambda stream: [(hour, 0, short | {"subject": f"s{n}"}) for n, (hour, _, short) in enumerate(stream)])
"""Each thing once, and no two at the same time."""


def events_of(stream: Stream, zone: ZoneInfo, first: int = 0) -> list[Event]:
    """In the order in which they are seen; each is the newest version of its thing when it is seen."""
    ordered = sorted(stream, key=lambda entry: entry[0])
    return [
        make_event(
            short | {"at": f"+{hour}h", "occurred": f"{hour - delay:+d}h", "version": str(first + number)},
            first + number,
            zone,
        )
        for number, (hour, delay, short) in enumerate(ordered)
    ]


def instant(text: str, zone: ZoneInfo) -> datetime:
    return make_event({"kind": "mail.sent", "at": text}, 0, zone).observed_at

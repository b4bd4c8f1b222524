"""What was begun lately is found without a look at what was begun before, whatever the clock did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actions.policy.acts import Act, Acts

NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
times = st.integers(-72, 72).map(lambda quarters: NOW + timedelta(minutes=15 * quarters))
instants = st.tuples(times, st.timezones()).map(lambda pair: pair[0].astimezone(pair[1]))
changes = st.lists(st.tuples(st.sampled_from(["begun", "begun", "failed"]), st.integers(0, 9), instants))


@given(changes, instants)
def test_what_was_begun_since_is_what_a_look_at_every_act_finds(changes: list[Any], since: datetime) -> None:
    acts, every = Acts(), dict[str, Act]()
    for change, number, at in changes:
        act = Act(at, f"s{number}", "mail.send", "outbound", (), None)
        if change == "begun":
            acts.add(act)
            every[act.step] = act
        else:
            acts.drop(act.step)
            every.pop(act.step, None)
        assert {step for step in (f"s{n}" for n in range(10)) if step in acts} == set(every)
    found = list(acts.since(since))
    assert len(found) == len(set(found))
    assert set(found) == {act for act in every.values() if act.at >= since}


def test_acts_of_earlier_days_are_not_looked_at() -> None:
    acts, old = Acts(), SimpleNamespace(step="s1", at=NOW - timedelta(days=1))
    acts.add(old)  # type: ignore[arg-type]
    del old.at
    assert list(acts.since(NOW)) == []

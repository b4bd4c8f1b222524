"""When a revised plan needs the person again, and how grants for what it keeps outlive it (law L3; pure).

Asked again: exactly when an effect is added, an argument of one that is granted changes, cost or risk rises, or a gate
gets weaker. Otherwise the grants of the steps that stay are issued anew for the new plan, with everything else as it
was: same arguments, same level, same person, same expiry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from actions import grant
from actions.grant import Consent
from actions.journal import Draft
from actions.proposal.compare import shown
from actions.proposal.state import FINAL, ProposalState
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.money import Money
from schemas.plan import Fixed, Gate, Plan, Step

if TYPE_CHECKING:
    from actions.setup import Setup

_GATES: tuple[Gate, ...] = ("none", "plan", "second")
_RISKS = ("none", "low", "medium", "high")


def is_weaker(gate: Gate, other: Gate) -> bool:
    return _GATES.index(gate) < _GATES.index(other)


def reasons(state: ProposalState, old: Plan, new: Plan, setup: Setup) -> list[str]:
    """Why the person must approve ``new``, in words; empty if what was approved covers it."""
    found = []
    for step in _rest(state, new):
        twin = _twin(old, new, step)
        if twin is not None and is_weaker(step.gate, twin.gate):
            found.append(f"{step.id} ({step.tool}) would be done with less of a question than before")
        elif twin is None and step.gate != "none":
            found.append(_added(old, step))
    if _RISKS.index(new.risk) > _RISKS.index(old.risk):
        found.append(f"the risk rises from {old.risk} to {new.risk}")
    if new.trifecta and not old.trifecta:
        found.append("it would read what is private and what comes from outside, and send")
    return found + _dearer(old, new, setup)


def carried(
    state: ProposalState, old: Plan, new: Plan, now: datetime, setup: Setup, actor: str, because: str
) -> list[Draft]:
    """The grants that hold for a step of the old plan, for the same step of the new one."""
    drafts = []
    for step in _rest(state, new):
        twin, manifest = _twin(old, new, step), setup.tools.manifest(step.tool)
        for held in state.grants.values():
            given = held.grant
            if twin is None or manifest is None or given.step != twin.uid or held.revoked or given.expires_at <= now:
                continue
            if given.binding != grant.binding(old, twin, given.args, manifest, setup.policy.version):
                continue  # the tool or the policy has changed since: it does not hold any more
            bound_to = grant.binding(new, step, given.args, manifest, setup.policy.version)
            told = (given.level, given.by, given.channel, given.id, given.issued_at, given.expires_at)
            consent = Consent(*told, permission=given.permission)
            again = grant.issue(new, step, given.args, bound_to, consent)
            body: dict[str, Json] = {"grant": again.model_dump(mode="json"), "carries": given.id}
            drafts.append(Draft(state.id, "grant.issued", now, actor, because, body))
    return drafts


def accept(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """The person's approval of a revision: grants for its exact arguments, and the run goes on."""
    from actions.proposal.approve import grants, must_be_seen

    plan = must_be_seen(state, command)
    if state.revision is None:
        raise Refused("nothing is to be approved", code="already_answered", remedy="look at the run again")
    actor = f"person:{command.who}"
    undone = {step.uid for step in _rest(state, plan)}
    drafts = [
        Draft(state.id, "grant.issued", now, actor, command.id, {"grant": granted.model_dump(mode="json")})
        for granted in grants(plan, command, now, setup)
        if granted.step in undone
    ]
    body: dict[str, Json] = {"version": plan.version, "digest": command.digest, "channel": command.channel}
    return [*drafts, Draft(state.id, "plan.accepted", now, actor, command.id, body)]


def _rest(state: ProposalState, plan: Plan) -> list[Step]:
    """The steps of a plan that are not over."""
    return [s for s in plan.steps if s.uid not in state.steps or state.steps[s.uid].phase not in FINAL]


def _twin(old: Plan, new: Plan, step: Step) -> Step | None:
    """The step that was approved before: the same one, or one that this very call takes the place of."""
    kept = {s.uid for s in new.steps}
    candidates = [s for s in old.steps if s.uid == step.uid] or [s for s in old.steps if s.uid not in kept]
    return next((s for s in candidates if _call(s) == _call(step)), None)


def _call(step: Step) -> dict[str, Json]:
    return step.model_dump(mode="json", include={"tool", "args", "when", "repeat"})


def _added(old: Plan, step: Step) -> str:
    before = next((s for s in old.steps if s.id == step.id and s.tool == step.tool), None)
    for name, argument in step.args.items():
        was = before.args.get(name) if before else None
        if before is not None and was != argument:
            return f"{step.id} ({step.tool}): {name} changes from {shown(was) or '(none)'} to {shown(argument)}"
    return f"{step.id} ({step.tool}) was not in the plan that you approved"


def _dearer(old: Plan, new: Plan, setup: Setup) -> list[str]:
    before, after = _costs(old.steps, setup), _costs(new.steps, setup)
    return [
        f"it would cost {amount} {currency} instead of {before.get(currency, Decimal(0))}"
        for currency, amount in after.items()
        if amount > before.get(currency, Decimal(0))
    ]


def _costs(steps: Iterable[Step], setup: Setup) -> dict[str, Decimal]:
    """What the plan says that the steps cost, by currency."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for step in steps:
        manifest = setup.tools.manifest(step.tool)
        price = step.args.get(manifest.cost) if manifest and manifest.cost else None
        if isinstance(price, Fixed):
            money = Money.model_validate(price.value.v)
            total[money.currency] += abs(money.amount)
    return dict(total)

"""The goals that a rule or a playbook may name (``reaches``), each with what shows that it is reached.

A model's plan must hold a step that could show it (design §9, goal post-conditions); what is seen when the run ends is
for ``actions/run/proven.py`` to say. Words are outside text here: they may prove to the person, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from actions.planning.playbook import Playbook
from actions.planning.validate import Fault
from actions.run import waits
from schemas.goal import Goal, GoalName, Proof
from schemas.plan import Fixed, Plan, Step
from schemas.trigger import Trigger

_ARRIVED = {"field": "arrived", "value": True}
_APPROVED = (
    "approved", "granted", "renewed", "genehmigt", "bewilligt", "stattgegeben", "verlängert", "approuvé", "accepté",
    "renouvelé", "aprobad", "concedid", "renovad", "approvat", "concess", "rinnovat",
)  # fmt: skip
_CONFIRMED = (
    "confirm", "cancelled", "canceled", "terminated", "bestätig", "gekündigt", "beendet", "résilié", "cancelad",
    "rescindid", "disdett", "annullat",
)  # fmt: skip
_REFUSED = (
    "not ", "reject", "refus", "declined", "denied", "nicht", "abgelehnt", "kein", "rechaz", "denegad", " no ",
    "n'a pas", "rifiutat", "respint", "non ",
)  # fmt: skip


def _told(words: tuple[str, ...]) -> tuple[Proof, ...]:
    """Somebody says so: in the title of a mail that was waited for, or in a text that was asked for."""
    mailed = Proof(tools=(waits.REPLY,), field="title", any_of=words, none_of=_REFUSED)
    found = Proof(tools=("web.get", "history.query"), field="text", any_of=words, none_of=_REFUSED)
    read = Proof(tools=("extract.words",), field="value", any_of=words, none_of=_REFUSED)
    waited = mailed.model_copy(update={"tools": (waits.EVENT,), "args": {"kind": "mail.received"}})
    return mailed, waited, found, read


_DEBIT = Proof(tools=(waits.EVENT,), args={"kind": "bank.posted"}, **_ARRIVED)
_EVERY = (
    Goal(
        name="bill-paid",
        says="the bill is paid",
        by="its debit seen, or the payment file confirmed by you",
        proofs=(_DEBIT, Proof(tools=("payment.file",), signed=True)),
    ),
    Goal(name="document-renewed", says="the document is renewed", by="its approval seen", proofs=_told(_APPROVED)),
    Goal(
        name="reply-sent",
        says="the reply is sent",
        by="the mail found among those sent",
        proofs=(
            Proof(tools=("mail.reply", "mail.send")),
            Proof(tools=(waits.EVENT,), args={"kind": "mail.sent"}, **_ARRIVED),
        ),
    ),
    Goal(name="refund-received", says="the refund is there", by="its credit seen", proofs=(_DEBIT,)),
    Goal(name="contract-ended", says="the contract is ended", by="its confirmation seen", proofs=_told(_CONFIRMED)),
)
GOALS: Mapping[GoalName, Goal] = {goal.name: goal for goal in _EVERY}


def of(trigger: Trigger, playbooks: Mapping[str, Playbook]) -> Goal | None:
    """The rule's own word first, then that of its playbook."""
    playbook = playbooks.get(trigger.playbook or "")
    name = trigger.reaches or (playbook.reaches if playbook else None)
    return GOALS[name] if name else None


def faults(plan: Plan, tools: Collection[str]) -> Iterator[Fault]:
    """Of a model's plan: nothing in it could show its goal, although one of the ``tools`` can."""
    goal = plan.goal
    if goal is None or any(could(proof, step) for proof in goal.proofs for step in plan.steps):
        return
    if ways := ways_to(goal, tools):
        message = f"nothing in the plan would show that {goal.says}"
        yield Fault("/steps", "goal_unproven", message, f"add a step that does: {ways}")


def could(proof: Proof, step: Step) -> bool:
    fixed = {name: argument.value.v for name, argument in step.args.items() if isinstance(argument, Fixed)}
    return step.tool in proof.tools and all(fixed.get(name) == value for name, value in proof.args.items())


def ways_to(goal: Goal, tools: Collection[str]) -> str:
    """The steps that can show it, in words for a model; "" if none of the tools can."""
    found = [
        tool + "".join(f" with {name} {value!r}" for name, value in proof.args.items())
        for proof in goal.proofs
        for tool in proof.tools
        if tool in tools
    ]
    return "; or ".join(dict.fromkeys(found))

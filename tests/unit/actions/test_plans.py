"""Plans: what is wrong with one is said with a pointer and a hint; the order is a deterministic one."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from actions import graph
from actions.planning.validate import Fault, odd, validate
from actions.policy.policy import Policy
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import START
from actions.tools.tool import Registry
from actions.tools.wait import WaitUntil
from schemas import ids
from schemas.clock import ManualClock
from schemas.plan import Argument, Fixed, Gate, Guard, Plan, Ref, Step, Template
from schemas.value import Integrity, Value

TOOLS = Registry(
    [
        BankTool(manifest("bank.invoice", "pure"), Ledger(ManualClock(START))),
        BankTool(manifest("bank.pay", "keyed"), Ledger(ManualClock(START))),
        WaitUntil(),
    ]
)
ACME = Fixed(value=Value(v="Acme", type="Text", integrity=Integrity.KNOWN))
SUM = Fixed(value=Value(v={"amount": "5.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN))


def step(
    name: str, tool: str, args: Mapping[str, Argument], *after: str, gate: Gate = "second", when: Guard | None = None
) -> Step:
    found = TOOLS.manifest(tool)
    return Step(
        uid=ids.step_uid("p", 1, name),
        id=name,
        tool=tool,
        tool_version="1.0.0",
        manifest=found.sha() if found else "",
        args=dict(args),
        depends_on=after,
        when=when,
        effect=found.effect if found else "outbound",
        effect_class=found.effect_class if found else "at_most_once",
        gate="none" if found and found.effect in ("read", "wait") else gate,
    )


def invoice(name: str, *after: str) -> Step:
    return step(name, "bank.invoice", {"payee": ACME}, *after)


def pay(name: str, *after: str, **args: Argument) -> Step:
    return step(name, "bank.pay", {"payee": ACME, "amount": SUM, **args}, *after)


def plan(*steps: Step) -> Plan:
    return Plan(proposal="p", run="r", planner="playbook:test", policy=Policy().version, steps=steps)


def faults(*steps: Step) -> list[Fault]:
    return validate(plan(*steps), TOOLS.manifest, Policy(), TOOLS.names())


def only(*steps: Step) -> tuple[str, str, str]:
    (fault,) = faults(*steps)
    return fault.pointer, fault.code, fault.hint


def test_a_sound_plan_has_no_faults() -> None:
    assert faults(invoice("s1"), pay("s2", "s1", amount=Ref(step="s1", field="amount"))) == []


def test_an_unknown_tool_comes_with_the_name_that_was_meant() -> None:
    assert only(step("s1", "bank.pya", {})) == ("/steps/0/tool", "unknown_tool", "did you mean 'bank.pay'?")


def test_a_tool_that_is_not_the_one_of_the_plan_is_named() -> None:
    assert only(invoice("s1").model_copy(update={"manifest": "0" * 64}))[:2] == ("/steps/0/manifest", "tool_changed")


def test_missing_and_unknown_arguments_are_named() -> None:
    assert only(step("s1", "bank.pay", {"payee": ACME})) == ("/steps/0/args", "missing_argument", "add 'amount'")
    assert only(pay("s1", tip=ACME)) == ("/steps/0/args/tip", "unknown_argument", "it takes payee, amount")


def test_a_value_of_another_type_or_a_wrong_one_is_named() -> None:
    assert only(pay("s1", amount=ACME)) == ("/steps/0/args/amount", "wrong_type", "give a Money")
    broken = Fixed(value=Value(v={"amount": "five"}, type="Money"))
    assert only(pay("s1", amount=broken))[:2] == ("/steps/0/args/amount", "bad_value")


def test_references_must_exist_and_fit() -> None:
    assert only(pay("s1", amount=Ref(step="s9", field="amount"))) == (
        "/steps/0/args/amount", "unknown_step", "the plan has s1",
    )  # fmt: skip
    assert only(invoice("s1"), pay("s2", "s1", amount=Ref(step="s1", field="total"))) == (
        "/steps/1/args/amount", "unknown_field", "it has amount, payee",
    )  # fmt: skip
    assert only(invoice("s1"), pay("s2", "s1", amount=Ref(step="s1", field="payee"))) == (
        "/steps/1/args/amount", "wrong_type", "s1.amount is one",
    )  # fmt: skip


def test_a_text_template_cannot_stand_for_an_amount() -> None:
    assert only(pay("s1", amount=Template(text="5 EUR")))[1] == "wrong_type"


def test_a_data_edge_needs_its_control_edge() -> None:
    assert only(invoice("s1"), pay("s2", amount=Ref(step="s1", field="amount"))) == (
        "/steps/1/depends_on", "missing_edge", "add 's1' to depends_on",
    )  # fmt: skip
    guarded = step("s2", "bank.pay", {"payee": ACME, "amount": SUM}, when=Guard(step="s1", field="amount"))
    assert only(invoice("s1"), guarded)[1] == "missing_edge"


def test_a_step_cannot_use_its_own_result_or_an_unknown_predecessor() -> None:
    found = {fault.code for fault in faults(step("s1", "bank.invoice", {"payee": Ref(step="s1", field="payee")}))}
    assert found == {"self_reference"}
    assert only(invoice("s1", "s7"))[:2] == ("/steps/0/depends_on/0", "unknown_step")


def test_a_cycle_is_shown() -> None:
    (fault,) = faults(invoice("s1", "s2"), invoice("s2", "s1"))
    assert (fault.code, fault.message) == ("cycle", "the steps wait for one another: s1 -> s2 -> s1")


def test_the_same_effect_twice_is_refused_and_reading_twice_is_not() -> None:
    assert only(pay("s1"), pay("s2"))[:2] == ("/steps/1", "same_effect_twice")
    assert faults(invoice("s1"), invoice("s2")) == []


def test_a_plan_is_not_empty_and_not_endless_and_its_names_are_its_own() -> None:
    assert only() == ("/steps", "empty", "add a step, or make it a reminder")
    assert only(*(invoice(f"s{n}") for n in range(1, 10)))[1] == "too_long"
    assert {fault.code for fault in faults(invoice("s1"), invoice("s1"))} == {"duplicate_id"}


def test_a_gate_may_be_stricter_than_the_policy_and_never_laxer() -> None:
    weak = step("s1", "bank.pay", {"payee": ACME, "amount": SUM}, gate="plan")
    assert only(weak) == ("/steps/0/gate", "gate_too_weak", "use 'second'")
    assert faults(invoice("s1").model_copy(update={"gate": "second"})) == []


def test_what_may_run_depends_on_what_is_over() -> None:
    made = plan(invoice("s1"), invoice("s2", "s1"), invoice("s3", "s1"), invoice("s4", "s2", "s3"))
    uid = {s.id: s.uid for s in made.steps}

    def ready(*over: str) -> list[str]:
        return [s.id for s in graph.ready(made, {uid[name]: True for name in over})]

    assert (ready(), ready("s1"), ready("s1", "s3"), ready("s1", "s2", "s3")) == (
        ["s1"], ["s2", "s3"], ["s2"], ["s4"],
    )  # fmt: skip
    assert graph.ancestors(made, made.step("s4")) == {"s1", "s2", "s3"}


def test_the_critical_path_is_the_one_that_takes_longest() -> None:
    made = plan(invoice("s1"), invoice("s2", "s1"), invoice("s3", "s1"), invoice("s4", "s2", "s3"))
    seconds = {"s1": 1.0, "s2": 1.0, "s3": 9.0, "s4": 1.0}
    assert [s.id for s in graph.critical_path(made, lambda s: seconds[s.id])] == ["s1", "s3", "s4"]


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=1, max_value=8), st.data())
def test_the_order_is_a_topological_one_and_always_the_same(size: int, data: st.DataObject) -> None:
    names = [f"s{n}" for n in range(1, size + 1)]
    edges = {name: data.draw(st.sets(st.sampled_from(names[:at] or [name]))) - {name} for at, name in enumerate(names)}
    made = plan(*(invoice(name, *sorted(edges[name])) for name in names))
    order = [s.id for s in graph.order(made)]
    assert sorted(order) == sorted(names)
    assert all(order.index(before) < order.index(name) for name in names for before in edges[name])
    assert order == [s.id for s in graph.order(made.model_copy())]
    reference = nx.DiGraph([(before, name) for name in names for before in edges[name]])
    assert nx.is_directed_acyclic_graph(reference)


def wait(name: str, *after: str) -> Step:
    until = Fixed(value=Value(v="2025-03-05T09:00:00+00:00", type="DateTime", integrity=Integrity.SYSTEM))
    return step(name, "wait.until", {"until": until}, *after)


def test_a_payment_beside_a_wait_is_odd() -> None:
    (fault,) = odd(plan(wait("s1"), pay("s2")))
    assert (fault.pointer, fault.code) == ("/steps/1/depends_on", "effect_beside_wait")
    assert fault.hint == "add 's1' to its depends_on, or make s1 wait for s2"
    assert odd(plan(wait("s1"), pay("s2", "s1"))) == []
    assert odd(plan(pay("s1"), wait("s2", "s1"))) == []


def test_more_than_three_messages_to_others_are_odd() -> None:
    sent = [pay(f"s{number}").model_copy(update={"effect": "outbound"}) for number in range(1, 6)]
    assert [(fault.pointer, fault.code) for fault in odd(plan(*sent))] == [
        ("/steps/3", "too_many_messages"),
        ("/steps/4", "too_many_messages"),
    ]
    assert odd(plan(*sent[:3])) == []

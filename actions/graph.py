"""The order in a plan: which steps may run, in which sequence, and along which path the time goes.

networkx takes long to import, so it is imported when the first plan is judged, not when the service starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.kept import Kept
from schemas.plan import Plan, Step

if TYPE_CHECKING:
    import networkx as nx


A_WAIT_S = 86_400.0
"""What a wait counts for when paths are compared: longer than any call."""


@dataclass(frozen=True, slots=True)
class _Shape:
    order: tuple[Step, ...]
    urgency: tuple[Step, ...]
    before: dict[str, tuple[str, ...]]
    ancestors: dict[str, frozenset[str]]


def order(plan: Plan) -> list[Step]:
    """A deterministic topological order: among free steps, the one that the plan lists first."""
    return list(_SHAPES.of(plan).order)


def by_urgency(plan: Plan) -> tuple[Step, ...]:
    """The step first from which the longest path leads on; among equals, the one that the plan lists first."""
    return _SHAPES.of(plan).urgency


def ready(plan: Plan, over: Mapping[str, bool]) -> list[Step]:
    """Steps not yet over whose every dependency is; ``over`` maps uids."""
    uids = {step.id: step.uid for step in plan.steps}
    shape = _SHAPES.of(plan)
    return [
        step
        for step in shape.order
        if not over.get(step.uid) and all(over.get(uids[name]) for name in shape.before[step.id])
    ]


def ancestors(plan: Plan, step: Step) -> frozenset[str]:
    """Display ids of all steps that come before this one."""
    return _SHAPES.of(plan).ancestors[step.id]


def _shaped(plan: Plan) -> _Shape:
    before = {step.id: tuple(dependencies(plan, step)) for step in plan.steps}
    ordered: list[Step] = []
    above: dict[str, frozenset[str]] = {}
    waiting = list(plan.steps)
    while waiting:
        free = next((step for step in waiting if all(name in above for name in before[step.id])), None)
        if free is None:
            raise ValueError(f"the steps of {plan.run} wait for one another")
        waiting.remove(free)
        ordered.append(free)
        above[free.id] = frozenset(before[free.id]).union(*(above[name] for name in before[free.id]))
    length = {step.id: 0.0 for step in plan.steps}
    for step in reversed(ordered):
        length[step.id] += A_WAIT_S if step.effect == "wait" else step.timeout_s + step.hold_s
        for name in before[step.id]:
            length[name] = max(length[name], length[step.id])
    urgency = tuple(sorted(plan.steps, key=lambda step: -length[step.id]))
    return _Shape(tuple(ordered), urgency, before, above)


_SHAPES: Kept[Plan, _Shape] = Kept(_shaped)


def critical_path(plan: Plan, seconds: Callable[[Step], float]) -> list[Step]:
    """The chain of steps that takes longest; ``seconds`` estimates one step."""
    import networkx as nx

    graph = _graph(plan)
    for before, after in graph.edges:
        graph.edges[before, after]["weight"] = seconds(plan.step(before))
    return [plan.step(name) for name in nx.dag_longest_path(graph)]


def cycle(plan: Plan) -> list[str]:
    """Display ids around one cycle, first and last the same; empty for a sound plan."""
    import networkx as nx

    try:
        edges = nx.find_cycle(_graph(plan))
    except nx.NetworkXNoCycle:
        return []
    return [str(edges[0][0]), *(str(edge[1]) for edge in edges)]


def dependencies(plan: Plan, step: Step) -> list[str]:
    """Display ids, whether the plan names ids or uids."""
    names = {s.uid: s.id for s in plan.steps}
    return [names.get(name, name) for name in step.depends_on]


def _graph(plan: Plan) -> nx.DiGraph[str]:
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(step.id for step in plan.steps)
    graph.add_edges_from((name, step.id) for step in plan.steps for name in dependencies(plan, step))
    return graph

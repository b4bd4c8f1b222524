"""The order in a plan: which steps may run, in which sequence, and along which path the time goes.

networkx takes long to import, so it is imported when the first plan is judged, not when the service starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from schemas.plan import Plan, Step

if TYPE_CHECKING:
    import networkx as nx


def order(plan: Plan) -> list[Step]:
    """A deterministic topological order: among free steps, the one that the plan lists first."""
    import networkx as nx

    place = {step.id: at for at, step in enumerate(plan.steps)}
    names = nx.lexicographical_topological_sort(_graph(plan), key=lambda name: place[name])
    return [plan.steps[place[name]] for name in names]


def ready(plan: Plan, over: Mapping[str, bool]) -> list[Step]:
    """Steps not yet over whose every dependency is; ``over`` maps uids."""
    uids = {step.id: step.uid for step in plan.steps}
    return [
        step
        for step in order(plan)
        if not over.get(step.uid) and all(over.get(uids[name]) for name in dependencies(plan, step))
    ]


def ancestors(plan: Plan, step: Step) -> set[str]:
    """Display ids of all steps that come before this one."""
    import networkx as nx

    return set(nx.ancestors(_graph(plan), step.id))


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

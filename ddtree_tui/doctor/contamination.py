"""Where naive verification first runs a branch through the state of another.

Rows are computed in order: the state that reaches a row is the one behind the row before it. That is right
where that row is its parent, and holds tokens of another branch where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.events import Nodes, Round


def sibling_before(nodes: Nodes) -> tuple[int, int] | None:
    """The first node whose row is computed behind one that is not its parent: (node, the one before)."""
    for node in range(1, len(nodes.parents)):
        if nodes.parents[node] != node - 1:
            return node, node - 1
    return None


def contamination(rounds: Sequence[Round]) -> str:
    """In a sentence or two, the first round whose rows mix branches, and the first whose accepted path does;
    empty where no tree branched."""
    first = next(((one, where) for one in rounds if (where := sibling_before(one.nodes))), None)
    if first is None:
        return ""
    round_, (node, before) = first
    told = (
        f"The first tree that branches is that of round {round_.index + 1}: node {node} (depth "
        f"{round_.nodes.depths[node]}) is computed from the state behind node {before} (depth "
        f"{round_.nodes.depths[before]}), which is not its parent."
    )
    on_path = next((one for one in rounds if _off_path(one) is not None), None)
    if on_path is not None:
        node = _off_path(on_path) or 0
        told += (
            f" Round {on_path.index + 1} is the first to accept such a node, node {node}: what it commits "
            "has seen a rejected branch."
        )
    return told


def _off_path(round_: Round) -> int | None:
    """The first accepted node behind a row that is not on its path."""
    path = {-1, *round_.accepted}
    for node in round_.accepted:
        if any(row not in path for row in range(node)):
            return node
    return None

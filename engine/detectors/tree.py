"""Whether a draft tree and the path through it are what they must be. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from operator import ge

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import Finding, Round

ROOT = -1


class TreeOrder(Detector):
    """Parents come before their children."""

    def take(self, event: AnswerEvent) -> Iterable[Finding]:
        if not isinstance(event, Round) or not any(map(ge, event.nodes.parents, count())):
            return ()
        node = next(node for node, parent in enumerate(event.nodes.parents) if parent >= node)
        parent = event.nodes.parents[node]
        seen = f"Node {node} comes before its parent, node {parent}."
        return [found("tree-order", seen, round=event.index, node=node, parent=parent)]


class ClosedPath(Detector):
    """Every accepted node is a child of the one before."""

    def take(self, event: AnswerEvent) -> Iterable[Finding]:
        if not isinstance(event, Round):
            return ()
        parents, reached = event.nodes.parents, ROOT
        for node in event.accepted:
            if parents[node] != reached:
                return [_joined(event, node, reached)]
            reached = node
        return ()


def _joined(event: Round, node: int, reached: int) -> Finding:
    parent = event.nodes.parents[node]
    return found(
        "path-not-closed",
        f"The accepted path goes from {_named(reached)} to node {node}, a child of {_named(parent)}.",
        round=event.index,
        node=node,
        parent=parent,
        reached=reached,
        accepted=list(event.accepted),
    )


def _named(node: int) -> str:
    return "the root" if node == ROOT else f"node {node}"

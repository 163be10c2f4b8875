"""A draft tree in plain lines, for terminals, files and documents."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ddtree_tui.draft_shape import ROOT, DraftShape
from ddtree_tui.glyphs import GLYPHS, State, probability
from ddtree_tui.labels import Labels
from engine.events import Round

MOST_LINES = 16
MOST_CHILDREN = 4
"""Of a node; the others are counted."""


def drawn_tree(round_: Round, labels: Labels, lines: int = MOST_LINES) -> str:
    """The tree of a round, a line per node: glyph, token, the drafter's probability, the node's number; below
    it what the target chose instead."""
    drawn = list(_lines(round_, labels))
    if len(drawn) > lines:
        drawn = [*drawn[: lines - 1], f"… {len(drawn) - lines + 1} more lines"]
    return "\n".join(drawn)


def _lines(round_: Round, labels: Labels) -> Iterator[str]:
    shape = DraftShape.of(round_)
    yield f"{GLYPHS[State.ROOT]} {labels(round_.root_id)[0]}"
    yield from _below(shape, labels, ROOT, "")


def _below(shape: DraftShape, labels: Labels, node: int, indent: str) -> Iterator[str]:
    round_ = shape.round
    children = shape.children[node]
    shown = children[:MOST_CHILDREN]
    bonus = node == shape.end and round_.bonus_id is not None
    if bonus:
        yield f"{indent}  {GLYPHS[State.BONUS]} {labels(round_.bonus_id or 0)[0]}  the target's own"
    for child in shown:
        p = probability(math.exp(round_.nodes.logprobs[child])) if shape.weighed else "p unknown"
        glyph = GLYPHS[shape.states[child]]
        yield f"{indent}  {glyph} {labels(round_.nodes.ids[child])[0]}  {p}  node {child}"
        accepted = shape.states[child] is State.ACCEPTED
        if accepted or shape.sizes[child] > 1:
            # Chains stay in one column: only what branches is indented further.
            single = len(children) == 1 and not bonus
            yield from _below(shape, labels, child, indent if single else indent + "  ")
    if len(children) > len(shown):
        hidden = sum(shape.sizes[child] for child in children[MOST_CHILDREN:])
        yield f"{indent}  {GLYPHS[State.FOLDED]} {hidden} more nodes"

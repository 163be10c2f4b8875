"""What a place in a draft tree is called, and the glyph it is drawn with.

The glyph alone tells the states apart; colour and weight only repeat it.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where a token of a round stands after the walk. The value names its style."""

    ROOT = "root"
    ACCEPTED = "accepted"
    BONUS = "bonus"
    NEAR_MISS = "near-miss"
    REJECTED = "rejected"
    NOT_REACHED = "not-reached"
    FOLDED = "folded"


GLYPHS: dict[State, str] = {
    State.ROOT: "●",
    State.ACCEPTED: "✓",
    State.BONUS: "★",
    State.NEAR_MISS: "✗→",
    State.REJECTED: "✗",
    State.NOT_REACHED: "·",
    State.FOLDED: "▸",
}

LEGEND: tuple[tuple[State, str, str], ...] = (
    (State.ROOT, "root", "the last committed token; drafts grow from it"),
    (State.ACCEPTED, "accepted", "the target chose this drafted token: it is text now"),
    (State.BONUS, "bonus", "the target's own next token, committed behind the path"),
    (State.NEAR_MISS, "near miss", "★ was on the drafter's list, at rank #, not in the tree"),
    (State.REJECTED, "rejected", "the target came this far and chose another token"),
    (State.NOT_REACHED, "not reached", "below a rejected token, or beyond the end of the answer"),
    (State.FOLDED, "folded", "+17 (p .03): 17 hidden nodes, to the drafter 3 % in all"),
)

IN_ONE_CELL = {State.NEAR_MISS: "→"}
"""Glyphs where a node is one cell and nothing else; the others are those of ``GLYPHS``."""
PROBABLE = ((0.1, "o"), (0.01, "•"))
"""There, nodes that were not reached, from these path probabilities on; below, the usual glyph."""

MAP_CURSOR, MAP_FOUND, MAP_PATH = "◀", "◆", "✓"
MAP_SHADES = " ░▒▓"
SHADES_FROM = (0.1, 0.01, 0.001)
"""On the map of a tall drawing: what is there, else how probable its best branch is; from these path
probabilities on it is one shade darker."""

DRAWING_MEANINGS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "in the tree",
        (
            ("├─4─", "a branch that leaves its row at depth 4, the 4th drafted token"),
            (".71", "the drafter's probability of the token, given its depth"),
        ),
    ),
    (
        "in the overview: a row for each depth, a cell for each node",
        (
            *((glyph, f"not reached; to the drafter, its path had p {p:g} or more") for p, glyph in PROBABLE),
            (GLYPHS[State.NOT_REACHED], "not reached, and less probable"),
        ),
    ),
    (
        "right edge: map of a tree taller than its window; a click goes there",
        (
            (f"{MAP_PATH} {MAP_CURSOR} {MAP_FOUND}", "the accepted path, the cursor, what was searched for"),
            (
                " ".join(reversed(MAP_SHADES[1:])),
                f"branches; the best one's path has p {', '.join(f'{p:g}' for p in SHADES_FROM)} or more",
            ),
        ),
    ),
)
"""What else is to be seen in a drawing of a draft tree, by where that is."""

BARS = " ▁▂▃▄▅▆▇█"
"""A column filled by 0 to 8 eighths."""


def probability(p: float) -> str:
    """A probability in three cells: ``.03``, ``1.0``; below half a percent ``<1%``."""
    hundredths = round(p * 100)
    if hundredths >= 100:
        return "1.0"
    return f".{hundredths:02d}" if hundredths else "<1%"


def small_probability(p: float) -> str:
    """A probability where small values matter: ``.03``, ``.004``, ``<.001``."""
    if p >= 0.01:
        return probability(p)
    return f"{p:.3f}"[1:] if p >= 0.0005 else "<.001"

"""A round's draft tree as an SVG drawing of its own: every node, no screen around it."""

from __future__ import annotations

from xml.sax.saxutils import escape as xml

from ddtree_tui.export.places import Place, outcome, places_of
from ddtree_tui.tree_parts import Label
from engine.events import Round

CELL, ROW, GAP, MARGIN = 8.4, 22.0, 34.0, 16.0
"""Width of a character, distance of rows, space between columns for the lines, space around: in pixels."""
STYLE = """
svg { background: #fcfbf8; font: 14px 'DejaVu Sans Mono', Menlo, Consolas, monospace; }
path { fill: none; stroke: #aab1bb; }
path.accepted { stroke: #1a7f37; stroke-width: 2; }
path.near-miss { stroke-dasharray: 3 3; }
text { fill: #5b6472; white-space: pre; }
text.root, text.accepted, text.bonus { font-weight: bold; }
text.root { fill: #23292f; } text.accepted { fill: #1a7f37; } text.bonus { fill: #8a6100; }
text.near-miss { fill: #b3306f; } text.not-reached { fill: #79818d; } text.p { fill: #79818d; }
text.title { fill: #23292f; }
@media (prefers-color-scheme: dark) {
svg { background: #14171c; } path { stroke: #566171; } path.accepted { stroke: #7bd88f; }
text { fill: #98a1b0; } text.root, text.title { fill: #dce1e8; } text.accepted { fill: #7bd88f; }
text.bonus { fill: #f2c55c; } text.near-miss { fill: #f08fb4; } text.not-reached, text.p { fill: #737c8b; }
}
"""


def tree_svg(round_: Round, label: Label) -> str:
    """The drawing, a well-formed XML document. Its colours are its own, light or dark as the viewer asks."""
    places = places_of(round_, label)
    x = _columns(places)
    title = f"round {round_.index + 1}: {outcome(round_)}"
    width = max(x[-1] - GAP, MARGIN + len(title) * CELL) + MARGIN
    height = 2 * MARGIN + (2 + max(place.row for place in places)) * ROW
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{xml(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{MARGIN:g}" y="{MARGIN + 12:g}">{xml(title)}</text>',
        *(_edge(place, places[place.parent], x) for place in places if place.parent is not None),
        *(_words(place, x[place.depth]) for place in places),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _columns(places: list[Place]) -> list[float]:
    """Where each depth starts, and where one more would."""
    widest = [0] * (1 + max(place.depth for place in places))
    for place in places:
        widest[place.depth] = max(widest[place.depth], place.all_cells)
    starts = [MARGIN]
    for cells in widest:
        starts.append(starts[-1] + cells * CELL + GAP)
    return starts


def _y(place: Place) -> float:
    """The middle of a place's row; the first row is the title's."""
    return MARGIN + ROW * (1.5 + place.row)


def _edge(place: Place, parent: Place, x: list[float]) -> str:
    """Straight on from behind the parent's words, or down along the column and to the right."""
    if place.row == parent.row:
        way = f"M{x[parent.depth] + parent.all_cells * CELL + 4:g} {_y(place):g}H{x[place.depth] - 4:g}"
    else:
        bend = x[place.depth] - GAP / 2
        way = f"M{bend:g} {_y(parent):g}V{_y(place) - 6:g}q0 6 6 6H{x[place.depth] - 4:g}"
    return f'<path class="{place.edge}" d="{way}"/>'


def _words(place: Place, x: float) -> str:
    """Glyph, token and probability, each a text of its own: no token can turn another's direction round."""
    words = [(place.glyph, len(place.glyph), place.state), (place.text, place.cells, place.state)]
    if place.p:
        words.append((place.p, len(place.p), "p"))
    drawn = ""
    for word, cells, style in words:
        drawn += (
            f'<text class="{style}" x="{x:g}" y="{_y(place) + 5:g}" textLength="{max(1, cells) * CELL:g}" '
            f'lengthAdjust="spacingAndGlyphs">{xml(word)}</text>'
        )
        x += (cells + 1) * CELL
    return f"<g><title>{xml(place.tip)}</title>{drawn}</g>"

"""All keys, and the legend of the draft tree."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll

from ddtree_tui.answer_text import AR, BONUS, FIRST
from ddtree_tui.comparison_lane import LANE, LANE_MEANINGS
from ddtree_tui.glyphs import DRAWING_MEANINGS
from ddtree_tui.keys import Key, in_words, spelled
from ddtree_tui.overview import ANSWER_BORDER, MARK_MEANINGS, MARKS
from ddtree_tui.screens.dialog import Overlay
from ddtree_tui.widgets.painted import Lines, Span
from ddtree_tui.widgets.tree_keys import PANE as TREE
from ddtree_tui.widgets.welcome import Legend
from ddtree_tui.written_text import origin_text, sign

HEADING = ("always", "not typing", "what it does")
BESIDES = (
    ("Enter", "", "run the prompt; Shift+Enter, Ctrl+J: new line"),
    ("Tab", "", "next of prompt, text, tree, knobs"),
    ("", "Shift+← →", "scroll the tree sideways"),
)
"""Keys of the widgets themselves."""


class KeyTable(Lines):
    """The keys, one row each."""

    ROLES = ("title", "key", "text")
    DEFAULT_CSS = """
    KeyTable {
        height: auto;
        padding: 0 2;
        .title { color: $quiet; text-style: bold; }
        .key { color: $shown; text-style: bold; }
        .text { color: $foreground; }
    }
    """

    def __init__(self, rows: list[tuple[str, str, str]]) -> None:
        super().__init__()
        self.rows = rows

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self.rows) + 1

    def draw(self, width: int, height: int) -> list[list[Span]]:
        lines: list[list[Span]] = []
        plain = self.app.has_class("-ascii")
        for row in self.rows:
            everywhere, outside, what = (in_words(cell, plain=plain) for cell in row)
            key, text = ("title", "title") if row == HEADING or not what else ("key", "text")
            lines.append([(_pad(everywhere, 8), key), (_pad(outside, 15), key), (what, text)])
        return [*lines, []]


class SignTable(Lines):
    """What else is drawn: in the tree, under the bars of the timeline, and in front of tokens when the text
    shows their origin."""

    ROLES = ("title", "text")
    DEFAULT_CSS = """
    SignTable {
        height: auto;
        padding: 1 2 0 2;
        .title { color: $quiet; text-style: bold; }
        .text { color: $foreground; }
    }
    """
    TABLES = (
        *DRAWING_MEANINGS,
        (
            "timeline: a bar for each round, as high as the tokens it wrote",
            ((ANSWER_BORDER, "between two answers"), ("▲", "the shown round, by its number in the answer")),
        ),
        (
            "under its bars, in line miss",
            tuple((MARKS[mark], meaning) for mark, meaning in MARK_MEANINGS.items()),
        ),
        (
            "below that, in line check, where answers were compared",
            tuple((LANE[state], meaning) for state, meaning in LANE_MEANINGS.items()),
        ),
        (
            "at the cursor in the tree: each model's best candidates for a place (setting detail)",
            (("✓ ✗ ·", "what became of one that the tree has there; the number is its probability"),),
        ),
        (
            "in the numbers",
            (
                ("✓ + ★", "acceptance length: the tokens that a round added, the bonus token included"),
                (sign(FIRST), "the first token of an answer comes with the prompt, and counts in no round"),
            ),
        ),
        ("before tokens", tuple((sign(origin), origin_text(origin)) for origin in (3, BONUS, AR, FIRST))),
    )

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return sum(1 + len(rows) for _, rows in self.TABLES)

    def draw(self, width: int, height: int) -> list[list[Span]]:
        lines: list[list[Span]] = []
        for title, rows in self.TABLES:
            lines.append([(title, "title")])
            lines += [[(_pad(mark, 6), "text"), (meaning, "text")] for mark, meaning in rows]
        return lines


class HelpScreen(Overlay[None]):
    """The keys of ``pane``, if one is named, before all others. Any of its own keys closes it."""

    BINDINGS = [Binding("escape,f1,q,question_mark,enter", "dismiss", "Close")]
    DEFAULT_CSS = """
    HelpScreen {
        #help {
            width: 86; max-width: 98%; height: auto; max-height: 96%;
            padding: 1 0; background: $surface; scrollbar-size: 1 1;
        }
    }
    """

    def __init__(self, keys: Sequence[Key], pane: str = "") -> None:
        super().__init__()
        self._keys, self._pane = keys, pane

    def compose(self) -> ComposeResult:
        """Keys first: they are what one comes back for; but from the draft tree what is drawn there."""
        keys, pane = self._keys, self._pane
        others = [other for other in dict.fromkeys(key.pane for key in keys) if other not in ("", pane)]
        rest = [HEADING, *BESIDES, *_rows(keys, "")]
        for other in others:
            rest += [("", "", ""), *_rows_of_pane(keys, other)]
        drawn = (Legend(), SignTable())
        with VerticalScroll(id="help"):
            if pane == TREE:
                yield from drawn
                yield KeyTable([("", "", ""), *_rows_of_pane(keys, pane)])
                yield KeyTable(rest)
            else:
                yield KeyTable([*_rows_of_pane(keys, pane), ("", "", ""), *rest] if pane else rest)
                yield from drawn


def _rows_of_pane(keys: Sequence[Key], pane: str) -> list[tuple[str, str, str]]:
    return [("", f"in {pane}", ""), *_rows(keys, pane)]


def _rows(keys: Sequence[Key], pane: str) -> list[tuple[str, str, str]]:
    return [(spelled(key.always), spelled(key.free), key.help) for key in keys if key.pane == pane]


def _pad(text: str, cells: int) -> str:
    return text + " " * max(1, cells - cell_len(text))

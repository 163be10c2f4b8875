"""The end of a race: the table, and two texts as one."""

from __future__ import annotations

from textual.strip import Strip

from ddtree_tui.escape import escape, fit
from ddtree_tui.plural import counted
from ddtree_tui.race.comparison import WORDS, Comparison, explanation
from ddtree_tui.race.course import Race
from ddtree_tui.race.marked_diff import marked_diff, wrapped
from ddtree_tui.race.table import COLUMNS, aligned, rows
from ddtree_tui.widgets.painted import Lines, ScrolledLines, Span

SOME_COLUMNS = ((0, 1, 2, 3, 4, 6, 8, 9), (0, 1, 2, 3, 8, 9), (0, 1, 2, 9))
"""Of the table, where not all of them have room."""


class RaceTable(Lines):
    """A row per lane, and a sentence on the texts."""

    ROLES = ("heading", "row", "first", "note", "wrong")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    RaceTable {
        height: auto;
        padding: 0 1;
        background: $surface;
        .heading { color: $quiet; }
        .row { color: $foreground; }
        .first { color: $accepted; text-style: bold; }
        .note { color: $quiet; }
        .wrong { color: $wrong; text-style: bold; }
    }
    """

    def __init__(self, race: Race, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._race = race
        self._compared: dict[int, Comparison] = {}

    def show(self, compared: dict[int, Comparison]) -> None:
        """The race is over; this is what is to be said of its texts."""
        self._compared = compared
        self.styles.height = len(self._race.lanes) + 2
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        race = self._race
        table = [COLUMNS, *rows(race, self._compared)]
        lines = aligned(table)
        for places in SOME_COLUMNS:
            if max(map(len, lines)) > width:
                lines = aligned([tuple(row[place] for place in places) for row in table])
        drawn: list[list[Span]] = [[(fit(lines[0], width), "heading")]]
        standings = race.standings()
        for one, line in zip(standings.lanes, lines[1:], strict=True):
            drawn.append([(fit(line, width), "first" if standings.place(one) == 1 else "row")])
        text, role = self._sentence()
        return [*drawn, [(fit(text, width), role)]]

    def _sentence(self) -> Span:
        failed = self._race.failed or next(
            (lane.answer.failed for lane in self._race.lanes if lane.answer.failed is not None), None
        )
        if failed is not None:
            return escape(f"{failed.message} {failed.hint}".rstrip()), "wrong"
        kinds = [comparison.kind for comparison in self._compared.values()]
        differ = [kind for kind in kinds if WORDS[kind].startswith("differs")]
        if differ:
            defects = differ.count("defect")
            told = f"{counted(len(differ), 'text')} not the same"
            told += f", {counted(defects, 'defect')}" if defects else ""
            return f"{told}: d shows where and why.", "wrong" if defects else "note"
        if set(kinds) == {"same"}:
            return "All texts are the same.", "note"
        if "so far" in kinds and not {*kinds} - {"same", "so far"}:
            return "The texts are the same, as far as they go.", "note"
        return "", "note"


class TextDiff(ScrolledLines, can_focus=True):
    """Why two texts part, and both of them as one."""

    ROLES = ("title", "told", "same", "gone", "new", "defect")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TextDiff {
        height: 1fr;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size: 1 1;
        .title { color: $shown; text-style: bold; }
        .told { color: $foreground; }
        .same { color: $quiet; }
        .gone { color: $near-miss; }
        .new { color: $accepted; text-style: bold; }
        .defect { color: $wrong; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._comparison: Comparison | None = None
        self._lines: list[list[Span]] = []

    def show(self, comparison: Comparison | None) -> None:
        """Take another pair of texts; None where there is none."""
        self._comparison = comparison
        self._draw_anew()
        first = next(
            (y for y, line in enumerate(self._lines) if any(role in ("gone", "new") for _, role in line)), 0
        )
        height = self.scrollable_content_region.height
        self.scroll_to(y=max(0, first - height // 2), animate=False, immediate=True)

    def on_resize(self) -> None:
        self._draw_anew()

    def draw_line(self, line: int) -> Strip:
        return self.strip(self._lines[line]) if line < len(self._lines) else Strip([])

    def _draw_anew(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0:
            self._lines = self._drawn(width)
            self.forget_strips()
            self.set_extent(0, len(self._lines))
            self.refresh()

    def _drawn(self, width: int) -> list[list[Span]]:
        comparison = self._comparison
        if comparison is None or comparison.against is None:
            return [[("There is no other text to compare with.", "told")]]
        lane, rival = comparison.lane, comparison.against
        role = "defect" if comparison.kind == "defect" else "told"
        lines: list[list[Span]] = [
            [(fit(f"{lane.name} against {rival.name}: {WORDS[comparison.kind]}", width), "title")]
        ]
        if comparison.where is not None:
            lines += wrapped([(explanation(comparison), role)], width)
            lines.append([(f"[-{rival.name}-]", "gone"), (" ", "same"), (f"{{+{lane.name}+}}", "new")])
        return [*lines, [], *marked_diff(rival, lane, width)]

"""The doctor's ranking for the answer that is shown; it follows while the run goes on."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.strip import Strip

from ddtree_tui.ascii_forms import ascii_form
from ddtree_tui.controller import Controller
from ddtree_tui.doctor.of_run import report_of, rows_of, state_of
from ddtree_tui.doctor.report import Report
from ddtree_tui.rows import Row
from ddtree_tui.screens.live import LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.painted import ScrolledLines
from ddtree_tui.widgets.screen_title import ScreenTitle

HINTS: tuple[Hint, ...] = (
    ("Esc", "back", "screen.leave"),
    ("↑ ↓", "scroll", ""),
    ("n N", "causes", "screen.next_cause(1)"),
    ("Enter", "its first round", "screen.go"),
    ("^Q", "quit", "quit"),
)


class DiagnosisView(ScrolledLines, can_focus=True):
    """Verdict, then causes, roots first."""

    ROLES = ("verdict", "healthy", "text", "quiet", "defect", "warning", "note", "chosen")
    COMPONENT_CLASSES = set(ROLES)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    DiagnosisView {
        height: 1fr; padding: 1 2; scrollbar-size: 1 1; scrollbar-gutter: stable;
        .verdict { color: $on-wrong; background: $wrong; text-style: bold; }
        .healthy { color: $accepted; text-style: bold; }
        .text { color: $foreground; }
        .quiet { color: $quiet; }
        .defect { color: $wrong; text-style: bold; }
        .warning { color: $bonus; text-style: bold; }
        .note { color: $shown; text-style: bold; }
        .chosen { color: $shown; text-style: bold reverse; }
    }
    """

    def __init__(self, *, plain: bool) -> None:
        super().__init__(id="diagnosis")
        self._plain = plain
        self._report: Report | None = None
        self._rows: list[Row] = []
        self.chosen = 0
        """Place of the cause that Enter is about."""

    @property
    def round(self) -> int | None:
        """The round that the chosen cause shows in first, counted from 0."""
        causes = self._report.causes if self._report is not None else []
        shows = causes[self.chosen].round if self.chosen < len(causes) else None
        return None if shows is None else shows - 1

    def choose_next(self, by: int) -> None:
        """Another cause, which is scrolled to."""
        count = len(self._report.causes) if self._report is not None else 0
        if count:
            self.chosen = (self.chosen + by) % count
            self._write()
            line = next(number for number, row in enumerate(self._rows) if row.cause == self.chosen)
            self.scroll_to(y=max(0, line - 1), animate=False)

    def show(self, report: Report) -> None:
        """Take a new report."""
        self._report = report
        self._write()

    def on_resize(self) -> None:
        self._write()

    def draw_line(self, line: int) -> Strip:
        if line >= len(self._rows):
            return self.strip([])
        row = self._rows[line]
        text = ascii_form(row.text) if self._plain else row.text
        chosen = row.cause is not None and row.cause == self.chosen
        return self.strip([(text, "chosen" if chosen else row.role)])

    def _write(self) -> None:
        width = self.scrollable_content_region.width
        if self._report is None or width <= 0:
            return
        self._rows = rows_of(self._report, width)
        self.forget_strips()
        self.set_extent(width, len(self._rows))
        self.refresh()


class DiagnosisScreen(LiveScreen[int]):
    """Looks again when something new is known of the answer. Dismissed with a round to show, or nothing."""

    BINDINGS = [
        Binding("escape,q,D", "leave", "Back"),
        Binding("n,tab", "next_cause(1)", "Next cause"),
        Binding("N,shift+tab", "next_cause(-1)", "Cause before"),
        Binding("enter", "go", "Its first round"),
    ]

    def __init__(self, controller: Controller, *, plain: bool) -> None:
        super().__init__()
        self._controller = controller
        self._plain = plain
        self._state: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Title, diagnosis, keys."""
        yield ScreenTitle("Diagnosis of the shown run")
        yield DiagnosisView(plain=self._plain)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(KeyBar).show(HINTS)
        self.query_one(DiagnosisView).focus()
        self.show(self._controller)

    def show(self, controller: Controller) -> None:
        answer = controller.shown_answer
        views = list(self.query(DiagnosisView))
        if answer is None or not views:
            return
        state = state_of(answer)
        if state != self._state:
            self._state = state
            views[0].show(report_of(answer))

    def action_next_cause(self, by: int) -> None:
        """Choose another cause."""
        self.query_one(DiagnosisView).choose_next(by)

    def action_go(self) -> None:
        """Show the first round of the chosen cause on the main screen."""
        answer, shows = self._controller.shown_answer, self.query_one(DiagnosisView).round
        if answer is None or shows is None or shows >= len(answer.rounds):
            self.notify("This cause shows in no single round.", markup=False, timeout=3)
            return
        self.dismiss(answer.first_round + shows)

    def action_leave(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)

"""The doctor's ranking for the answer that is shown; it follows while the run goes on."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.strip import Strip

from ddtree_tui.ascii_forms import ascii_form
from ddtree_tui.controller import Controller
from ddtree_tui.doctor.of_run import Row, report_of, rows_of, state_of
from ddtree_tui.doctor.report import Report
from ddtree_tui.screens.live import LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.painted import Lines, ScrolledLines, Span

HINTS: tuple[Hint, ...] = (("Esc", "back", "screen.leave"), ("↑ ↓", "scroll", ""), ("^Q", "quit", "quit"))


class DiagnosisHeading(Lines):
    """What this is."""

    ROLES = ("title",)
    COMPONENT_CLASSES = set(ROLES)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    DiagnosisHeading {
        height: 1; padding: 0 1; background: $panel;
        .title { color: $foreground; text-style: bold; }
    }
    """

    def draw(self, width: int, height: int) -> list[list[Span]]:
        return [[("Diagnosis of the shown run", "title")]]


class DiagnosisView(ScrolledLines, can_focus=True):
    """Verdict, then causes, roots first."""

    ROLES = ("verdict", "healthy", "text", "quiet", "defect", "warning", "note")
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
    }
    """

    def __init__(self, *, plain: bool) -> None:
        super().__init__(id="diagnosis")
        self._plain = plain
        self._report: Report | None = None
        self._rows: list[Row] = []

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
        return self.strip([(ascii_form(row.text) if self._plain else row.text, row.role)])

    def _write(self) -> None:
        width = self.scrollable_content_region.width
        if self._report is None or width <= 0:
            return
        self._rows = rows_of(self._report, width)
        self.forget_strips()
        self.set_extent(width, len(self._rows))
        self.refresh()


class DiagnosisScreen(LiveScreen[None]):
    """Looks again when something new is known of the answer."""

    BINDINGS = [Binding("escape,q,D", "leave", "Back")]

    def __init__(self, controller: Controller, *, plain: bool) -> None:
        super().__init__()
        self._controller = controller
        self._plain = plain
        self._state: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Heading, diagnosis, keys."""
        yield DiagnosisHeading()
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

    def action_leave(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)

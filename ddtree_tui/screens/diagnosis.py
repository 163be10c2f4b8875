"""The doctor's ranking for the answer that is shown; it follows while the run goes on."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding

from ddtree_tui.controller import Controller
from ddtree_tui.doctor.of_run import (
    FROM_AFAR,
    FROM_ANSWERS,
    TO_COMPARE,
    awaited,
    report_of,
    rows_of,
    state_of,
)
from ddtree_tui.doctor.report import CauseReport, Report
from ddtree_tui.rows import Row
from ddtree_tui.screens.live import EXPLAIN, QUIT, LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.row_view import RowView
from ddtree_tui.widgets.screen_title import ScreenTitle

HINTS: tuple[Hint, ...] = (
    ("Esc", "back", "screen.leave"),
    ("↑ ↓", "scroll", ""),
    ("n N", "causes", "screen.next_cause(1)"),
    ("Enter", "its first round", "screen.go"),
    EXPLAIN,
    QUIT,
)
CAUSE_HINTS = HINTS[2:4]


class DiagnosisView(RowView):
    """Verdict, then causes, roots first."""

    ROLES = ("verdict", "healthy", "text", "quiet", "defect", "warning", "note", "chosen")
    DEFAULT_CSS = """
    DiagnosisView {
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

    def __init__(self, *, plain: bool, how: str) -> None:
        super().__init__(plain=plain, id="diagnosis")
        self._how = how
        self._report: Report | None = None
        self._awaited = ""
        self.chosen = 0
        """Place of the cause that Enter is about."""

    @property
    def causes(self) -> list[CauseReport]:
        """What is wrong, roots first."""
        return self._report.causes if self._report is not None else []

    @property
    def round(self) -> int | None:
        """The round that the chosen cause shows in first, counted from 0."""
        shows = self.causes[self.chosen].round if self.chosen < len(self.causes) else None
        return None if shows is None else shows - 1

    def choose_next(self, by: int) -> None:
        """Another cause, which is scrolled to."""
        if count := len(self.causes):
            self.chosen = (self.chosen + by) % count
            self._write()
            line = next(number for number, row in enumerate(self._rows) if row.cause == self.chosen)
            self.scroll_to(y=max(0, line - 1), animate=False)

    def show(self, report: Report, awaited: str) -> None:
        """Take a new report; ``awaited``: what is still to be found out."""
        self._report, self._awaited = report, awaited
        self._write()

    def tell(self, awaited: str) -> None:
        """Take what is still to be found out."""
        if awaited != self._awaited:
            self._awaited = awaited
            self._write()

    def on_resize(self) -> None:
        self._write()

    def role_of(self, row: Row) -> str:
        return "chosen" if row.cause is not None and row.cause == self.chosen else row.role

    def _write(self) -> None:
        width = self.scrollable_content_region.width
        if self._report is not None and width > 0:
            self.take(rows_of(self._report, width, self._awaited, how=self._how))


class DiagnosisScreen(LiveScreen[int]):
    """Looks again when something new is known of the answer. Dismissed with a round to show, or nothing."""

    EXPLANATION = (
        (
            "What is wrong, and why",
            (
                "Detectors look at every round while it is decoded, and at the text. What they saw is "
                "ranked here: roots first, then what follows from them. Each has what was seen, why it "
                "matters, and what to do."
            ),
        ),
        (
            "Against the target alone",
            (
                "Only a comparison with the target alone, without drafts, tells whether the text is its "
                "own: C on the main screen compares it, the setting oracle does so behind every answer. "
                "Without one nothing is called healthy, however good it looks."
            ),
        ),
        (
            "Defect, warning, note",
            "A defect makes the text wrong, or drafting worthless. A warning may. A note explains.",
        ),
        (
            "Keys",
            "n and N choose a cause, Enter shows the round that it shows in first, Esc goes back.",
        ),
    )
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
        afar = FROM_AFAR if self._controller.lists else FROM_ANSWERS
        how = afar if self._controller.place else TO_COMPARE
        yield DiagnosisView(plain=self._plain, how=how)
        yield KeyBar()

    def on_mount(self) -> None:
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
            views[0].show(report_of(answer), awaited(answer))
        else:
            views[0].tell(awaited(answer))
        hints = HINTS if views[0].causes else tuple(hint for hint in HINTS if hint not in CAUSE_HINTS)
        self.query_one(KeyBar).show(hints)

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

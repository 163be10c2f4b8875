"""What the oracle found of the shown answer; it compares it where nobody has."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding

from ddtree_tui.check.rows import rows_of
from ddtree_tui.controller import Controller
from ddtree_tui.screens.live import EXPLAIN, QUIT, LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.row_view import RowView
from ddtree_tui.widgets.screen_title import ScreenTitle

HINTS: tuple[Hint, ...] = (
    ("Esc", "back", "screen.leave"),
    ("c", "compare again", "screen.again"),
    ("s", "one token at a time", "screen.sequential"),
    ("↑ ↓", "scroll", ""),
    EXPLAIN,
    QUIT,
)


class OracleView(RowView):
    """Verdict, numbers, a curve."""

    ROLES = ("bad", "good", "text", "quiet", "plot")
    DEFAULT_CSS = """
    OracleView {
        .bad { color: $on-wrong; background: $wrong; text-style: bold; }
        .good { color: $accepted; text-style: bold; }
        .text { color: $foreground; }
        .quiet { color: $quiet; }
        .plot { color: $bar; }
    }
    """

    def show(self, controller: Controller) -> None:
        """Take the newest state."""
        width, answer = self.scrollable_content_region.width, controller.shown_answer
        if width <= 0 or answer is None:
            return
        rows = rows_of(answer, width, live=controller.checks, plain=self._plain)
        if rows != self._rows:
            self.take(rows)


class OracleScreen(LiveScreen[None]):
    """Follows a comparison while it goes on; compares at once what was not compared yet."""

    EXPLANATION = (
        (
            "Is this the target's own text?",
            (
                "The target reads the answer alone, without drafts and trees, and chooses a token at every "
                "place. Where it would have written another one, the answer is not its own."
            ),
        ),
        (
            "Ties and defects",
            (
                "Numbers are rounded, and trees are summed in another order than single tokens. Where two "
                "tokens are so close that this may decide, a difference is a tie and harmless. How close "
                "that is is measured on this device. Anything else is a defect."
            ),
        ),
        (
            "Features, caches, recurrent state",
            (
                "What the drafter reads and what the caches hold is compared too: errors there show in the "
                "text only later. The curve is the state's relative error over rounds; it should stay flat."
            ),
        ),
        (
            "Keys",
            (
                "c compares again. s has the target alone decode the text token by token as well, which is "
                "slow and leaves no doubt. Esc goes back; a comparison goes on."
            ),
        ),
    )
    BINDINGS = [
        Binding("escape,q,C", "leave", "Back"),
        Binding("c", "again", "Compare again"),
        Binding("s", "sequential", "One token at a time"),
    ]

    def __init__(self, controller: Controller, *, plain: bool) -> None:
        super().__init__()
        self._controller = controller
        self._plain = plain

    def compose(self) -> ComposeResult:
        """Title, result, keys."""
        yield ScreenTitle("The shown answer against the target alone")
        yield OracleView(plain=self._plain, id="oracle")
        yield KeyBar()

    def on_mount(self) -> None:
        live = self._controller.checks
        self.query_one(KeyBar).show(tuple(hint for hint in HINTS if live or hint[0] not in ("c", "s")))
        self.query_one(OracleView).focus()
        self.call_after_refresh(self.show, self._controller)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show, self._controller)

    def show(self, controller: Controller) -> None:
        for view in self.query(OracleView):
            view.show(controller)

    def action_leave(self) -> None:
        """Back to the main screen; a comparison goes on."""
        self.dismiss(None)

    def action_again(self) -> None:
        """Compare once more."""
        self._controller.check()
        self.show(self._controller)

    def action_sequential(self) -> None:
        """The target alone decodes token by token."""
        self._controller.check(sequential=True)
        self.show(self._controller)

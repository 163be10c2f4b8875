"""Everything the rounds say about drafter and speed, on a screen of its own."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding

from ddtree_tui.controller import Controller
from ddtree_tui.panels.arrangement import PANELS
from ddtree_tui.plural import counted
from ddtree_tui.screens.live import EXPLAIN, QUIT, LiveScreen
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.numbers_view import NumbersView
from ddtree_tui.widgets.painted import Lines, Span, spread

HINTS: tuple[Hint, ...] = (
    ("Esc", "back", "screen.leave"),
    ("s", "of which rounds", "screen.scope"),
    ("↑ ↓", "scroll", ""),
    EXPLAIN,
    QUIT,
)


class NumbersHeading(Lines):
    """Which rounds the numbers are of."""

    ROLES = ("title", "scope", "other", "count")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    NumbersHeading {
        height: 1;
        padding: 0 1;
        background: $panel;
        .title { color: $foreground; text-style: bold; }
        .scope { color: $shown; text-style: bold reverse; }
        .other { color: $quiet; }
        .count { color: $quiet; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Scope, int, int] = (Scope.ANSWER, 0, 0)

    def show(self, scope: Scope, tokens: int, rounds: int) -> None:
        """Take the scope and how much is in it."""
        if (scope, tokens, rounds) != self._shown:
            self._shown = (scope, tokens, rounds)
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        chosen, tokens, rounds = self._shown
        title: Span = ("Numbers of  ", "title")
        count: Span = (f"{counted(tokens, 'token')}, {counted(rounds, 'round')}", "count")
        scopes = list(Scope)
        all_of_them: list[Span] = [title]
        for scope in scopes:
            mark, role = ("▸", "scope") if scope is chosen else (" ", "other")
            all_of_them += [(f"{mark}{scope.title} ", role), (" ", "other")]
        if sum(len(text) for text, _ in [*all_of_them, count]) < width:
            return [spread(all_of_them, [count], width)]
        place = f" {1 + scopes.index(chosen)} of {len(scopes)}"
        return [spread([title, (f"▸{chosen.title} ", "scope"), (place, "other")], [count], width)]


class NumbersScreen(LiveScreen[Scope]):
    """Dismissed with the scope it was left in."""

    EXPLANATION = [(f"{panel.title}: {panel.how}", panel.help) for panel in PANELS]
    BINDINGS = [
        Binding("escape,q,number_sign,f12", "leave", "Back"),
        Binding("s,tab", "scope", "Of which rounds"),
    ]

    def __init__(self, controller: Controller, scope: Scope, *, plain: bool) -> None:
        super().__init__()
        self._controller = controller
        self._plain = plain
        self.scope = scope

    def compose(self) -> ComposeResult:
        """What is shown, the panels, the keys."""
        yield NumbersHeading()
        yield NumbersView(id="numbers")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(KeyBar).show(HINTS)
        self.query_one(NumbersView).focus()
        self.show(self._controller)

    def show(self, controller: Controller) -> None:
        self._controller = controller
        answer = controller.shown_answer
        report = controller.session.statistics.report(self.scope, answer.statistics if answer else None)
        for heading in self.query(NumbersHeading):
            heading.show(self.scope, report.tokens, report.rounds)
        for view in self.query(NumbersView):
            view.show(report, plain=self._plain)

    def action_leave(self) -> None:
        """Back to the main screen."""
        self.dismiss(self.scope)

    def action_scope(self) -> None:
        """The shown answer, all answers, since a setting last changed."""
        self.scope = self.scope.following
        self.show(self._controller)

"""The numbers screen."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.statistics.scope import Scope

KEYS = (
    Key(
        "numbers.open",
        "numbers",
        "all numbers: acceptance, speed, drafter, budget",
        "Numbers",
        always="f12",
        free="number_sign",
    ),
)


class NumberActions(Actions):
    number_scope = Scope.ANSWER
    """Which rounds the numbers screen was last asked about."""

    def action_numbers(self) -> None:
        """Open the numbers screen."""
        from ddtree_tui.screens.numbers import NumbersScreen

        def left(scope: Scope | None) -> None:
            self.number_scope = scope or self.number_scope

        self.push_screen(NumbersScreen(self.controller, self.number_scope, plain=self.looks.ascii), left)

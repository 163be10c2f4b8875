"""Is the shown answer what the target alone writes?"""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key

KEYS = (
    Key(
        "oracle.check",
        "check_answer",
        "check this answer: is it the target's own",
        "Check this answer",
        free="C",
    ),
)


class OracleActions(Actions):
    def action_check_answer(self) -> None:
        """Show what was found of the shown answer, and compare it if nobody has."""
        from ddtree_tui.screens.oracle import OracleScreen

        answer = self.controller.shown_answer
        if answer is None:
            self.notify("There is no answer to check.", markup=False, timeout=3)
            return
        if answer.checked is None and answer.checking is None:
            self.controller.check()
        self.push_screen(OracleScreen(self.controller, plain=self.looks.ascii))

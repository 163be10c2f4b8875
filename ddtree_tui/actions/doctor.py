"""What is wrong with the run that is shown."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key

KEYS = (
    Key(
        "doctor.open",
        "diagnose",
        "diagnose this run: what is wrong with it, and why",
        "Diagnose this run",
        free="D",
    ),
)
SHOWS_FIRST = "where it shows first"


class DoctorActions(Actions):
    def action_diagnose(self) -> None:
        """Open the diagnosis of the shown answer."""
        from ddtree_tui.screens.diagnosis import DiagnosisScreen

        if self.controller.shown_answer is None:
            self.notify("There is no run to diagnose.", markup=False, timeout=3)
            return

        def left(index: int | None) -> None:
            if index is not None:
                self.controller.player.stop()
                self.controller.viewpoint.choose(index, len(self.controller.session.rounds), SHOWS_FIRST)
                self.changed()

        self.push_screen(DiagnosisScreen(self.controller, plain=self.looks.ascii), left)

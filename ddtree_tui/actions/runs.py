"""Starting, stopping and forgetting runs."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.prompt import PromptBox

KEYS = (
    Key("run.stop", "stop", "stop the run; if none, leave the prompt", free="escape"),
    Key("run.pause", "pause", "pause, go on; a recording: play, pause", "Pause or go on", "f2", "space"),
    Key("run.step", "step_round", "decode one round, then pause", "One round", "f6", "n"),
    Key("run.prompt", "focus_prompt", "go to the prompt", "Go to the prompt", free="i,slash,enter"),
    Key("run.new", "new_conversation", "new conversation", "New conversation", "ctrl+n"),
)


class RunActions(Actions):
    def action_stop(self) -> None:
        """Stop the run; when nothing runs, leave the prompt box, or a recording opened over the run."""
        if self.live is not None:
            self.leave_recording()
        elif self.controller.busy:
            waiting = self.controller.waiting
            self.controller.stop()
            box = self.query_one(PromptBox)
            if waiting is not None and not box.text:
                box.text = waiting
                box.move_cursor(box.document.end)
            self.changed()
        elif isinstance(self.focused, PromptBox) and self.controller.session.rounds:
            self.query_one(DraftTreeView).focus()

    def action_pause(self) -> None:
        """Pause or go on; in a recording, play or pause."""
        self.controller.toggle_pause(self.now())
        self.changed()

    def action_step_round(self) -> None:
        """Decode one round; from an idle prompt box, start its prompt with one round."""
        if self.controller.playback is not None:
            self.controller.move(1, self.now())
        elif self.controller.session.running:
            self.controller.step()
        elif isinstance(self.focused, PromptBox) and self.focused.text.strip():
            self.submit(self.focused.text, one_round=True)
        self.changed()

    def action_focus_prompt(self) -> None:
        """Go to the prompt box; over a recording there is none."""
        if self.controller.playback is None:
            self.query_one(PromptBox).focus()

    def action_new_conversation(self) -> None:
        """Forget the conversation."""
        if self.controller.playback is None:
            self.controller.new_conversation()
            self.action_focus_prompt()
            self.changed()

    def action_restart_engine(self) -> None:
        """End the engine and start it anew."""
        self.controller.restart_engine()
        self.changed()

    def submit(self, text: str, *, one_round: bool = False) -> None:
        """Run a prompt, and look at the tree."""
        if self.controller.busy:
            self.notify("A run is under way: Esc stops it.", markup=False, timeout=3)
        elif self.controller.submit(text, one_round=one_round):
            self.query_one(PromptBox).remember(text)
            if self.controller.session.running:
                self.query_one(DraftTreeView).focus()
        self.changed()
        self.show_problems()

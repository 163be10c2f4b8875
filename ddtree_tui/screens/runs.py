"""The recorded runs: find one, replay it, export it, delete it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.worker import get_current_worker

from ddtree_tui.escape import escape
from ddtree_tui.plural import counted
from ddtree_tui.runs_folder import RecordedRun, recorded_runs
from ddtree_tui.runs_list import heading, matching, row
from ddtree_tui.screens.confirm import ConfirmScreen
from ddtree_tui.screens.dialog import Overlay
from ddtree_tui.screens.explanation import ExplanationScreen

FIRST_BATCH, BATCH = 50, 1000
"""Runs that come into the list together: a screen full at once, then many."""
MOST_LINES = 400
"""Beyond, one searches."""

EXPLANATION = (
    (
        "Recorded runs",
        (
            "Every answer and every race of the app is recorded, unless it was started with --no-record; the "
            "oldest go when they take too much room. Enter replays one, also while a run goes on."
        ),
    ),
    (
        "mode",
        (
            "As the run began: mode and budget can change between two rounds, and each round says its own. "
            "Of a race: how many lanes."
        ),
    ),
    (
        "tokens, a round, tok/s",
        (
            "Of all its answers: tokens written, the mean acceptance length of rounds, and tokens per second "
            "inside rounds."
        ),
    ),
    (
        "Search",
        "Runs are listed that have every word typed: in the prompt, the model, the mode, or the day.",
    ),
)


@dataclass(frozen=True)
class Chosen:
    """What the user wants of a run: ``open`` or ``export``."""

    action: str
    run: RecordedRun


class RunsScreen(Overlay[Chosen]):
    """Typing searches; the arrows move in the list. Dismissed with what was chosen, or nothing."""

    BINDINGS = [
        Binding("escape", "dismiss", "Close"),
        Binding("up", "list('cursor_up')", show=False, priority=True),
        Binding("down", "list('cursor_down')", show=False, priority=True),
        Binding("pageup", "list('page_up')", show=False, priority=True),
        Binding("pagedown", "list('page_down')", show=False, priority=True),
        Binding("ctrl+s", "choose('export')", "Export", priority=True),
        Binding("delete,ctrl+d", "delete", "Delete", priority=True),
        Binding("f1", "explain", "How to read this", priority=True),
    ]
    DEFAULT_CSS = """
    RunsScreen {
        #runs {
            width: 140; max-width: 98%; height: 90%;
            padding: 1 2; background: $surface; border-left: thick $shown;
        }
        Static { width: 1fr; height: auto; }
        #runs-title { text-style: bold; }
        Input { height: 1; padding: 0 1; margin: 1 0; background: $panel; &, &:focus { border: none; } }
        #runs-heading { color: $quiet; height: 1; }
        OptionList {
            height: 1fr; border: none; background: $surface; padding: 0; scrollbar-size: 1 1;
            &:focus { border: none; }
        }
        #runs-prompt { color: $quiet; margin-top: 1; height: 2; }
        #runs-keys { color: $faint; height: 1; }
    }
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._folder = folder
        self._clock = clock
        self._runs: list[RecordedRun] = []
        self._listed: list[RecordedRun] = []
        self._reading = True

    def compose(self) -> ComposeResult:
        """Search, list, the whole prompt of the run under the cursor, keys."""
        with Vertical(id="runs"):
            yield Static("Recorded runs", id="runs-title", markup=False)
            yield Input(placeholder="Type to search: words of the prompt, model, mode, day", id="runs-search")
            yield Static("", id="runs-heading", markup=False)
            yield OptionList(markup=False, id="runs-list")
            yield Static("", id="runs-prompt", markup=False)
            yield Static(
                "Enter replay   ^S export   Del delete   F1 explain   Esc close", id="runs-keys", markup=False
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False  # the arrows reach it from the search
        self.query_one(Input).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        """Read what the runs are; the newest are listed while the older are still read."""
        worker = get_current_worker()
        found: list[RecordedRun] = []
        batch = FIRST_BATCH
        for run in recorded_runs(self._folder):
            if worker.is_cancelled:
                return
            found.append(run)
            if len(found) >= batch:
                self.app.call_from_thread(self._take, found, True)
                found, batch = [], BATCH
        self.app.call_from_thread(self._take, found, False)

    def _take(self, runs: list[RecordedRun], more: bool) -> None:
        self._reading = more
        self._runs += runs
        self._list()

    def on_resize(self) -> None:
        self._list()

    def on_input_changed(self) -> None:
        self._list()

    def on_input_submitted(self) -> None:
        """Not a binding: that would overtake the text that was typed, or pasted, right before it."""
        self.action_choose("open")

    def _list(self) -> None:
        """Show what the search finds; the cursor stays on its run."""
        table = self.query_one(OptionList)
        kept = self.run
        width = table.scrollable_content_region.width - 2
        matches = matching(self._runs, self.query_one(Input).value)
        self._listed = matches[:MOST_LINES]
        self.query_one("#runs-heading", Static).update(heading(width) if width > 0 else "")
        now = self._clock()
        table.clear_options()
        if width > 0:
            table.add_options(row(run, width, now) for run in self._listed)
        if self._listed:
            table.highlighted = self._listed.index(kept) if kept in self._listed else 0
        found, all_ = len(matches), counted(len(self._runs), "run")
        title = f"Recorded runs: {all_}" if found == len(self._runs) else f"Recorded runs: {found} of {all_}"
        if found > MOST_LINES:
            title += f", the newest {MOST_LINES} listed"
        if self._reading:
            title += ", reading ..."
        self.query_one("#runs-title", Static).update(title)
        self._describe()

    @property
    def run(self) -> RecordedRun | None:
        """The run under the cursor."""
        index = self.query_one(OptionList).highlighted
        return self._listed[index] if index is not None and index < len(self._listed) else None

    def on_option_list_option_highlighted(self) -> None:
        self._describe()

    def on_option_list_option_selected(self) -> None:
        self.action_choose("open")

    def _describe(self) -> None:
        """The prompt as far as two lines go, or why there is nothing."""
        run = self.run
        if run is not None:
            lanes = f"Race of {', '.join(run.lanes)}: " if run.lanes else ""
            text = lanes + escape(run.prompt)
        elif self._reading:
            text = ""
        elif self._runs:
            text = "No run has all these words."
        else:
            text = f"No run has been recorded in {escape(str(self._folder))}."
        self.query_one("#runs-prompt", Static).update(text)

    def action_list(self, name: str) -> None:
        """Move in the list."""
        with contextlib.suppress(KeyError):  # what was found just now is not laid out yet
            getattr(self.query_one(OptionList), f"action_{name}")()

    def action_choose(self, action: str) -> None:
        """Close with the run under the cursor."""
        if (run := self.run) is not None:
            self.dismiss(Chosen(action, run))

    def action_explain(self) -> None:
        """What the columns say."""
        self.app.push_screen(ExplanationScreen(EXPLANATION, plain=self.app.has_class("-ascii")))

    def action_delete(self) -> None:
        """Delete the run under the cursor, if the user is sure."""
        run = self.run
        if run is None:
            return

        def answered(sure: bool | None) -> None:
            if not sure:
                return
            try:
                run.path.unlink(missing_ok=True)
            except OSError as error:
                message = f"{run.path.name} cannot be deleted: {error.strerror or error}."
                self.notify(escape(message), severity="error", markup=False)
                return
            self._runs.remove(run)
            self._list()

        about = " ".join(run.prompt.split())[:200]
        self.app.push_screen(ConfirmScreen("Delete this recorded run?", about, "Delete"), answered)

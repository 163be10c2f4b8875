"""Recorded runs, exports, copies."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from textual import work
from textual.worker import get_current_worker

from ddtree_tui.actions.base import Actions
from ddtree_tui.answer import Answer
from ddtree_tui.clipboard import copies_file, keep_copy
from ddtree_tui.command_line import continues_a_conversation, reproducing_command
from ddtree_tui.controller import Controller
from ddtree_tui.draft_shape import ROOT
from ddtree_tui.escape import decode_bytes, escape
from ddtree_tui.export.formats import FORMATS, Format, exported_round, exported_run, new_file, write_new
from ddtree_tui.export.run_events import jsonl
from ddtree_tui.kept import Kept
from ddtree_tui.keys import Key
from ddtree_tui.playback import Playback
from ddtree_tui.problem import Problem
from ddtree_tui.race.course import Race
from ddtree_tui.runs_folder import runs_folder
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.knobs import Knobs
from engine.errors import EngineError
from engine.events import Prefilled, Round
from engine.trace import Trace, read_trace

KEYS = (
    Key(
        "keep.runs",
        "recorded_runs",
        "recorded runs: find, replay, export, delete",
        "Recorded runs",
        "ctrl+r",
    ),
    Key("keep.export", "export", "export the run, or the shown round", "Export", "ctrl+s", "x"),
    Key("keep.copy", "copy", "copy a token, the text, its ids or the command", "Copy", free="y"),
)


class KeepActions(Actions):
    # Recorded runs

    def action_recorded_runs(self) -> None:
        """List the recorded runs."""
        from ddtree_tui.screens.runs import Chosen, RunsScreen

        def chosen(what: Chosen | None) -> None:
            if what is not None:
                self.notify(f"Reading {escape(what.run.path.name)} ...", timeout=1.5, markup=False)
                (self._open if what.action == "open" else self._export_recorded)(what.run.path)

        self.push_screen(RunsScreen(self.runs_folder()), chosen)

    def runs_folder(self) -> Path:
        """Where the runs are recorded."""
        return runs_folder()

    @work(thread=True, exclusive=True, group="read")
    def _open(self, path: Path) -> None:
        """Read a recording beside the screen, as a long one takes seconds, and show it."""
        if (trace := self._read(path)) is not None:
            self._then(self._replay, path, trace)

    @work(thread=True, exclusive=True, group="read")
    def _export_recorded(self, path: Path) -> None:
        """Read a recording beside the screen, and export it; its last round stands for all."""
        if (trace := self._read(path)) is None:
            return
        kept = Kept.of(trace.events)
        answer = kept.session.answer
        if answer is None and kept.races:
            self._then(self.export_race, kept.races[-1])
        elif answer is None or not answer.rounds:
            self._then(self.notify, "The run has no rounds to export.", markup=False, timeout=3)
        else:
            self._then(self._choose_format, answer, len(answer.rounds) - 1)

    def _read(self, path: Path) -> Trace | None:
        try:
            return read_trace(path)
        except EngineError as error:
            self._then(self.open_dialog, Problem("The recording cannot be read", error.message, error.hint))
            return None

    def _then(self, call: Callable[..., None], *arguments: Any, **keywords: Any) -> None:
        """Go on in the screen's own thread, unless the app is being left."""
        if not get_current_worker().is_cancelled:
            self.call_from_thread(call, *arguments, **keywords)

    def _replay(self, path: Path, trace: Trace) -> None:
        """Show a recording in place of the run; what the engine does goes on behind it."""
        if self.live is None and self.controller.playback is None:
            self.live = self.controller
        self.options = dataclasses.replace(self.options, replay=path)
        self._show(Controller(self.controller.settings, playback=Playback(trace.events)))
        if trace.notice:
            self.controller.notices.append(trace.notice)
        if self.controller.playback is not None:
            self.controller.playback.play(self.now())
        self.query_one(DraftTreeView).focus()

    def leave_recording(self) -> None:
        """Back from a recording to the run it was opened over."""
        if self.live is not None:
            live, self.live = self.live, None
            self.options = dataclasses.replace(self.options, replay=None)
            self._show(live)
            self.action_focus_prompt()

    def _show(self, controller: Controller) -> None:
        self.controller = controller
        self.query_one(Knobs).say_recorded(controller.playback is not None)
        self.changed()

    # Exports

    def action_export(self) -> None:
        """Choose what to make of the run or the shown round, and where to."""
        session, index = self.controller.session, self.controller.shown
        if index is None:
            self.notify("There is no round yet to export.", markup=False, timeout=3)
            return
        answer, number = session.rounds.place(index)
        self._choose_format(answer, number)

    def _choose_format(self, answer: Answer, number: int) -> None:
        """``number``: the round in its answer."""
        from ddtree_tui.screens.pick import Choice, PickScreen

        choices = [Choice(kind.name, kind.key, kind.name.upper(), kind.help) for kind in FORMATS]

        def chosen(name: str | None) -> None:
            kind = next((kind for kind in FORMATS if kind.name == name), None)
            if kind is not None:
                self._choose_file(kind, answer, number)

        self.push_screen(PickScreen(f"Export this run, or round {number + 1}", choices), chosen)

    def _choose_file(self, kind: Format, answer: Answer, number: int) -> None:
        def pieces() -> Iterable[bytes]:
            if kind.of_round:
                return exported_round(kind.name, answer.vocabulary, answer.rounds[number])
            return exported_run(kind.name, answer)

        what = f"round {number + 1}" if kind.of_round else "the run"
        stem = f"ddtree-round-{number + 1}" if kind.of_round else "ddtree-run"
        self._ask_file(f"Export {what} as {kind.name.upper()}", stem, kind.name, pieces)

    def export_race(self, race: Race) -> None:
        """Choose what to make of a race, and where to: all of it as a trace, or a lane as a page."""
        from ddtree_tui.screens.pick import Choice, PickScreen

        choices = [Choice("", "j", "JSONL", "the race as a trace: JSON lines, to replay or to read")]
        choices += [
            Choice(str(lane.number), str(lane.number + 1), f"HTML: {lane.name}", "this lane as a page")
            for lane in race.lanes
        ]

        def chosen(picked: str | None) -> None:
            if picked == "":
                self._ask_file("Export the race as JSONL", "ddtree-race", "jsonl", lambda: jsonl(race.events))
            elif picked is not None:
                lane = race.lanes[int(picked)]
                stem = f"ddtree-race-{lane.name.replace(' ', '-')}"
                self._ask_file(
                    f"Export {lane.name} as HTML", stem, "html", lambda: exported_run("html", lane.answer)
                )

        self.push_screen(PickScreen("Export this race", choices), chosen)

    def _ask_file(self, title: str, stem: str, suffix: str, pieces: Callable[[], Iterable[bytes]]) -> None:
        """Ask for the name of a new file, and write it."""
        from ddtree_tui.screens.value import ValueScreen

        def write(typed: str) -> None:
            self._write(new_file(typed), pieces())

        self.push_screen(ValueScreen(title, str(free_name(Path.cwd(), stem, suffix)), "a new file", write))

    @work(thread=True, group="write")
    def _write(self, path: Path, pieces: Iterable[bytes]) -> None:
        try:
            write_new(path, pieces)
        except EngineError as error:
            self._then(self.open_dialog, Problem("The export has failed", error.message, error.hint))
        else:
            self._then(self.notify, f"Written: {escape(str(path))}", timeout=6, markup=False)

    # Copies

    def action_copy(self) -> None:
        """Choose what to copy."""
        from ddtree_tui.screens.pick import Choice, PickScreen

        copies = self._copies()
        if not copies:
            self.notify("There is nothing yet to copy.", markup=False, timeout=3)
            return
        choices = [
            Choice(name, name[0], name, " ".join(text[:1000].split())[:200]) for name, text in copies.items()
        ]

        def chosen(name: str | None) -> None:
            if name is not None:
                self.copy(name, copies[name])

        self.push_screen(PickScreen("Copy", choices), chosen)

    def _copies(self) -> dict[str, str]:
        """What there is to copy, by name."""
        session, index = self.controller.session, self.controller.shown
        if index is not None:
            answer, round_ = session.rounds[index]
        elif session.answer is not None and session.answer.prefilled is not None:
            answer, round_ = session.answer, None
        else:
            return {}
        copies = {}
        if round_ is not None:
            token = self._token(round_)
            copies["token"] = decode_bytes(answer.vocabulary.token_bytes(token))
        if answer.text is not None:
            copies["answer"] = answer.text.answer
            if answer.text.thinking:
                copies["scratch pad"] = answer.text.thinking
        copies["ids"] = json.dumps(_output_ids(answer))
        if answer.prefilled is not None and not answer.imported:  # no command makes that again
            newest = self.controller.playback is None and answer.loaded is session.loaded
            load = self.controller.load if newest else None
            conversation = _keep_conversation(answer.prefilled)
            copies["command"] = reproducing_command(answer.prefilled, answer.loaded, load, conversation)
        return copies

    def _token(self, round_: Round) -> int:
        """The token under the cursor of the tree; without one, what the round added last."""
        place = self.query_one(DraftTreeView).look.cursor
        if place is None:
            return round_.committed_ids[-1] if round_.committed_ids else round_.root_id
        if place >= 0:
            return round_.nodes.ids[place]
        return round_.root_id if place == ROOT or round_.bonus_id is None else round_.bonus_id

    def copy(self, what: str, text: str) -> None:
        """To the clipboard, as far as the terminal takes it, and into a file that is named."""
        self.copy_to_clipboard(text.encode(errors="replace").decode())
        path = copies_file()
        kept = f" Also in {escape(str(path))}." if keep_copy(text, path) else ""
        self.notify(f"Copied: {what}.{kept}", markup=False, timeout=5)

    def action_copy_answer(self) -> None:
        """Copy the newest answer."""
        answer = self.controller.session.answer
        if answer is not None and answer.text is not None:
            self.copy("answer", answer.text.answer)


def free_name(folder: Path, stem: str, suffix: str) -> Path:
    """``stem.suffix`` in the folder, numbered where there is one already."""
    names = (f"{stem}{number}.{suffix}" for number in ("", *(f"-{n}" for n in range(2, 1000))))
    return next((path for name in names if not (path := folder / name).exists()), folder / f"{stem}.{suffix}")


def _keep_conversation(prefilled: Prefilled) -> Path | None:
    """The file that holds the turns before an answer; None without such, or where it cannot be written."""
    if not continues_a_conversation(prefilled):
        return None
    text = json.dumps(prefilled.messages, ensure_ascii=False, indent=1)
    name = f"conversation-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}.json"
    path = copies_file().with_name(name)
    return path if keep_copy(text, path) else None


def _output_ids(answer: Answer) -> list[int]:
    """All ids of the answer, the prefill's first; as the engine counts them once it is over."""
    if answer.finished is not None:
        return answer.finished.output_ids
    first = [answer.prefilled.first_id] if answer.prefilled is not None else []
    return first + [token_id for round_ in answer.rounds for token_id in round_.committed_ids]

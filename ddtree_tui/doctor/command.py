"""``ddtree-tui doctor``: from the machine to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from ddtree_tui import exit_codes
from ddtree_tui.doctor.examination import examine
from ddtree_tui.doctor.faults_list import fault_lines
from ddtree_tui.doctor.markdown import markdown
from ddtree_tui.doctor.options import ENDINGS, DoctorOptions
from ddtree_tui.doctor.page import page
from ddtree_tui.doctor.patient import Interrupted, Patient
from ddtree_tui.doctor.report import Report, make_report
from ddtree_tui.doctor.terminal import terminal_lines
from ddtree_tui.doctor.text import conclusion_text, line_text
from ddtree_tui.doctor.visit import (
    Visit,
    answer_all,
    check_recorded,
    conversations,
    first_rounds,
    open_trace,
    undecodable,
)
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.export.formats import write_new
from ddtree_tui.inbox import Inbox
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import put
from ddtree_tui.status_line import StatusLine
from engine.commands import Generate, encode_command
from engine.diagnosis.lines import Line
from engine.errors import EngineError
from engine.events import AnyEvent, Checking, Loading


def run_doctor(
    options: DoctorOptions,
    engine_command: list[str] | None = None,
    examination: Iterable[Line] | None = None,
) -> int:
    """Look, answer, compare, report; returns the exit code: 0 is healthy.

    Args:
        engine_command, examination: what takes the place of the engine and of the look at machine and pair.

    Raises:
        EngineError: as ``read_trace``; ``usage`` for a report of another kind; ``export``, ``output``,
            ``engine_start``, ``bad_text``; ``bad_setting`` for a way to decode that there is not.
    """
    if options.list_faults:
        put("\n".join(fault_lines()) + "\n")
        return exit_codes.OK
    _check_report(options.report)
    if options.messages is not None:  # text that cannot be sent is an error before anything is loaded
        encode_command(Generate(messages=options.messages, settings=options.decode))
    visit = Visit(options.load)
    if options.trace is not None:
        open_trace(options.trace, visit, chosen=options.chosen)
    try:
        return _Doctor(options, visit, engine_command, examination).run()
    except Interrupted as interrupted:
        return exit_codes.interrupted(interrupted.number)


class _Doctor:
    """One visit, told as it goes."""

    def __init__(
        self,
        options: DoctorOptions,
        visit: Visit,
        engine_command: Sequence[str] | None,
        examination: Iterable[Line] | None,
    ) -> None:
        self.options, self.visit = options, visit
        self._engine_command = engine_command
        self._examination = examination
        self.status = StatusLine(options.json)
        self._doing = ""

    def run(self) -> int:
        self._look()
        if self.options.until != "environment" and not self.visit.imported:
            self._ask()
        report = self._report(with_text=self.options.with_text)
        self.status.clear()
        if self.options.json:
            put(_json(report))
        else:  # on the own screen nothing needs to be left out
            put("\n".join(conclusion_text(self._report(with_text=True))) + "\n")
        if self.options.report is not None:
            write_report(self.options.report, report)
            self.status.say(f"The report is in {self.options.report}.")
        return exit_codes.OK if report.healthy and not self.visit.failures else exit_codes.ENGINE_FAILED

    def _report(self, *, with_text: bool) -> Report:
        return make_report(
            self.visit.diagnosis(),
            load=self.visit.load,
            loaded=self.visit.loaded,
            lines=self.visit.lines,
            answers=self.visit.answers,
            notices=self.visit.notices,
            with_text=with_text,
        )

    def _look(self) -> None:
        """At the machine and the pair's files."""
        part = ""
        lines = self._examination if self._examination is not None else examine(self.visit.load)
        for line in chain(terminal_lines(), lines):
            if line.part == "pair" and (self.options.until == "environment" or self.visit.imported):
                break
            if line.part != part:
                part = line.part
                self._print("Pair" if part == "pair" else "Environment")
            self._add(line)

    def _ask(self) -> None:
        """Load the pair and have it answer."""
        if any(line.part == "pair" or line.name in ("torch", "torch starts") for line in self.visit.failures):
            self.visit.notices.append("The pair was not loaded, because of what failed above.")
            return
        inbox = Inbox()
        engine = EngineProcess(
            inbox.put,
            self.options.log_path,
            command=self._engine_command,
            debug=self.options.debug,
            ranks=self.visit.load.tp,
        )
        with signals_to(inbox.put), engine:
            patient = Patient(engine, inbox, self._watch)
            try:
                self.visit.loaded = patient.load(self.visit.load)
                subject = self.options.decode
                self._add(first_rounds(patient, self.visit, subject))
                if self.options.until == "pair":
                    return
                check_recorded(patient, self.visit, self._say)
                asked = [*conversations(self.visit, self.options.messages, subject)]
                answer_all(patient, self.visit, asked, self._say)
            except EngineError as error:
                if error.kind == "bad_setting" and self.visit.first is not None:
                    raise
                name = "loading" if self.visit.first is None else "engine"
                self._add(undecodable(name, error.message, error.hint))
            self._print("")

    def _add(self, line: Line) -> None:
        self.visit.lines.append(line)
        self.status.clear()
        for row in line_text(line):
            self._print(row)

    def _print(self, row: str) -> None:
        if not self.options.json:
            put(row + "\n")

    def _say(self, doing: str) -> None:
        self._doing = doing
        self.status.show(f"{doing} ...")

    def _watch(self, event: AnyEvent) -> None:
        if isinstance(event, Loading):
            self.status.loading(event)
        elif isinstance(event, Checking):
            self.status.show(f"{self._doing}; comparing {event.done} of {event.total} positions ...")


def write_report(path: Path, report: Report) -> None:
    """A report as a new file, by the file's ending.

    Raises:
        EngineError: ``export``.
    """
    if path.suffix == ".json":
        text = _json(report)
    else:
        text = page(report) if path.suffix == ".html" else markdown(report)
    write_new(path, [text.encode()])


def _json(report: Report) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def _check_report(path: Path | None) -> None:
    """Before anything takes time."""
    if path is None:
        return
    if path.suffix not in ENDINGS:
        raise EngineError(
            "usage", f"A report cannot be {path.name}.", f"Name it with one of {', '.join(ENDINGS)}."
        )
    try:
        exists, has_folder = path.exists(), path.absolute().parent.is_dir()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise EngineError(
            "export", f"{path} cannot be written: {error.strerror or error}.", "Choose another name."
        ) from error
    if exists:
        raise EngineError("export", f"{path} exists already.", "Choose another name.")
    if not has_folder:
        raise EngineError("export", f"There is no folder for {path}.", "Make it first.")

"""``ddtree-tui generate``: one answer, without the app."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from ddtree_tui import exit_codes
from ddtree_tui.check.text import details, headline
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.escape import escape
from ddtree_tui.inbox import Inbox
from ddtree_tui.labels import Labels
from ddtree_tui.noticed import told
from ddtree_tui.options import GenerateOptions
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import take_no_more
from ddtree_tui.status_line import StatusLine
from ddtree_tui.totals import finished_text
from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.commands import Cancel, Generate, Load, encode_command
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import (
    AnyEvent,
    Checked,
    Checking,
    Failed,
    Finding,
    Finished,
    Loaded,
    Loading,
    Prefilled,
    Round,
    Tokens,
)
from engine.settings import DecodeSettings
from engine.text_stream import THINK_CLOSE, THINK_OPEN, TextStream
from engine.trace import TraceWriter

_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""What can drive a terminal or reorder its line; characters that need their neighbours stay whole."""


def run_generate(options: GenerateOptions, engine_command: list[str] | None = None) -> int:
    """Load the pair, answer, and report; returns the exit code.

    Raises:
        EngineError: ``trace_write`` if the trace file cannot be made, ``engine_start``, ``bad_text``.
    """
    question = Generate(messages=options.messages, settings=options.decode)
    encode_command(question)  # text that cannot be sent is an error before anything is loaded
    inbox = Inbox()
    engine = EngineProcess(
        inbox.put, options.log_path, command=engine_command, debug=options.debug, ranks=options.load.tp
    )
    with contextlib.ExitStack() as stack:
        trace = stack.enter_context(TraceWriter(options.trace)) if options.trace else None
        stack.enter_context(signals_to(inbox.put))
        stack.enter_context(engine)
        engine.send(Load(settings=options.load))
        return _Session(options, question, engine, inbox, trace).run()


class _Session:
    """The way from loading to the end of the answer."""

    def __init__(
        self,
        options: GenerateOptions,
        question: Generate,
        engine: EngineProcess,
        inbox: Inbox,
        trace: TraceWriter | None,
    ) -> None:
        self.question = question
        self.options, self.engine, self.inbox, self.trace = options, engine, inbox, trace
        self.status = _Status(options.quiet)
        self.output: _Output = _JsonOutput() if options.json else _TextOutput(options, self.status)
        self.code: int | None = None
        """Decided before the answer ended: by a signal, a failed trace or a reader that went away."""
        self.loaded = False

    def run(self) -> int:
        while True:
            item = self.inbox.get()
            if item is None:
                self.status.say("The engine did not stop in time and was ended.")
                return self._code(exit_codes.ENGINE_FAILED)
            if isinstance(item, int):
                if self.inbox.ending or not self.loaded:
                    self.status.clear()
                    return exit_codes.interrupted(item)
                self._cancel(exit_codes.interrupted(item))
                self.status.hint("Stopping after this round; press Ctrl-C again to stop at once.")
                continue
            self._record(item)
            self._show(item)
            if self.inbox.ending and not self.loaded:
                return self._code(exit_codes.ENGINE_FAILED)
            match item:
                case Loaded():
                    self.loaded = True
                    if self.options.decode.verify == "naive":
                        self.status.say("--verify naive is wrong on hybrid targets: expect garbled text.")
                    if planted := self.options.decode.inject:
                        self.status.say(f"FAULT PLANTED: {', '.join(planted)}. Expect garbled text.")
                    self.engine.send(self.question)
                case Finished() if self.options.decode.oracle == "off":
                    return self._code(exit_codes.OK)
                case Checked():
                    return self._code(exit_codes.OK)
                case Failed():
                    self.status.error(item, self.options.debug)
                    return self._code(exit_codes.exit_code(item.error, loading=not self.loaded))

    def _cancel(self, code: int) -> None:
        self.code = code
        self.inbox.expect_end()
        self.engine.send(Cancel())

    def _code(self, otherwise: int) -> int:
        return otherwise if self.code is None else self.code

    def _record(self, event: AnyEvent) -> None:
        if self.trace is None:
            return
        try:
            self.trace.write(event)
        except EngineError as error:
            self.status.say(f"{error.message} {error.hint}")
            self.code = exit_codes.TRACE_FAILED

    def _show(self, event: AnyEvent) -> None:
        try:
            self.output.show(event)
        except OSError as error:
            # Nobody takes the output any more. End the answer properly, for the trace.
            self.output = _NoOutput()
            take_no_more()
            if isinstance(error, BrokenPipeError):
                self._cancel(exit_codes.BROKEN_PIPE)
            else:
                self.status.say(f"The output cannot be written: {error.strerror}.")
                self._cancel(exit_codes.ENGINE_FAILED)


class _Output(Protocol):
    def show(self, event: AnyEvent) -> None:
        """Put the event on standard output, as far as it belongs there."""


class _NoOutput:
    def show(self, event: AnyEvent) -> None:
        pass


class _JsonOutput:
    """Every event as a JSON line."""

    def show(self, event: AnyEvent) -> None:
        sys.stdout.write(encode_event(event).decode() + "\n")
        sys.stdout.flush()


class _TextOutput:
    """The answer on standard output, thinking and progress on standard error."""

    def __init__(self, options: GenerateOptions, status: _Status) -> None:
        self._status = status
        self._thinking_out = sys.stdout if options.show_thinking else sys.stderr
        self._show_thinking = options.show_thinking or not options.quiet
        self._tags = options.show_thinking
        self._wrong = _wrong(options.decode)
        self._vocabulary = SeenVocabulary()
        self._labels = Labels(self._vocabulary)
        self._stream = TextStream(self._vocabulary)
        self._thought = self._answered = 0
        """Characters of thinking and answer written so far."""
        self._thinking_open = False
        self._findings: list[Finding] = []
        self._at_line_start = True

    def show(self, event: AnyEvent) -> None:
        match event:
            case Loading():
                self._status.loading(event)
            case Loaded():
                self._status.clear()
            case Tokens():
                self._vocabulary.add(event)
            case Prefilled():
                self._stream = TextStream(
                    self._vocabulary, stop=event.settings.stop, in_thinking=begins_in_thinking(event)
                )
                self._push([event.first_id])
            case Round():
                self._push(event.committed_ids)
            case Finished():
                self._write_thinking(event.thinking_text)
                self._write_answer(event.text)
                self._end_line()
                self._status.summary(event, self._wrong)
                self._status.findings(self._findings)
            case Finding():
                self._findings.append(event)
            case Checking():
                self._status.show(f"{event.stage}: {event.done} of {event.total} ...")
            case Checked():
                self._status.clear()
                self._status.checked(event, self._labels)
            case Failed():
                self._end_line()
                self._status.findings(self._findings)

    def _push(self, ids: list[int]) -> None:
        for token_id in ids:
            if self._stream.stopped is None:
                self._stream.push(token_id)
        self._write_thinking(self._stream.thinking_text)
        self._write_answer(self._stream.text[: self._stream.settled])

    def _write_thinking(self, text: str) -> None:
        new = text[self._thought :]
        if not new or not self._show_thinking:
            return
        self._thought = len(text)
        if self._tags and not self._thinking_open:
            new = f"{THINK_OPEN}\n{new}"
        self._thinking_open = True
        _write(self._thinking_out, new, dim=True)

    def _write_answer(self, text: str) -> None:
        new = text[self._answered :]
        if not new:
            return
        self._answered = len(text)
        self._close_thinking()
        self._at_line_start = new.endswith("\n")
        _write(sys.stdout, new)

    def _close_thinking(self) -> None:
        if self._thinking_open:
            self._thinking_open = False
            _write(self._thinking_out, f"\n{THINK_CLOSE}\n\n" if self._tags else "\n\n")

    def _end_line(self) -> None:
        self._close_thinking()
        if not self._at_line_start:
            self._at_line_start = True
            _write(sys.stdout, "\n")


class _Status(StatusLine):
    """With the answer's numbers at its end."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self._quiet = quiet

    def summary(self, event: Finished, wrong: list[str]) -> None:
        if self._quiet:
            return
        parts = [
            event.reason,
            finished_text(event),
            f"acceptance length {event.mean_acceptance_length:.2f}",
            f"{event.tokens_per_second:.1f} tokens/s",
            f"first token after {event.ttft_s:.2f} s",
        ]
        parts += wrong
        self.write(f"[{', '.join(parts)}]\n")

    def findings(self, findings: Sequence[Finding]) -> None:
        """What detectors noticed, a line each."""
        for finding in findings:
            if not self._quiet or finding.severity == "defect":
                self.write(f"[{escape(told(finding))}]\n")

    def checked(self, event: Checked, labels: Labels) -> None:
        """The oracle's verdict; with a defect the numbers too."""
        if self._quiet and event.verdict != "defect":
            return
        rows = [headline(event)]
        if event.verdict == "defect":
            rows += details(event, lambda token_id: labels(token_id)[0])
        self.write("".join(f"[{row}]\n" for row in rows))


def _wrong(settings: DecodeSettings) -> list[str]:
    """What is wrong on purpose."""
    naive = ["naive verification: wrong on hybrid targets"] if settings.verify == "naive" else []
    return naive + ([f"FAULT PLANTED: {', '.join(settings.inject)}"] if settings.inject else [])


def _write(out: TextIO, text: str, *, dim: bool = False) -> None:
    """Write model text: as it is into files and pipes, made harmless for a terminal."""
    if out.isatty():
        text = _UNSAFE.sub(lambda found: escape(found[0]), text)
        text = f"{_DIM}{text}{_PLAIN}" if dim else text
    out.write(text)
    out.flush()

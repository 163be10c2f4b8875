"""What the command line hands to the app. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ddtree_tui.attach.options import AttachOptions
from ddtree_tui.config import Config
from ddtree_tui.export.formats import Format
from ddtree_tui.statistics.scope import Scope
from engine.settings import DecodeSettings, LoadSettings, Message


@dataclass(frozen=True)
class AppOptions:
    """How the app is to start.

    Attributes:
        load: which pair to load, and where; unused with ``replay``.
        decode: the settings the first answer starts with; the app's knobs change copies of it.
        replay: a recorded run to show instead of loading a pair.
        attach: a server to watch and use instead of loading a pair.
        trace: a file to record every event into, or None.
        prompt: sent as soon as the pair is ready, or None to wait for the user.
        system: message in front of every conversation, or None.
        debug: show tracebacks and raise the log's level.
        log_path: the file the engine's and the app's details go to; its folder exists.
        record: keep every run in the state folder.
        config: what the configuration file and the environment say, and the command line over them.
        config_path: the file it is from.
        problems: what in the configuration will not do, a sentence each; told once the screen is there.
    """

    load: LoadSettings
    decode: DecodeSettings
    replay: Path | None
    trace: Path | None
    prompt: str | None
    debug: bool
    log_path: Path
    system: str | None = None
    attach: AttachOptions | None = None
    record: bool = False
    config: Config = field(default_factory=Config)
    config_path: Path | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class GenerateOptions:
    """What ``ddtree-tui generate`` is to do.

    Attributes:
        load: which pair to load, and where.
        decode: how to decode.
        messages: the conversation to answer.
        trace: a file to record every event into, or None.
        json: write the events to standard output instead of the text.
        show_thinking: write the thinking to standard output, in its tags, instead of standard error.
        quiet: nothing on standard error but warnings and errors.
        debug: as in ``AppOptions``.
        log_path: as in ``AppOptions``.
    """

    load: LoadSettings
    decode: DecodeSettings
    messages: list[Message]
    trace: Path | None
    json: bool
    show_thinking: bool
    quiet: bool
    debug: bool
    log_path: Path


@dataclass(frozen=True)
class RaceOptions:
    """What ``ddtree-tui race`` is to do.

    Attributes:
        load: which pair to load, and where.
        lanes: the ways to decode.
        messages: the conversation to answer.
        json: write one JSON object instead of the table.
        trace: a file to record every event into, or None.
        debug: as in ``AppOptions``.
        log_path: as in ``AppOptions``.
    """

    load: LoadSettings
    lanes: list[DecodeSettings]
    messages: list[Message]
    json: bool
    debug: bool
    log_path: Path
    trace: Path | None = None


@dataclass(frozen=True)
class ExportOptions:
    """What ``ddtree-tui export`` is to do.

    Attributes:
        trace: a recorded run: a plain trace or a recording.
        format: what to make of it.
        number: for a format of one round, which, as the app numbers them: from 1 through the whole file. Else
            which answer, from 1; None is the last.
        output: a new file; None is standard output.
    """

    trace: Path
    format: Format
    number: int | None
    output: Path | None


@dataclass(frozen=True)
class StatsOptions:
    """What ``ddtree-tui stats`` is to print.

    Attributes:
        trace: a recorded run: a plain trace or a recording.
        scope: which of its rounds count; ``answer`` is the last one.
        json: one JSON object instead of tables.
        ascii: tables of ASCII alone.
    """

    trace: Path
    scope: Scope
    json: bool
    ascii: bool = False


@dataclass(frozen=True)
class ImportOptions:
    """What ``ddtree-tui import`` is to read.

    Attributes:
        file: what another system wrote.
        source: which system, one of ``importers.sources.SOURCES``.
        out: a new file; None is the file's name with ``.jsonl``, in the current folder; ``-`` is standard
            output.
    """

    file: Path
    source: str
    out: Path | None

"""The command line. Imports nothing heavy before it knows what to do."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ddtree_tui import exit_codes
from ddtree_tui.arguments import build_parser
from ddtree_tui.attach.arguments import attach_options
from ddtree_tui.bench.arguments import bench_options
from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.check.options import CheckOptions
from ddtree_tui.config import Config, with_looks
from ddtree_tui.config_command import ConfigOptions, run_config
from ddtree_tui.config_file import read_config
from ddtree_tui.doctor.options import DEFAULT_TOKENS, DoctorOptions
from ddtree_tui.engine_process import under_torchrun
from ddtree_tui.export.formats import FORMATS
from ddtree_tui.models import ModelsOptions, run_models
from ddtree_tui.options import (
    AppOptions,
    ExportOptions,
    GenerateOptions,
    ImportOptions,
    RaceOptions,
    StatsOptions,
)
from ddtree_tui.prompt_file import MAX_PROMPT_BYTES, decode_prompt, read_messages, read_prompt_file
from ddtree_tui.race.lanes import read_lanes
from ddtree_tui.server.arguments import serve_options
from ddtree_tui.server.options import ServeOptions
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.torchrun import is_follower, take_part
from ddtree_tui.usage import refuse_unknown_options
from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings, Message

_LOAD_FIELDS = LoadSettings.__struct_fields__
_DECODE_FIELDS = DecodeSettings.__struct_fields__

Options = (
    AppOptions
    | GenerateOptions
    | RaceOptions
    | BenchOptions
    | ModelsOptions
    | ExportOptions
    | ImportOptions
    | StatsOptions
    | DoctorOptions
    | CheckOptions
    | ConfigOptions
    | ServeOptions
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    loading = False
    _prepare_streams()
    try:
        options = parse(arguments)
        if isinstance(options, GenerateOptions):
            from ddtree_tui.headless import run_generate

            return run_generate(take_part(options))
        if isinstance(options, BenchOptions):
            from ddtree_tui.bench.command import run_bench

            return run_bench(take_part(options))
        if isinstance(options, RaceOptions):
            from ddtree_tui.race.command import run_race

            return run_race(options)
        if isinstance(options, ServeOptions):
            return _serve(options)
        if isinstance(options, ExportOptions):
            from ddtree_tui.export.command import run_export

            return run_export(options)
        if isinstance(options, ImportOptions):
            from ddtree_tui.importers.command import run_import

            return run_import(options)
        if isinstance(options, StatsOptions):
            from ddtree_tui.statistics.command import run_stats

            return run_stats(options)
        if isinstance(options, DoctorOptions):
            from ddtree_tui.doctor.command import run_doctor

            return run_doctor(options)
        if isinstance(options, CheckOptions):
            from ddtree_tui.check.command import run_check

            return run_check(options)
        if isinstance(options, ModelsOptions):
            loading = True  # what can be wrong here is what would be wrong then
            return run_models(options)
        if isinstance(options, ConfigOptions):
            return run_config(options)
        return _run_app(options)
    except EngineError as error:
        if debug:
            traceback.print_exc()
        if not is_follower():
            from ddtree_tui.escape import escape

            told = f"ddtree-tui: {error.message} {error.hint}".rstrip()
            print(escape(told, keep_newlines=True), file=sys.stderr)
        return exit_codes.exit_code(error.kind, loading=loading)
    except KeyboardInterrupt:
        return exit_codes.interrupted(2)
    except BrokenPipeError:
        return exit_codes.BROKEN_PIPE


def parse(argv: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        EngineError: ``usage``, ``bad_setting``, ``empty_prompt``, ``prompt_file``, ``trace_read``,
            ``bad_trace``, ``trace_version``.
        SystemExit: after ``--help`` and ``--version``.
    """
    parser = build_parser()
    refuse_unknown_options(argv, parser)
    given = vars(parser.parse_args(argv))
    if given["command"] == "models":
        return ModelsOptions(given.get("model"), given.get("drafter"))
    if given["command"] == "export":
        return _export_options(given)
    if given["command"] == "import":
        return ImportOptions(given["file"], given.get("source", "auto"), given.get("out"))
    if given["command"] == "stats":
        scope = Scope(given.get("scope", Scope.ALL.value))
        return StatsOptions(given["file"], scope, given.get("json", False), given.get("ascii", False))
    if given["command"] == "config":
        return ConfigOptions(given.get("print", False), given.get("path", False))
    for_app = given["command"] in (None, "replay", "attach")
    read = read_config() if for_app else None
    config = read.config if read else Config()
    load = config.load_settings() if for_app else LoadSettings()
    load = replace(load, **{name: given[name] for name in _LOAD_FIELDS if name in given})
    load.check()
    given |= {name: tuple(given[name]) for name in ("stop", "inject") if name in given}
    if given["command"] == "bench":
        return bench_options(given, load, _common_options(given), argv)
    decode = config.decode_settings() if for_app else DecodeSettings()
    decode = replace(decode, **{name: given[name] for name in _DECODE_FIELDS if name in given})
    decode.check()
    if given["command"] == "doctor":
        return _doctor_options(given, load, decode)
    if given["command"] == "check":
        return _check_options(given, load, decode)
    if given["command"] == "race":
        return _race_options(given, load, decode)
    common = _common_options(given)
    if given["command"] == "serve":
        return serve_options(given, load, decode, log_path=common["log_path"], debug=common["debug"])
    if given["command"] == "generate":
        return GenerateOptions(
            load=load,
            decode=decode,
            messages=_messages(given),
            json=given.get("json", False),
            show_thinking=given.get("show_thinking", False),
            quiet=given.get("quiet", False),
            **common,
        )
    replay: Path | None = given.get("file")
    if replay is not None:
        from engine.trace import check_trace

        check_trace(replay)
    return AppOptions(
        load=load,
        decode=decode,
        replay=replay,
        prompt=_prompt(given),
        system=_system(given),
        attach=attach_options(given) if given["command"] == "attach" else None,
        record=config.recordings.enabled and not given.get("no_record", False),
        config=with_looks(config, given),
        config_path=read.path if read else None,
        problems=read.problems if read else (),
        **common,
    )


def _common_options(given: dict[str, Any]) -> dict[str, Any]:
    from ddtree_tui.log_file import checked_log_path, new_log_path

    log: Path | None = given.get("log")
    return {
        "trace": given.get("trace"),
        "debug": given.get("debug", False),
        "log_path": new_log_path() if log is None else checked_log_path(log),
    }


def _race_options(given: dict[str, Any], load: LoadSettings, decode: DecodeSettings) -> RaceOptions:
    if under_torchrun() or (load.tp or 1) > 1:
        raise EngineError(
            "usage",
            "A race needs the target in one process.",
            "Leave --tp and torchrun away.",
        )
    lanes = read_lanes(given.get("lanes", "modes"), decode)
    common = _common_options(given)
    return RaceOptions(
        load=load, lanes=lanes, messages=_messages(given), json=given.get("json", False), **common
    )


def _doctor_options(given: dict[str, Any], load: LoadSettings, decode: DecodeSettings) -> DoctorOptions:
    trace = Path(given["file"]) if "file" in given else None
    asked = {"prompt", "prompt_file"} & given.keys()
    if trace is not None and asked:
        raise EngineError("usage", "There are a recorded run and a prompt.", "Give one of them.")
    if not asked and {"system", "system_file"} & given.keys():
        raise EngineError("usage", "There is a system message and no prompt.", "Add --prompt TEXT.")
    if under_torchrun() or (load.tp or 1) > 1:
        raise EngineError(
            "usage", "The doctor needs the target in one process.", "Leave --tp and torchrun away."
        )
    if "max_new_tokens" not in given:
        decode = replace(decode, max_new_tokens=DEFAULT_TOKENS)
    common = _common_options(given)
    return DoctorOptions(
        load=load,
        decode=decode,
        log_path=common["log_path"],
        chosen=bool({"model", "drafter"} & given.keys()),
        messages=_messages(given) if asked else None,
        trace=trace,
        until=given.get("until", "answers"),
        report=given.get("report"),
        with_text=given.get("with_text", False),
        json=given.get("json", False),
        list_faults=given.get("list_faults", False),
        debug=common["debug"],
    )


def _check_options(given: dict[str, Any], load: LoadSettings, decode: DecodeSettings) -> CheckOptions:
    run = Path(given["file"]) if "file" in given else None
    asked = {"prompt", "prompt_file", "messages"} & given.keys()
    if run is not None and asked:
        raise EngineError("usage", "There are a recorded run and a prompt.", "Give one of them.")
    if run is None and not asked:
        raise EngineError("usage", "There is nothing to check.", "Give a recorded run, or --prompt TEXT.")
    if under_torchrun() or (load.tp or 1) > 1:
        raise EngineError(
            "usage", "A check needs the target in one process.", "Leave --tp and torchrun away."
        )
    common = _common_options(given)
    return CheckOptions(
        load=load,
        decode=decode,
        log_path=common["log_path"],
        chosen=bool({"model", "drafter"} & given.keys()),
        messages=_messages(given) if asked else None,
        run=run,
        sequential=given.get("sequential", False),
        json=given.get("json", False),
        debug=common["debug"],
    )


def _export_options(given: dict[str, Any]) -> ExportOptions:
    kind = next(kind for kind in FORMATS if kind.name in given)
    number = given[kind.name] if kind.of_round else given.get("answer")
    return ExportOptions(given["file"], kind, number, given.get("output"))


def _prompt(given: dict[str, Any]) -> str | None:
    prompt: str | None = given.get("prompt")
    file: Path | None = given.get("prompt_file")
    if prompt is not None and file is not None:
        raise EngineError(
            "usage", "There are two prompts.", "Give either the prompt or --prompt-file, not both."
        )
    return prompt if file is None else read_prompt_file(file)


def _system(given: dict[str, Any]) -> str | None:
    system: str | None = given.get("system")
    file: Path | None = given.get("system_file")
    if system is not None and file is not None:
        raise EngineError(
            "usage", "There are two system messages.", "Give --system or --system-file, not both."
        )
    return system if file is None else read_prompt_file(file)


def _messages(given: dict[str, Any]) -> list[Message]:
    conversation: Path | None = given.get("messages")
    if conversation is not None:
        if {"prompt", "prompt_file", "system", "system_file"} & given.keys():
            raise EngineError("usage", "There are two prompts.", "Give --messages alone; it has all of them.")
        return read_messages(conversation)
    prompt = _prompt(given)
    if prompt == "-":
        if sys.stdin.isatty():
            print("Reading the prompt from the terminal; end it with Ctrl-D.", file=sys.stderr)
        prompt = decode_prompt(sys.stdin.buffer.read(MAX_PROMPT_BYTES + 1), "Standard input")
    if prompt is None:
        raise EngineError("usage", "There is no prompt.", 'Write: ddtree-tui generate "PROMPT"')
    if not prompt.strip():
        raise EngineError("empty_prompt", "The prompt is empty.", "Type a question or a task.")
    system = _system(given)
    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    return [*messages, {"role": "user", "content": prompt}]


def _serve(options: ServeOptions) -> int:
    if under_torchrun():
        raise EngineError(
            "usage",
            "The server cannot run under torchrun.",
            "Start it by itself, and it starts the processes: ddtree-tui serve --tp N",
        )
    try:
        from ddtree_tui.server.command import run_serve
    except ModuleNotFoundError as error:
        raise EngineError(
            "usage",
            f"The server needs the package {error.name}, which is not installed.",
            "Install it with: pip install 'ddtree-tui[server]'",
        ) from error
    return run_serve(options)


def _run_app(options: AppOptions) -> int:
    if under_torchrun():
        raise EngineError(
            "usage",
            "The app cannot run under torchrun.",
            "Start it by itself, and it starts the processes: ddtree-tui --tp N",
        )
    from ddtree_tui.app import run_app

    if options.config.looks.plain_log:
        return run_app(options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise EngineError(
            "no_terminal",
            "The app needs a terminal for its input and output.",
            'Run it in one, or write: ddtree-tui generate "PROMPT"',
        )
    from ddtree_tui.hangup import end_with_terminal

    end_with_terminal()
    return run_app(options)


def _prepare_streams() -> None:
    """Model text is UTF-8 whatever the locale says, and no missing stream or character ends a run."""
    # None: started with it closed.
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if isinstance(sys.stdin, io.TextIOWrapper):
        with contextlib.suppress(ValueError, OSError):
            sys.stdin.reconfigure(errors="replace")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                if stream.isatty():
                    stream.reconfigure(errors="replace")
                else:
                    stream.reconfigure(encoding="utf-8", errors="backslashreplace")

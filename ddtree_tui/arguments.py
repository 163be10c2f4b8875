"""The options of the command line, and what is said about wrong ones."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ddtree_tui import __version__, exit_codes
from ddtree_tui.bench.arguments import BENCH_DESCRIPTION, add_bench_options
from ddtree_tui.check.options import CHECK_DESCRIPTION, add_check_options
from ddtree_tui.config import THEME_NAMES
from ddtree_tui.doctor.options import DOCTOR_DESCRIPTION, add_doctor_options
from ddtree_tui.export.formats import FORMATS
from ddtree_tui.importers.arguments import IMPORT_DESCRIPTION, add_import_options
from ddtree_tui.option_types import add, choice, choices, device, number, whole
from ddtree_tui.race.lanes import PRESETS as RACE_PRESETS
from ddtree_tui.server.arguments import DESCRIPTION, add_serve_options
from ddtree_tui.standard_output import put
from ddtree_tui.statistics.scope import Scope
from engine.errors import EngineError
from engine.presets import PRESETS
from engine.settings import (
    DEVICE_MAPS,
    DTYPES,
    MAX_BUDGET,
    MODES,
    ORACLES,
    QUANTIZATIONS,
    VERIFY_BACKENDS,
    DecodeSettings,
    LoadSettings,
)

SCOPES = tuple(scope.value for scope in Scope)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all options. Values not given are absent, so that both sides of a command count."""
    looks: dict[str, Any] = {
        "epilog": _epilog(),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = _Parser(
        prog="ddtree-tui",
        usage="%(prog)s [options]\n       %(prog)s generate PROMPT [options]\n"
        "       %(prog)s race PROMPT [options]\n       %(prog)s serve [options]\n"
        "       %(prog)s replay FILE\n"
        "       %(prog)s export FILE --html [-o FILE]\n       %(prog)s stats FILE [--json]\n"
        "       %(prog)s import FILE [--out FILE]\n"
        "       %(prog)s bench [FILE ...] [options]\n       %(prog)s doctor [FILE] [options]\n"
        "       %(prog)s check [FILE] [options]\n"
        "       %(prog)s models [--model NAME]\n"
        "       %(prog)s config [--print | --path]",
        description="Decode with draft trees and watch every round. Without a command, opens the app.",
        **looks,
    )
    parser.set_defaults(command=None)
    parser.add_argument("--version", action="version", version=f"ddtree-tui {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=_Parser, prog="ddtree-tui"
    )
    add(parser, "--prompt", metavar="TEXT", help="send this as soon as the models are loaded")
    _add_messages(parser)
    add(parser, "--no-record", action="store_true", help="do not keep the runs in the state folder")
    _add_shared(parser)
    _add_looks(parser)

    generate = commands.add_parser(
        "generate",
        help="answer one prompt without the app",
        usage='%(prog)s "PROMPT" [options]',
        description="Answer one prompt: the answer on standard output, the rest on standard error.",
        **looks,
    )
    generate.set_defaults(command="generate")
    _add_prompt(generate)
    add(
        generate,
        "--messages",
        type=Path,
        metavar="FILE",
        help="a whole conversation instead: a JSON list of objects with role and content",
    )
    output = generate.add_argument_group("output")
    add(output, "--json", action="store_true", help="write the events as JSON lines, and nothing else")
    add(output, "--show-thinking", action="store_true", help="write the thinking to standard output too")
    add(output, "--quiet", action="store_true", help="nothing on standard error but warnings and errors")
    _add_shared(generate)

    race = commands.add_parser(
        "race",
        help="answer one prompt in several ways side by side, and compare them",
        usage='%(prog)s "PROMPT" [--lanes LANES] [options]',
        description="Answer one prompt in several ways, their rounds interleaved on one device: a table of "
        "speed and acceptance, and where texts differ.",
        **looks,
    )
    race.set_defaults(command="race")
    _add_prompt(race)
    add(
        race,
        "--lanes",
        metavar="LANES",
        help="as in ar,chain,tree:64,tree:64+thinking; or "
        + ", ".join(f"{name} ({lanes})" for name, lanes in RACE_PRESETS.items())
        + " (default modes)",
    )
    add(race, "--json", action="store_true", help="write one JSON object instead of the table")
    _add_models(race)
    decoding = race.add_argument_group("decoding")
    _add_budget(decoding)
    _add_verification(decoding)
    _add_thinking(decoding)
    sampling = race.add_argument_group("sampling")
    _add_temperature(sampling)
    _add_sampling(sampling)
    _add_diagnosis(race.add_argument_group("diagnosis"))

    serve = commands.add_parser(
        "serve",
        help="answer OpenAI's HTTP interface",
        usage="%(prog)s [--host NAME] [--port N] [options]",
        description=DESCRIPTION,
        **looks,
    )
    serve.set_defaults(command="serve")
    add_serve_options(serve)
    _add_models(serve)
    decoding = serve.add_argument_group("decoding")
    add(decoding, "--mode", type=choice("mode", MODES), metavar="NAME", help=choices(MODES, "tree"))
    _add_budget(decoding)
    _add_verification(decoding)
    _add_thinking(decoding)
    sampling = serve.add_argument_group("sampling")
    _add_temperature(sampling)
    _add_sampling(sampling)
    diagnosis = serve.add_argument_group("diagnosis")
    _add_faults(diagnosis)
    _add_diagnosis(diagnosis)

    replay = commands.add_parser(
        "replay",
        help="open the app on a recorded run, with no model loaded",
        usage="%(prog)s FILE [options]",
        description="Open the app on a run recorded with --trace. No model is loaded.",
        **looks,
    )
    replay.set_defaults(command="replay")
    replay.add_argument("file", type=Path, metavar="FILE", help="a file that --trace wrote")
    _add_looks(replay)
    _add_diagnosis(replay)

    export = commands.add_parser(
        "export",
        help="make a page, a drawing or a graph of a recorded run",
        usage="%(prog)s FILE (--html | --jsonl | --svg ROUND | --graphml ROUND | --json ROUND) [-o FILE]",
        description="Make something else of a recorded run, or of one round of it. No model is loaded.",
        allow_abbrev=False,
    )
    export.set_defaults(command="export")
    export.add_argument("file", type=Path, metavar="FILE", help="a recorded run")
    kinds = export.add_mutually_exclusive_group(required=True)
    for kind in FORMATS:
        if kind.of_round:
            add(kinds, f"--{kind.name}", type=whole("round", "from 1"), metavar="ROUND", help=kind.help)
        else:
            add(kinds, f"--{kind.name}", action="store_true", help=kind.help)
    add(
        export,
        "--answer",
        type=whole("answer", "from 1"),
        metavar="N",
        help="with --html and --jsonl: which one of a trace of several (default: the last)",
    )
    add(export, "-o", "--output", type=Path, metavar="FILE", help="a new file (default: standard output)")
    add(export, "--debug", action="store_true", help="show tracebacks")

    stats = commands.add_parser(
        "stats",
        help="print what the rounds of a recorded run say about drafter and speed",
        usage="%(prog)s FILE [--scope NAME] [--json]",
        description="Print the numbers of a recorded run: acceptance, speed, the drafter's hits and "
        "calibration, what the last nodes of the budget bought. No model is loaded.",
        allow_abbrev=False,
    )
    stats.set_defaults(command="stats")
    stats.add_argument("file", type=Path, metavar="FILE", help="a recorded run")
    add(
        stats,
        "--scope",
        type=choice("scope", SCOPES),
        metavar="NAME",
        help=choices(SCOPES, Scope.ALL.value) + ": the last answer, all, or since a setting last changed",
    )
    add(stats, "--json", action="store_true", help="write the numbers as JSON")
    add(stats, "--ascii", action="store_true", help="draw with ASCII alone")
    add(stats, "--debug", action="store_true", help="show tracebacks")

    imports = commands.add_parser(
        "import",
        help="make a trace of what another system recorded",
        usage="%(prog)s FILE [--from NAME] [-o FILE]",
        description=IMPORT_DESCRIPTION,
        allow_abbrev=False,
    )
    imports.set_defaults(command="import")
    add_import_options(imports)

    bench = commands.add_parser(
        "bench",
        help="measure acceptance, speed and losslessness of modes and budgets",
        usage="%(prog)s [FILE ...] [options]",
        description=BENCH_DESCRIPTION,
        **looks,
    )
    bench.set_defaults(command="bench")
    add_bench_options(bench)
    _add_models(bench)
    _add_verification(bench.add_argument_group("decoding"))
    _add_sampling(bench.add_argument_group("sampling"))
    _add_diagnosis(bench.add_argument_group("diagnosis"))

    doctor = commands.add_parser(
        "doctor",
        help="say what garbles the text or makes drafting worthless, and what to do",
        usage="%(prog)s [FILE | --prompt TEXT] [--report FILE] [options]",
        description=DOCTOR_DESCRIPTION,
        **looks,
    )
    doctor.set_defaults(command="doctor")
    add_doctor_options(doctor)
    _add_messages(doctor)
    _add_models(doctor)
    decoding = doctor.add_argument_group("decoding")
    add(decoding, "--mode", type=choice("mode", MODES), metavar="NAME", help=choices(MODES, "tree"))
    _add_budget(decoding)
    _add_verification(decoding)
    _add_thinking(decoding)
    sampling = doctor.add_argument_group("sampling")
    _add_temperature(sampling)
    _add_sampling(sampling)
    diagnosis = doctor.add_argument_group("diagnosis")
    add(diagnosis, "--inject", action="append", metavar="NAME", help="plant a fault; see --list-faults")
    _add_diagnosis(diagnosis)

    check = commands.add_parser(
        "check",
        help="say whether an answer is what the target alone writes",
        usage="%(prog)s [FILE | --prompt TEXT] [options]",
        description=CHECK_DESCRIPTION,
        **looks,
    )
    check.set_defaults(command="check")
    add_check_options(check)
    _add_messages(check)
    _add_models(check)
    decoding = check.add_argument_group("decoding")
    add(decoding, "--mode", type=choice("mode", MODES), metavar="NAME", help=choices(MODES, "tree"))
    _add_budget(decoding)
    _add_verification(decoding)
    _add_thinking(decoding)
    sampling = check.add_argument_group("sampling")
    _add_temperature(sampling)
    _add_sampling(sampling)
    diagnosis = check.add_argument_group("diagnosis")
    _add_faults(diagnosis)
    _add_diagnosis(diagnosis)

    models = commands.add_parser(
        "models",
        help="list the presets and the memory they need, or show one pair in detail",
        usage="%(prog)s [--model NAME] [--drafter NAME]",
        description="List the presets and the memory they need. With --model, show one preset or folder in "
        "detail. Nothing is loaded or downloaded.",
        allow_abbrev=False,
    )
    models.set_defaults(command="models")
    add(models, "--model", metavar="NAME", help="preset or folder of the target")
    add(models, "--drafter", metavar="NAME", help="folder of the drafter (default: the preset's own)")
    add(models, "--debug", action="store_true", help="show tracebacks")

    config = commands.add_parser(
        "config",
        help="check the configuration file, say where it is, or print one with all that it can say",
        usage="%(prog)s [--print | --path]",
        description="Check the app's configuration file. Command line and environment come before it.",
        allow_abbrev=False,
    )
    config.set_defaults(command="config")
    what = config.add_mutually_exclusive_group()
    add(what, "--print", action="store_true", help="print a file with every field and what it means")
    add(what, "--path", action="store_true", help="say where the file is, or would be")
    add(config, "--debug", action="store_true", help="show tracebacks")
    return parser


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence, by an exception."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            put(message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        help_hint = f"See {self.prog} --help."
        if found := re.match(r"argument (\S+): expected (one|at least one) argument", message):
            raise EngineError("usage", f"The option {found[1]} needs a value.", help_hint)
        if found := re.search(r"invalid choice: '?(.*?)'? \(choose from", message):
            raise _no_command(found[1])
        if found := re.match(r"unrecognized arguments: (.*)", message):
            raise EngineError(
                "usage",
                f"{self.prog} has no use for {found[1]}.",
                f"Put quotes around a prompt of several words. {help_hint}",
            )
        if "are required: FILE" in message:
            command = self.prog.rpartition(" ")[2]
            kind = "file" if command == "import" else "trace file"
            raise EngineError("usage", f"There is no {kind} named.", f"Write: ddtree-tui {command} FILE")
        if found := re.match(r"one of the arguments (.*) is required", message):
            names = ", ".join(found[1].split())
            raise EngineError("usage", "It is not said what to export.", f"Add one of {names}.")
        if found := re.match(r"argument (\S+): not allowed with argument (\S+)", message):
            raise EngineError(
                "usage", f"The options {found[2]} and {found[1]} exclude each other.", help_hint
            )
        raise EngineError("usage", message[:1].upper() + message[1:] + ".", help_hint)


def _add_messages(group: argparse._ActionsContainer) -> None:
    add(group, "--prompt-file", type=Path, metavar="FILE", help="read the prompt from a file (UTF-8)")
    add(group, "--system", metavar="TEXT", help="system message in front of the conversation")
    add(group, "--system-file", type=Path, metavar="FILE", help="read it from a file (UTF-8)")


def _add_shared(parser: argparse.ArgumentParser) -> None:
    decode = DecodeSettings()
    _add_models(parser)
    decoding = parser.add_argument_group("decoding")
    add(decoding, "--mode", type=choice("mode", MODES), metavar="NAME", help=choices(MODES, decode.mode))
    _add_budget(decoding)
    _add_verification(decoding)
    _add_thinking(decoding)
    sampling = parser.add_argument_group("sampling")
    _add_temperature(sampling)
    _add_sampling(sampling)
    recording = parser.add_argument_group("recording and diagnosis")
    add(recording, "--trace", type=Path, metavar="FILE", help="record all events into a new file")
    add(recording, "--detail", action="store_true", help="record both models' best candidates too")
    add(
        recording,
        "--oracle",
        type=choice("oracle", ORACLES),
        metavar="NAME",
        help=choices(ORACLES, decode.oracle) + ": compare the text with the target alone",
    )
    _add_faults(recording)
    _add_diagnosis(recording)


def _add_prompt(parser: argparse.ArgumentParser) -> None:
    add(
        parser,
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the user's message; - reads it from standard input",
    )
    _add_messages(parser)


def _add_budget(group: argparse._ActionsContainer) -> None:
    add(
        group,
        "--budget",
        type=whole("budget", f"from 1 to {MAX_BUDGET}"),
        metavar="N",
        help=f"most draft nodes a round in mode tree (default {DecodeSettings().budget})",
    )


def _add_thinking(group: argparse._ActionsContainer) -> None:
    add(
        group,
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="have the model think before it answers (default off)",
    )


def _add_temperature(group: argparse._ActionsContainer) -> None:
    add(group, "--temperature", type=number("temperature"), metavar="T", help="0 is greedy (default 0)")


def _add_faults(group: argparse._ActionsContainer) -> None:
    add(group, "--inject", action="append", metavar="NAME", help="plant a fault, to see that it is found")


def _add_looks(parser: argparse.ArgumentParser) -> None:
    looks = parser.add_argument_group("looks")
    add(
        looks,
        "--theme",
        type=choice("theme", THEME_NAMES),
        metavar="NAME",
        help=choices(THEME_NAMES, THEME_NAMES[0]) + "; NO_COLOR in the environment: no colours",
    )
    add(looks, "--ascii", action="store_true", help="draw with ASCII alone")
    add(looks, "--plain-log", action="store_true", help="no screen but a growing text, for screen readers")


def _add_models(parser: argparse.ArgumentParser) -> None:
    load = LoadSettings()
    models = parser.add_argument_group("models")
    add(models, "--model", metavar="NAME", help=f"target: preset, hub id or folder (default {load.model})")
    add(models, "--drafter", metavar="NAME", help="drafter: the same (default: the preset's own)")
    add(models, "--device", type=device, metavar="NAME", help="auto, cpu, cuda or cuda:N (default auto)")
    add(models, "--dtype", type=choice("dtype", DTYPES), metavar="NAME", help=choices(DTYPES, load.dtype))
    add(
        models,
        "--context",
        type=whole("context", "of at least 1"),
        metavar="N",
        help="most tokens of prompt and answer together (default: the target's own, or what fits)",
    )
    add(
        models,
        "--device-map",
        type=choice("device map", DEVICE_MAPS),
        metavar="NAME",
        help="auto: the target's layers on all GPUs, and in main memory where these are too small",
    )
    add(
        models,
        "--tp",
        type=whole("number of processes", "of at least 1"),
        metavar="N",
        help="divide every layer of the target among N GPUs, one process each (default 1)",
    )
    add(
        models,
        "--quantize",
        type=choice("quantisation", QUANTIZATIONS),
        metavar="NAME",
        help="make the target's weights smaller as they are loaded: " + ", ".join(QUANTIZATIONS),
    )


def _add_verification(group: argparse._ActionsContainer) -> None:
    decode = DecodeSettings()
    add(
        group,
        "--verify",
        type=choice("verify", VERIFY_BACKENDS),
        metavar="NAME",
        help=choices(VERIFY_BACKENDS, decode.verify) + "; naive is wrong on hybrid targets, to see it fail",
    )
    add(
        group,
        "--block-size",
        type=whole("block size", "of at least 2"),
        metavar="N",
        help="drafter block, at most what it was trained with (default that)",
    )


def _add_sampling(group: argparse._ActionsContainer) -> None:
    decode = DecodeSettings()
    add(group, "--top-p", type=number("top-p"), metavar="P", help="smallest set of that probability")
    add(
        group,
        "--top-k",
        type=whole("top-k", "from 0"),
        metavar="K",
        help="only the K likeliest; 0 is off",
    )
    add(group, "--min-p", type=number("min-p"), metavar="P", help="only what has P of the likeliest's")
    add(
        group,
        "--seed",
        type=whole("seed", "from 0 to 2^63 - 1"),
        metavar="N",
        help="of the sampling (default 0)",
    )
    add(
        group,
        "--max-new-tokens",
        type=whole("max-new-tokens", "of at least 1"),
        metavar="N",
        help=f"end the answer there (default {decode.max_new_tokens})",
    )
    add(
        group,
        "--stop",
        action="append",
        metavar="TEXT",
        help="end the answer before TEXT; may be repeated",
    )


def _add_diagnosis(group: argparse._ActionsContainer) -> None:
    add(group, "--log", type=Path, metavar="FILE", help="log file (default: a new one in the log folder)")
    add(group, "--debug", action="store_true", help="show tracebacks and log more")


def _epilog() -> str:
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exit_codes.MEANINGS.items())
    names = max(map(len, PRESETS))
    presets = "\n".join(f"  {name:<{names}}  {preset.note}" for name, preset in PRESETS.items())
    return f"presets for --model:\n{presets}\n\nexit codes:\n{codes}"


COMMANDS = (
    "generate",
    "race",
    "serve",
    "replay",
    "export",
    "stats",
    "import",
    "bench",
    "doctor",
    "check",
    "models",
    "config",
)


def _no_command(name: str) -> EngineError:
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    if close:
        return EngineError("usage", f"There is no command {name!r}.", f"Did you mean {close[0]}?")
    return EngineError(
        "usage",
        f"There is no command {name!r}; there are {', '.join(COMMANDS[:-1])} and {COMMANDS[-1]}.",
        'To answer a prompt, write: ddtree-tui generate "PROMPT"',
    )


def refuse_unknown_options(argv: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """Name a mistyped option before argparse takes its value for a command."""
    known = set(option_names(parser))
    for argument in argv:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if argument.startswith("--") and name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"Did you mean {close[0]}?" if close else "See ddtree-tui --help."
            raise EngineError("usage", f"There is no option {name}.", hint)


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    """All options of a parser and of its commands."""
    names: list[str] = []
    for action in parser._actions:
        names += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                names += option_names(command)
    return names

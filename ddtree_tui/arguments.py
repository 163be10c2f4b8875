"""The commands of the command line and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ddtree_tui import __version__
from ddtree_tui.attach.arguments import DESCRIPTION as ATTACH_DESCRIPTION
from ddtree_tui.attach.arguments import add_attach_options
from ddtree_tui.bench.arguments import BENCH_DESCRIPTION, add_bench_options
from ddtree_tui.check.options import CHECK_DESCRIPTION, add_check_options
from ddtree_tui.doctor.options import DOCTOR_DESCRIPTION, add_doctor_options
from ddtree_tui.export.formats import FORMATS
from ddtree_tui.importers.arguments import IMPORT_DESCRIPTION, add_import_options
from ddtree_tui.option_groups import (
    add_budget,
    add_decoding,
    add_diagnosis,
    add_faults,
    add_looks,
    add_messages,
    add_mode,
    add_models,
    add_prompt,
    add_sampling,
    add_shared,
    add_temperature,
    add_thinking,
    add_trace,
    add_verification,
)
from ddtree_tui.option_types import add, choice, choices, whole
from ddtree_tui.race.lanes import PRESETS as RACE_PRESETS
from ddtree_tui.server.arguments import DESCRIPTION, add_serve_options
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.usage import Parser, epilog

SCOPES = tuple(scope.value for scope in Scope)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all options. Values not given are absent, so that both sides of a command count."""
    looks: dict[str, Any] = {
        "epilog": epilog(),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = Parser(
        prog="ddtree-tui",
        usage="%(prog)s [options]\n       %(prog)s generate PROMPT [options]\n"
        "       %(prog)s race PROMPT [options]\n       %(prog)s serve [options]\n"
        "       %(prog)s attach URL [options]\n       %(prog)s replay FILE\n"
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
        title="commands", metavar="COMMAND", parser_class=Parser, prog="ddtree-tui"
    )
    add(parser, "--prompt", metavar="TEXT", help="send this as soon as the models are loaded")
    add_messages(parser)
    add(parser, "--no-record", action="store_true", help="do not keep the runs in the state folder")
    add_shared(parser)
    add_looks(parser)

    generate = commands.add_parser(
        "generate",
        help="answer one prompt without the app",
        usage='%(prog)s "PROMPT" [options]',
        description="Answer one prompt: the answer on standard output, the rest on standard error.",
        **looks,
    )
    generate.set_defaults(command="generate")
    add_prompt(generate)
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
    add_shared(generate)

    race = commands.add_parser(
        "race",
        help="answer one prompt in several ways side by side, and compare them",
        usage='%(prog)s "PROMPT" [--lanes LANES] [options]',
        description="Answer one prompt in several ways, their rounds interleaved on one device: a table of "
        "speed and acceptance, and where texts differ.",
        **looks,
    )
    race.set_defaults(command="race")
    add_prompt(race)
    add(
        race,
        "--lanes",
        metavar="LANES",
        help="as in ar,chain,tree:64,tree:auto,tree:64+thinking; or "
        + ", ".join(f"{name} ({lanes})" for name, lanes in RACE_PRESETS.items())
        + " (default modes)",
    )
    add(race, "--json", action="store_true", help="write one JSON object instead of the table")
    add_trace(race)
    add_models(race, divided=False)
    decoding = race.add_argument_group("decoding")
    add_budget(decoding)
    add_verification(decoding)
    add_thinking(decoding)
    sampling = race.add_argument_group("sampling")
    add_temperature(sampling)
    add_sampling(sampling)
    add_diagnosis(race.add_argument_group("diagnosis"))

    serve = commands.add_parser(
        "serve",
        help="answer OpenAI's HTTP interface",
        usage="%(prog)s [--host NAME] [--port N] [options]",
        description=DESCRIPTION,
        **looks,
    )
    serve.set_defaults(command="serve")
    add_serve_options(serve)
    add_models(serve)
    add_decoding(serve)
    diagnosis = serve.add_argument_group("diagnosis")
    add_faults(diagnosis)
    add_diagnosis(diagnosis)

    attach = commands.add_parser(
        "attach",
        help="open the app on a server, with no model loaded",
        usage="%(prog)s URL [--api-key KEY] [--request ID] [options]",
        description=ATTACH_DESCRIPTION,
        **(looks | {"epilog": epilog(presets=False)}),
    )
    attach.set_defaults(command="attach")
    add_attach_options(attach)
    add(attach, "--prompt", metavar="TEXT", help="send this at once")
    add_messages(attach)
    decoding = attach.add_argument_group("decoding of what is sent")
    add_mode(decoding)
    add_budget(decoding)
    add_thinking(decoding)
    sampling = attach.add_argument_group("sampling")
    add_temperature(sampling)
    add_sampling(sampling)
    recording = attach.add_argument_group("recording and diagnosis")
    add(recording, "--no-record", action="store_true", help="do not keep the runs in the state folder")
    add(recording, "--trace", type=Path, metavar="FILE", help="record all events into a new file")
    add_diagnosis(recording)
    add_looks(attach)

    replay = commands.add_parser(
        "replay",
        help="open the app on a recorded run, with no model loaded",
        usage="%(prog)s FILE [options]",
        description="Open the app on a recorded run or race. No model is loaded.",
        **(looks | {"epilog": epilog(presets=False)}),
    )
    replay.set_defaults(command="replay")
    replay.add_argument("file", type=Path, metavar="FILE", help="what --trace, the app or import wrote")
    add_looks(replay)
    add_diagnosis(replay)

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
    add_models(bench)
    add_verification(bench.add_argument_group("decoding"))
    add_sampling(bench.add_argument_group("sampling"))
    add_diagnosis(bench.add_argument_group("diagnosis"))

    doctor = commands.add_parser(
        "doctor",
        help="say what garbles the text or makes drafting worthless, and what to do",
        usage="%(prog)s [FILE | --prompt TEXT] [--report FILE] [options]",
        description=DOCTOR_DESCRIPTION,
        **looks,
    )
    doctor.set_defaults(command="doctor")
    add_doctor_options(doctor)
    add_messages(doctor)
    add_models(doctor, divided=False)
    add_decoding(doctor)
    diagnosis = doctor.add_argument_group("diagnosis")
    add(diagnosis, "--inject", action="append", metavar="NAME", help="plant a fault; see --list-faults")
    add_diagnosis(diagnosis)

    check = commands.add_parser(
        "check",
        help="say whether an answer is what the target alone writes",
        usage="%(prog)s [FILE | --prompt TEXT] [options]",
        description=CHECK_DESCRIPTION,
        **looks,
    )
    check.set_defaults(command="check")
    add_check_options(check)
    add_messages(check)
    add_models(check, divided=False)
    add_decoding(check)
    diagnosis = check.add_argument_group("diagnosis")
    add_faults(diagnosis)
    add_diagnosis(diagnosis)

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

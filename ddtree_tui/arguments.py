"""The options of the command line, and what is said about wrong ones."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ddtree_tui import __version__, exit_codes
from engine.errors import EngineError
from engine.presets import PRESETS
from engine.settings import DTYPES, MAX_BUDGET, MODES, VERIFY_BACKENDS, DecodeSettings, LoadSettings

_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all options. Values not given are absent, so that both sides of a command count."""
    parser = _Parser(
        prog="ddtree-tui",
        usage="%(prog)s [options]\n       %(prog)s generate PROMPT [options]\n       %(prog)s replay FILE",
        description="Decode with draft trees and watch every round. Without a command, opens the app.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=None)
    parser.add_argument("--version", action="version", version=f"ddtree-tui {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add(parser, "--prompt", metavar="TEXT", help="send this as soon as the models are loaded")
    _add_shared(parser)

    generate = commands.add_parser(
        "generate",
        help="answer one prompt without the app",
        usage='%(prog)s "PROMPT" [options]',
        description="Answer one prompt: the answer on standard output, the rest on standard error.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    generate.set_defaults(command="generate")
    _add(
        generate,
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the user's message; - reads it from standard input",
    )
    _add(generate, "--prompt-file", type=Path, metavar="FILE", help="read the prompt from a file (UTF-8)")
    _add(generate, "--system", metavar="TEXT", help="system message in front of the prompt")
    output = generate.add_argument_group("output")
    _add(output, "--json", action="store_true", help="write the events as JSON lines, and nothing else")
    _add(output, "--show-thinking", action="store_true", help="write the thinking to standard output too")
    _add(output, "--quiet", action="store_true", help="nothing on standard error but warnings and errors")
    _add_shared(generate)

    replay = commands.add_parser(
        "replay",
        help="open the app on a recorded run, with no model loaded",
        usage="%(prog)s FILE [options]",
        description="Open the app on a run recorded with --trace. No model is loaded.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    replay.set_defaults(command="replay")
    replay.add_argument("file", type=Path, metavar="FILE", help="a file that --trace wrote")
    _add_diagnosis(replay)
    return parser


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence, by an exception."""

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
            raise EngineError("usage", "There is no trace file named.", "Write: ddtree-tui replay FILE")
        raise EngineError("usage", message[:1].upper() + message[1:] + ".", help_hint)


def _add(group: argparse._ActionsContainer, *names: str, **keywords: Any) -> None:
    group.add_argument(*names, default=argparse.SUPPRESS, **keywords)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    load, decode = LoadSettings(), DecodeSettings()
    models = parser.add_argument_group("models")
    _add(models, "--model", metavar="NAME", help=f"target: preset, hub id or folder (default {load.model})")
    _add(models, "--drafter", metavar="NAME", help="drafter: the same (default: the preset's own)")
    _add(models, "--device", type=_device, metavar="NAME", help="auto, cpu, cuda or cuda:N (default auto)")
    _add(models, "--dtype", type=_choice("dtype", DTYPES), metavar="NAME", help=_choices(DTYPES, load.dtype))

    decoding = parser.add_argument_group("decoding")
    _add(decoding, "--mode", type=_choice("mode", MODES), metavar="NAME", help=_choices(MODES, decode.mode))
    _add(
        decoding,
        "--budget",
        type=_whole("budget", f"from 1 to {MAX_BUDGET}"),
        metavar="N",
        help=f"most draft nodes a round in mode tree (default {decode.budget})",
    )
    _add(
        decoding,
        "--verify",
        type=_choice("verify", VERIFY_BACKENDS),
        metavar="NAME",
        help=_choices(VERIFY_BACKENDS, decode.verify) + "; naive is wrong on hybrid targets, to see it fail",
    )
    _add(
        decoding,
        "--block-size",
        type=_whole("block size", "of at least 2"),
        metavar="N",
        help="drafter block, at most what it was trained with (default that)",
    )
    _add(
        decoding,
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="have the model think before it answers (default off)",
    )
    sampling = parser.add_argument_group("sampling")
    _add(sampling, "--temperature", type=_number("temperature"), metavar="T", help="0 is greedy (default 0)")
    _add(sampling, "--top-p", type=_number("top-p"), metavar="P", help="smallest set of that probability")
    _add(
        sampling,
        "--top-k",
        type=_whole("top-k", "from 0"),
        metavar="K",
        help="only the K likeliest; 0 is off",
    )
    _add(sampling, "--min-p", type=_number("min-p"), metavar="P", help="only what has P of the likeliest's")
    _add(sampling, "--seed", type=_whole("seed", "from 0"), metavar="N", help="of the sampling (default 0)")
    _add(
        sampling,
        "--max-new-tokens",
        type=_whole("max-new-tokens", "of at least 1"),
        metavar="N",
        help=f"end the answer there (default {decode.max_new_tokens})",
    )
    _add(
        sampling,
        "--stop",
        action="append",
        metavar="TEXT",
        help="end the answer before TEXT; may be repeated",
    )

    recording = parser.add_argument_group("recording and diagnosis")
    _add(recording, "--trace", type=Path, metavar="FILE", help="record all events into a new file")
    _add(recording, "--detail", action="store_true", help="record both models' best candidates too")
    _add_diagnosis(recording)


def _add_diagnosis(group: argparse._ActionsContainer) -> None:
    _add(group, "--log", type=Path, metavar="FILE", help="log file (default: a new one in the log folder)")
    _add(group, "--debug", action="store_true", help="show tracebacks and log more")


def _epilog() -> str:
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exit_codes.MEANINGS.items())
    presets = "\n".join(f"  {preset.name:<12} {preset.note}" for preset in PRESETS.values())
    return f"presets for --model:\n{presets}\n\nexit codes:\n{codes}"


def _choices(names: Sequence[str], default: str) -> str:
    return f"{', '.join(names)} (default {default})"


def _choice(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value in choices:
            return value
        raise EngineError(
            "bad_setting",
            f"The {name} cannot be {value!r}.",
            f"Choose one of {', '.join(choices)}{_did_you_mean(value, choices)}",
        )

    return read


def _whole(name: str, wanted: str) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", value):
            raise EngineError(
                "bad_setting", f"The {name} cannot be {value!r}.", f"Choose a whole number {wanted}."
            )
        return int(value)

    return read


def _number(name: str) -> Callable[[str], float]:
    def read(value: str) -> float:
        try:
            return float(value)
        except ValueError:
            raise EngineError(
                "bad_setting", f"The {name} cannot be {value!r}.", "Choose a number, such as 0.8."
            ) from None

    return read


def _device(value: str) -> str:
    if _DEVICE.fullmatch(value):
        return value
    raise EngineError(
        "bad_setting",
        f"The device cannot be {value!r}.",
        f"Choose auto, cpu, cuda or cuda:N{_did_you_mean(value, ['auto', 'cpu', 'cuda'])}",
    )


def _did_you_mean(value: str, known: Sequence[str]) -> str:
    """The end of a sentence: a suggestion if something known is close, and the full stop."""
    close = difflib.get_close_matches(value, known, n=1)
    return f"; did you mean {close[0]}?" if close else "."


def _no_command(name: str) -> EngineError:
    close = difflib.get_close_matches(name, ["generate", "replay"], n=1)
    if close:
        return EngineError("usage", f"There is no command {name!r}.", f"Did you mean {close[0]}?")
    return EngineError(
        "usage",
        f"There is no command {name!r}; there are generate and replay.",
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

"""The parser of the command line, and what it says about what is typed wrong."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ddtree_tui import exit_codes
from ddtree_tui.standard_output import put
from engine.errors import EngineError
from engine.presets import PRESETS

COMMANDS = (
    "generate",
    "race",
    "serve",
    "attach",
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


class Parser(argparse.ArgumentParser):
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


def epilog(*, presets: bool = True) -> str:
    """What stands below the options: presets, where models are loaded, and exit codes."""
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exit_codes.MEANINGS.items())
    below = f"exit codes:\n{codes}"
    if not presets:
        return below
    names = max(map(len, PRESETS))
    listed = "\n".join(f"  {name:<{names}}  {preset.note}" for name, preset in PRESETS.items())
    return f"presets for --model:\n{listed}\n\n{below}"


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
            close = difflib.get_close_matches(name, sorted(_of_command(argv, parser)), n=1)
            hint = f"Did you mean {close[0]}?" if close else "See ddtree-tui --help."
            raise EngineError("usage", f"There is no option {name}.", hint)


def _of_command(argv: Sequence[str], parser: argparse.ArgumentParser) -> set[str]:
    """The options of the command that is called."""
    command = next((word for word in argv if word in COMMANDS), None)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and command is not None:
            return set(option_names(action.choices[command]))
    return {name for action in parser._actions for name in action.option_strings}


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    """All options of a parser and of its commands."""
    names: list[str] = []
    for action in parser._actions:
        names += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                names += option_names(command)
    return names

"""What the values of options may be, and what is said about those that are not."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

from engine.errors import EngineError

_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


def add(group: argparse._ActionsContainer, *names: str, **keywords: Any) -> None:
    """Add an option that is absent when not given, so that both sides of a command count."""
    group.add_argument(*names, default=argparse.SUPPRESS, **keywords)


def choices(names: Sequence[str], default: str) -> str:
    return f"{', '.join(names)} (default {default})"


def choice(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value in choices:
            return value
        raise EngineError(
            "bad_setting",
            f"The {name} cannot be {value!r}.",
            f"Choose one of {', '.join(choices)}{did_you_mean(value, choices)}",
        )

    return read


def whole(name: str, wanted: str) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", value):
            raise EngineError(
                "bad_setting", f"The {name} cannot be {value!r}.", f"Choose a whole number {wanted}."
            )
        return int(value)

    return read


def number(name: str) -> Callable[[str], float]:
    def read(value: str) -> float:
        try:
            return float(value)
        except ValueError:
            raise EngineError(
                "bad_setting", f"The {name} cannot be {value!r}.", "Choose a number, such as 0.8."
            ) from None

    return read


def device(value: str) -> str:
    if _DEVICE.fullmatch(value):
        return value
    raise EngineError(
        "bad_setting",
        f"The device cannot be {value!r}.",
        f"Choose auto, cpu, cuda or cuda:N{did_you_mean(value, ['auto', 'cpu', 'cuda'])}",
    )


def did_you_mean(value: str, known: Sequence[str]) -> str:
    """The end of a sentence: a suggestion if something known is close, and the full stop."""
    close = difflib.get_close_matches(value, known, n=1)
    return f"; did you mean {close[0]}?" if close else "."

"""The budget as one types it: ``64``, ``auto``, or ``auto:128`` where it may choose up to 128."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from engine.errors import EngineError
from engine.settings import AUTO_BUDGET, MAX_BUDGET

AUTO = "auto"
AUTO_HELP = "auto, or auto:N for at most N: chosen round by round for speed"
WANTED = f"a whole number from 1 to {MAX_BUDGET}, or auto"


def read_budget(text: str) -> dict[str, Any]:
    """``budget`` and ``auto_budget`` of the settings.

    Raises:
        EngineError: ``bad_setting`` for what is neither a whole number nor ``auto``. Its range is checked
            with the other settings.
    """
    text = text.strip()
    auto = text == AUTO or text.startswith(f"{AUTO}:")
    number = str(AUTO_BUDGET) if text == AUTO else text.removeprefix(f"{AUTO}:")
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", number):
        raise EngineError("bad_setting", f"The budget cannot be {text!r}.", f"Choose {WANTED}.")
    return {"budget": int(number), "auto_budget": auto}


def budget_text(budget: int, auto: bool) -> str:
    """What ``read_budget`` reads as these."""
    return f"{AUTO}:{budget}" if auto else str(budget)


class BudgetAction(argparse.Action):
    """The option ``--budget``."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        for name, value in read_budget(str(values)).items():
            setattr(namespace, name, value)

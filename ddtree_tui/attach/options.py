"""What ``ddtree-tui attach`` is told on the command line. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddtree_tui.attach.address import Address
from engine.errors import EngineError
from engine.settings import AUTO_BUDGET


@dataclass(frozen=True)
class AttachOptions:
    """Which server, and what of it.

    Attributes:
        key: for servers that let in only who has one.
        request: the id of the one to watch; None is whatever runs.
        model: which of its models is to answer; None is the first.
        decoding: the names of the ``DecodeSettings`` that are said.
        openai: whether to take it for a server with OpenAI's interface and no more.
    """

    address: Address
    key: str | None = field(default=None, repr=False)
    request: str | None = None
    model: str | None = None
    decoding: frozenset[str] = frozenset()
    openai: bool = False


def check_budget(budget: object, auto: object) -> None:
    """Raises:
    EngineError: ``bad_setting`` for a bound of the budgets that the server is to choose from: it has its own.
    """
    if auto and budget != AUTO_BUDGET:
        raise EngineError(
            "bad_setting",
            "A server that is to choose the budget chooses among all of its own.",
            "Choose auto without a number, or a number without auto.",
        )

"""A small Python function the demo model can write: what it does, ways to write it, calls that prove it.

In bodies ``$a`` and ``$b`` stand for the parameters; a body is indented by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

Case = tuple[tuple[object, ...], object]


@dataclass(frozen=True, slots=True)
class Function:
    """``does`` completes "a function that ..."; ``params`` holds names to choose from, for each parameter."""

    name: str
    does: tuple[str, ...]
    params: tuple[tuple[str, ...], ...]
    bodies: tuple[str, ...]
    cases: tuple[Case, ...]
    idea: str

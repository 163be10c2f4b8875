"""One line per thing that was looked at. Imports neither torch nor transformers."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "warn", "fail"]
Part = Literal["environment", "pair"]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    seen: what there is, with its numbers; holds no text of prompts or answers.
    means, todo: where it is not ``ok``: what follows from it, and what to do.
    text: something written out to be looked at, such as a rendered template; left out of reports unless text
        is asked for.
    """

    part: Part
    name: str
    status: Status
    seen: str
    means: str = ""
    todo: str = ""
    text: str = ""

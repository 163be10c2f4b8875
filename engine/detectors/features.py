"""Whether the drafter is handed the outputs of the layers it was trained on, of accepted rows, each once.

Which layers a pass is tapped at does not depend on the pass: the prefill shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
import torch
from torch import Tensor

from engine.detectors.found import found
from engine.events import Finding, Prefilled, Round
from engine.observer import Observation, Observer, Start
from engine.rounds import RoundResult

if TYPE_CHECKING:
    from engine.cache import Pass
    from engine.static.result import StaticResult


class Features(Observer):
    """Compares one row of the features with the layers' outputs, and the rows put aside with the path."""

    def started(self, start: Start) -> Iterable[Observation]:
        self._target, self._session = start.pair.target, start.pair.session
        drafter = start.given.drafter
        self._named = drafter.config.target_layer_ids if drafter else ()
        self._seen: list[Finding] = []
        """What the prefill shows. It matters from the first draft on, if there ever is one."""
        return ()

    def prefilled(self, event: Prefilled) -> Iterable[Observation]:
        passed = self._session.cache.passed
        if passed is None or passed.first_row is None or not self._named:
            return ()
        row, layers = passed.features[0], passed.first_row
        if not torch.equal(row, torch.cat([layers[number + 1] for number in self._named])):
            self._seen = list(self._explain(row, layers, passed))
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Observation]:
        if not self._named:
            return
        host = result if isinstance(result, RoundResult) else None
        drafted = bool(event.nodes.ids) if host is None else host.draft_logits is not None
        if self._seen and drafted:
            for finding in self._seen:
                yield msgspec.structs.replace(finding, round=event.index)
            self._seen = []
        if host is None:
            return
        passed, kept, path = self._session.cache.passed, self._session.kept, self._session.path
        if passed is None or kept is None or path is None:
            return
        if not torch.equal(kept, passed.features.index_select(0, path)):
            yield from self._explain_rows(event, passed, kept, path.tolist())

    def _explain(self, row: Tensor, layers: Tensor, passed: Pass) -> Iterator[Finding]:
        """Which layers the features (F,) of the first row of a prefill are of."""
        if not bool(torch.isfinite(row).all()):
            return
        parts = row.view(len(self._named), -1)
        last = len(layers) - 2
        norm = self._target.model.model.norm
        read: list[int | float | str] = []
        for part, number in zip(parts, self._named, strict=True):
            if torch.equal(part, layers[number + 1]):
                read.append(number)
            elif number == last and passed.unnormed is not None and torch.equal(part, passed.unnormed):
                yield found(
                    "tap-norm",
                    f"The output of the last layer, {number}, reaches the drafter before the final norm.",
                    layer=number,
                    side="before",
                )
                read.append(number)
            elif number != last and _close(part, norm(layers[number + 1])):
                yield found(
                    "tap-norm",
                    f"The output of layer {number} reaches the drafter through the final norm, which "
                    "only the last layer's passes.",
                    layer=number,
                    side="after",
                )
                read.append(number)
            else:
                same = [place for place in range(-1, last + 1) if torch.equal(part, layers[place + 1])]
                read.append(same[0] if same else "unknown")
        if read != list(self._named):
            yield found(
                "tap-layers",
                "The drafter reads the outputs of layers "
                + _listed(read)
                + " of the target; its checkpoint names "
                + _listed(self._named)
                + ".",
                read=read,
                named=list(self._named),
            )

    def _explain_rows(self, event: Round, passed: Pass, kept: Tensor, path: list[int]) -> Iterator[Finding]:
        """Which rows of the pass were put aside for the drafter instead of those of the path."""
        if not bool(torch.isfinite(passed.features).all()):
            return
        rows = [int((passed.features == row).all(1).nonzero()[:1].sum()) for row in kept]
        wrong = [row for row in rows if row not in path]
        yield found(
            "drafter-rejected-rows",
            f"Of the round's pass the drafter is handed rows {_listed(rows)}; accepted were rows "
            f"{_listed(path)}.",
            round=event.index,
            handed=list(rows),
            accepted=list(path),
            rejected=list(wrong),
        )


def _close(a: Tensor, b: Tensor) -> bool:
    """Equal but for the rounding of a norm over one row instead of many."""
    return bool(torch.allclose(a, b, rtol=1e-2, atol=1e-3))


def _listed(numbers: Iterable[object]) -> str:
    return ", ".join(map(str, numbers))

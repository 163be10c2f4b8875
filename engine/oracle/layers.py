"""What the engine's caches hold, layer by layer, against what the target alone holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from torch import Tensor

from engine.events import LayerCheck
from engine.oracle.held import Held, What, relative_errors
from engine.oracle.tolerance import Tolerance

_ORDER: tuple[What, ...] = get_args(What)


class LayerChecks:
    """Comparisons so far, and the first that left its tolerance.

    Args:
        kinds: of the target's layers.
        tapped: those whose outputs the drafter reads.
        tolerance: what is within it.

    Attributes:
        count: how many tensors were compared.
        first: of those out of tolerance, in the earliest round that of the lowest layer.
        drift: round, and error of the recurrent state after it, of the layer where it is largest.
    """

    def __init__(self, kinds: Sequence[str], tapped: Sequence[int], tolerance: Tolerance) -> None:
        self._kinds, self._tapped, self._tolerance = kinds, tapped, tolerance
        self.count = 0
        self.first: LayerCheck | None = None
        self.drift: list[tuple[int, float]] = []

    def held(self, rounds: Sequence[int | None], found: Held, alone: Held) -> None:
        """Compare what the caches hold.

        Args:
            rounds: that committed each of the rows of keys and values, None for the prefill; windows and
                states are of the last one.
        """
        states = []
        for layer, (parts, expected) in enumerate(zip(found.layers, alone.layers, strict=True)):
            for what in _ORDER:
                if what in parts:
                    error = self._compare(layer, what, rounds, parts[what], expected[what])
                    if what == "state":
                        states.append(error)
        last = rounds[-1]
        if states and last is not None:
            self.drift.append((last, max(states)))

    def features(self, rounds: Sequence[int | None], found: Tensor, alone: Tensor) -> None:
        """Compare what the drafter is given of the last tokens, (rows, layers · hidden)."""
        if not self._tapped:
            return
        for layer, part, expected in zip(
            self._tapped, found.chunk(len(self._tapped), -1), alone.chunk(len(self._tapped), -1), strict=True
        ):
            self._compare(layer, "features", rounds, part, expected)

    def _compare(
        self, layer: int, what: What, rounds: Sequence[int | None], found: Tensor, alone: Tensor
    ) -> float:
        errors = relative_errors(what, found, alone)
        if not len(errors):
            return 0.0
        error = float(errors.max())
        tolerance = self._tolerance.of(layer, what)
        self.count += 1
        if error > tolerance:
            first = int((errors > tolerance).nonzero()[0])
            check = LayerCheck(
                layer=layer,
                kind=self._kinds[layer],
                what=what,
                round=rounds[first - len(errors)],
                error=float(errors[first]),
                tolerance=tolerance,
            )
            if self.first is None or _place(check) < _place(self.first):
                self.first = check
        return error


def _place(check: LayerCheck) -> tuple[int, int, int]:
    return (-1 if check.round is None else check.round, check.layer, _ORDER.index(check.what))

"""Speed of every way of decoding that this session has seen of one pair on one device."""

from __future__ import annotations

from ddtree_tui.statistics.observation import Observation
from ddtree_tui.statistics.speed import per_second
from engine.events import Loaded, ModelInfo
from engine.settings import MODES, Mode

Way = tuple[Mode, int]
"""Mode, and the budget in mode ``tree`` (else 0)."""


class Ways:
    """Tokens, milliseconds and rounds per way. Another pair or device starts it anew."""

    def __init__(self) -> None:
        self._pair: tuple[object, ...] | None = None
        self._sums: dict[Way, tuple[int, float, int]] = {}

    def loaded(self, event: Loaded) -> None:
        """A pair was loaded; the same one again changes nothing."""
        pair = (_same(event.target), _same(event.drafter), event.device, event.layers_on, event.processes)
        if self._pair is not None and pair != self._pair:
            self._sums.clear()
        self._pair = pair

    def add(self, seen: Observation) -> None:
        """Count one more round."""
        way = (seen.mode, seen.budget if seen.mode == "tree" else 0)
        tokens, ms, rounds = self._sums.get(way, (0, 0.0, 0))
        timed = seen.length if seen.ms.total else 0
        self._sums[way] = (tokens + timed, ms + seen.ms.total, rounds + 1)

    def rounds(self, way: Way) -> int:
        """How many were decoded that way."""
        return self._sums[way][2]

    def tokens_per_second(self, way: Way) -> float | None:
        """None for a way not seen."""
        if way not in self._sums:
            return None
        tokens, ms, _ = self._sums[way]
        return per_second(tokens, ms)

    def seen(self) -> list[Way]:
        """The ways seen: ar, chain, trees by budget."""
        return sorted(self._sums, key=lambda way: (MODES.index(way[0]), way[1]))


def _same(model: ModelInfo | None) -> tuple[object, ...] | None:
    return (
        None
        if model is None
        else (
            model.name,
            model.path,
            model.dtype,
            model.quantization,
            model.revision,
        )
    )

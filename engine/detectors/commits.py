"""Whether the recurrent states hold the accepted text, all of it and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch

from engine.detectors.found import PREFILL, found
from engine.events import Finding, Prefilled, Round
from engine.observer import Observation, Observer, Start
from engine.rounds import RoundResult

if TYPE_CHECKING:
    from engine.errors import EngineError
    from engine.static.result import StaticResult

_NARROW = (torch.bfloat16, torch.float16)


class Commits(Observer):
    """Looks at what every commit really kept."""

    def started(self, start: Start) -> Iterable[Observation]:
        self._cache = start.pair.session.cache
        self._states = self._cache.states
        self._layers = [
            number for number, kind in enumerate(start.pair.target.layer_kinds) if kind == "linear_attention"
        ]
        self._prefilled = False
        self._rounds = 0
        self._host = not start.pair.on_device
        return ()

    def prefilled(self, event: Prefilled) -> Iterable[Observation]:
        self._prefilled = True
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Finding]:
        self._rounds = event.index + 1
        self._host = isinstance(result, RoundResult)
        if not isinstance(result, RoundResult) or not self._states:
            return
        if touched := [self._layers[place] for place in self._cache.touched]:
            yield found(
                "state-during-verify",
                f"While the tree was verified, the committed state of layer {touched[0]} changed"
                + (f", and that of {len(touched) - 1} others." if len(touched) > 1 else "."),
                round=event.index,
                layers=list(touched),
            )
        yield from self._leaf(event, result)
        narrow = [
            layer
            for layer, state in zip(self._layers, self._states, strict=True)
            if state.state is not None and state.state.dtype in _NARROW
        ]
        if narrow:
            kept = self._states[self._layers.index(narrow[0])].state
            assert kept is not None
            yield found(
                "state-precision",
                f"The recurrent state of layer {narrow[0]} is kept in "
                f"{str(kept.dtype).removeprefix('torch.')}, not in float32.",
                round=event.index,
                layers=list(narrow),
            )

    def _leaf(self, event: Round, result: RoundResult) -> Iterator[Finding]:
        """Whether every layer committed the accepted path."""
        path = [0, *(node + 1 for node in result.accepted)][: len(result.committed)]
        right: torch.Tensor | None = None
        for layer, state in zip(self._layers, self._states, strict=True):
            if state.path is None or state.path is right:
                continue
            committed = state.path.tolist()
            if committed == path:
                right = state.path
                continue
            yield found(
                "wrong-leaf",
                f"Layer {layer} committed the state after {_node(committed)}; accepted was the path to "
                f"{_node(path)}.",
                round=event.index,
                layer=layer,
                committed=list(committed),
                accepted=list(path),
            )
            return

    def failed(self, error: EngineError) -> Iterable[Observation]:
        if error.kind != "not_finite":
            return ()
        if not self._prefilled:
            return [found("not-finite", f"In the prefill: {error.message}", stage=PREFILL)]
        # On the device the states are those of the failed round itself, or of one behind it.
        damaged = [
            layer
            for layer, state in zip(self._layers, self._states, strict=True)
            if self._host and state.state is not None and not bool(torch.isfinite(state.state).all())
        ]
        where = f" The recurrent state of layer {damaged[0]} was so before." if damaged else ""
        at = max(self._rounds - 1, 0) if damaged else self._rounds
        return [
            found(
                "not-finite",
                error.message + where,
                round=at,
                layers=list(damaged),
                noticed_in_round=self._rounds + 1,
            )
        ]


def _node(path: list[int]) -> str:
    return f"node {path[-1] - 1}" if path[-1] else "the root"

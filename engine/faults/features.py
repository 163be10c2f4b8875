"""Faults of the features that the target hands to the drafter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from engine.session import Session
from engine.target import Target

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _LayerBefore(Target):
    """Reads ``hidden_states[id]``, a layer's input, for ``hidden_states[id + 1]``."""

    def features(self, outputs: list[Tensor], unnormed: Tensor) -> Tensor:
        return super().features([outputs[0], *outputs[:-1]], unnormed)


class _WrongSideOfNorm(Target):
    """Taps the last layer before the final norm; where that is not tapped, norms the last one that is."""

    def features(self, outputs: list[Tensor], unnormed: Tensor) -> Tensor:
        changed, last = list(outputs), max(self.tapped)
        if last == len(self.layer_kinds) - 1:
            changed[last + 1] = unnormed
        else:
            changed[last + 1] = self.model.model.norm(outputs[last + 1])
        return super().features(changed, unnormed)


class _RowsBehind(Session):
    """Keeps as many rows as were accepted, but of each the one behind it in the pass."""

    def accepted_features(self, features: Tensor, path: Tensor) -> Tensor:
        return super().accepted_features(features, (path + 1).clamp(max=len(features) - 1))


def _tap_layer_before(planting: Planting) -> None:
    planting.vary(planting.pair.target, _LayerBefore)


def _tap_wrong_side(planting: Planting) -> None:
    planting.vary(planting.pair.target, _WrongSideOfNorm)


def _keep_rejected(planting: Planting) -> None:
    planting.vary(planting.pair.session, _RowsBehind)


PLANTS: dict[str, Plant] = {
    "tap-layers": _tap_layer_before,
    "tap-norm": _tap_wrong_side,
    "drafter-rejected-rows": _keep_rejected,
}

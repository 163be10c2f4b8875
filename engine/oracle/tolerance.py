"""How far the engine may be from the target alone where nothing is wrong: by rounding only.

In float32 and float64 on a CPU the two differ in the last digits, and the bounds stand here: ten times and
more above what was measured on the demo pair (``engine.oracle.costs``: 8e-6 of the state, 6e-5 of a gap), and
far below what a branch leaves behind. Elsewhere they are measured (``engine.oracle.calibration``) and kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import platformdirs
import torch

from engine.oracle.held import What
from engine.pair import Pair

logger = logging.getLogger(__name__)


class Tolerance(msgspec.Struct, frozen=True):
    """Attributes:
    noise: the largest change of a token's lead, in logits.
    every: relative error of a layer's tensors, of those that ``layers`` does not name.
    layers: the same by layer and what of it is compared, as in ``"3 keys"``.
    """

    noise: float
    every: float
    layers: dict[str, float] = {}

    def of(self, layer: int, what: What) -> float:
        """The largest relative error allowed."""
        return self.layers.get(f"{layer} {what}", self.every)


EXACT = Tolerance(noise=2e-3, every=1e-4)
_KNOWN: WeakKeyDictionary[Any, Tolerance] = WeakKeyDictionary()  # by model
_READER = msgspec.json.Decoder(Tolerance)


def known(pair: Pair) -> Tolerance | None:
    """The tolerance of a pair, None where it has to be measured first."""
    target = pair.target
    wide = target.dtype in (torch.float32, torch.float64)
    if wide and target.device.type == "cpu" and not target.quantised:
        return EXACT
    model = target.model
    if model not in _KNOWN:
        try:
            _KNOWN[model] = _READER.decode(_file(pair).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
    return _KNOWN[model]


def keep(pair: Pair, tolerance: Tolerance) -> None:
    """Remember what was measured, for this process and, if it can be written, for later ones."""
    _KNOWN[pair.target.model] = tolerance
    path = _file(pair)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(tolerance))
    except OSError as error:
        logger.warning("the measured noise is not kept: %s", error)


def _file(pair: Pair) -> Path:
    """One for each model as it computes here."""
    info, target = pair.info, pair.info.target
    told = (target.path, target.revision, target.dtype, target.quantization, info.device, info.versions)
    name = hashlib.sha256(json.dumps([*told, bool(pair.on_device)]).encode()).hexdigest()[:32]
    return Path(platformdirs.user_cache_path("ddtree-tui", appauthor=False)) / "noise" / f"{name}.json"

"""How much rounding changes the target's leads on this model and device, to judge by where texts part."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch

from engine.control import Control
from engine.errors import EngineError
from engine.events import Checking, Finished, Noise
from engine.oracle.calibration import calibrate
from engine.oracle.tolerance import EXACT, known
from engine.pair import Pair

if TYPE_CHECKING:
    from engine.decode import RunEvent

log = logging.getLogger(__name__)


def measured(pair: Pair, control: Control) -> Iterator[Checking | Noise]:
    """The noise of a pair, at once where it is known. It cannot be measured when ``control`` is cancelled, of
    a target in several processes, and without memory for it."""
    tolerance = known(pair)
    if tolerance is None and pair.target.ranks is None:
        try:
            yield from calibrate(pair, control)
        except (EngineError, torch.OutOfMemoryError) as error:
            log.warning("the noise of the kernels could not be measured: %s", error)
        tolerance = known(pair)
    if tolerance is None:
        yield Noise(lead=None)
    else:
        yield Noise(lead=0.0 if tolerance is EXACT else tolerance.noise)


def before_the_end(
    race: Iterable[tuple[int, RunEvent | Exception]], lanes: int, noise: Iterable[Checking | Noise]
) -> Iterator[tuple[int, RunEvent | Exception] | Checking | Noise]:
    """A race's events, and before the last of them the noise, if texts differ: ``noise`` is iterated then."""
    texts: list[list[int]] = []
    ended = 0
    for lane, event in race:
        if isinstance(event, Finished):
            texts.append(event.output_ids)
        ended += isinstance(event, Finished | Exception)
        if ended == lanes and any(text != texts[0] for text in texts):
            yield from noise
        yield lane, event

"""One prompt decoded in several ways at once, on one device: what one lane takes longer is its own doing.

Each lane has caches of its own over the same weights, and decodes as it would alone. Rounds alternate: next
is always the lane whose rounds have taken the least time so far. So all lanes meet the same device at the
same time, warm or throttled or shared with others, and stand at any moment where they would in a race.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from engine.control import Control
from engine.conversation import conversation
from engine.decode import RunEvent, generate
from engine.errors import EngineError
from engine.events import Prefilled, Round
from engine.model_shape import drafter_shape, target_shape
from engine.pair import Pair
from engine.place import HEADROOM, free_memory
from engine.settings import MAX_LANES, DecodeSettings, Message


def race(
    pair: Pair,
    prompt: str | Sequence[Message],
    lanes: Sequence[DecodeSettings],
    *,
    control: Control | None = None,
) -> Iterator[tuple[int, RunEvent | Exception]]:
    """Decode an answer per lane, interleaved; yields each lane's events with its number.

    All lanes prefill first, one after the other; then they decode. A lane that fails yields its exception
    last, and the others go on. ``pair``'s own caches are not touched.

    Args:
        control: cancels and pauses all lanes together; a step is one round of one lane. Settings do not
            change during a race.

    Raises:
        EngineError: what ``generate`` raises at once; ``bad_setting`` for more lanes than ``MAX_LANES``, or
            for a target held by several processes; ``out_of_memory`` where the lanes' caches have no room.
    """
    if not 1 <= len(lanes) <= MAX_LANES:
        raise EngineError(
            "bad_setting",
            f"A race cannot have {len(lanes)} lanes.",
            f"Choose from 1 to {MAX_LANES}.",
        )
    if pair.target.ranks is not None:
        raise EngineError(
            "bad_setting",
            "A race needs the target in one process.",
            "Load it without --tp.",
        )
    for settings in lanes:
        settings.check()
    messages = conversation(prompt)
    contexts = _contexts(pair, messages, lanes)
    _check_memory(pair, contexts)
    reins = [_LaneControl(control or Control()) for _ in lanes]
    runs = {
        number: generate(pair.lane(context), messages, settings, control=rein)
        for number, (context, settings, rein) in enumerate(zip(contexts, lanes, reins, strict=True))
    }
    return _alternate(runs)


def _alternate(runs: dict[int, Iterator[RunEvent]]) -> Iterator[tuple[int, RunEvent | Exception]]:
    spent = dict.fromkeys(runs, 0.0)  # milliseconds in rounds
    waiting = list(runs)  # for their prefill
    while runs:
        lane = waiting.pop(0) if waiting else min(runs, key=lambda number: spent[number])
        try:
            for event in runs[lane]:
                yield lane, event
                if isinstance(event, Round):
                    spent[lane] += event.ms.total
                if isinstance(event, Prefilled | Round):
                    break
            else:
                del runs[lane]
        except Exception as error:
            del runs[lane]
            yield lane, error


class _LaneControl(Control):
    """The race's control in the hands of one lane, which keeps its own settings."""

    def __init__(self, race: Control) -> None:
        super().__init__()
        self._race = race

    @property
    def runs(self) -> bool:
        return self._race.runs

    @property
    def cancelled(self) -> bool:
        return self._race.cancelled

    def before_round(self, settings: DecodeSettings) -> DecodeSettings | None:
        return None if self._race.before_round(settings) is None else settings


def _contexts(pair: Pair, messages: Sequence[Message], lanes: Sequence[DecodeSettings]) -> list[int]:
    """Tokens each lane may come to hold."""
    longest = pair.target.context_length
    lengths = {
        thinking: len(pair.codec.encode_chat(messages, thinking, context=longest).ids)
        for thinking in dict.fromkeys(settings.thinking for settings in lanes)
    }
    return [min(longest, lengths[settings.thinking] + settings.max_new_tokens) for settings in lanes]


def _check_memory(pair: Pair, contexts: Sequence[int]) -> None:
    """Refuse what would run out of memory half way.

    Raises:
        EngineError: ``out_of_memory``.
    """
    shapes = [target_shape(pair.target.model.config.to_dict())]
    if pair.drafter is not None:
        shapes.append(drafter_shape(vars(pair.drafter.config)))
    size = pair.target.dtype.itemsize
    kept = sum(
        shape.cache_bytes(context, size) + shape.round_bytes(size) for shape in shapes for context in contexts
    )
    needed = HEADROOM * (kept + sum(shape.prefill_bytes(max(contexts), size) for shape in shapes))
    devices = {torch.device(name) for name in pair.target.layers_on} or {pair.target.device}
    free = sum(map(_free, devices))
    if needed > free:
        raise EngineError(
            "out_of_memory",
            f"The caches of {len(contexts)} lanes ({needed / 1e9:.1f} GB) do not fit into the "
            f"{free / 1e9:.1f} GB that are free.",
            "Race fewer lanes, lower --max-new-tokens, or load the models with a smaller --context.",
        )


def _free(device: torch.device) -> int:
    """Bytes that can be had on a device: what nobody has, and what torch holds and does not use."""
    if device.type != "cuda":
        return free_memory()
    spare = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + spare

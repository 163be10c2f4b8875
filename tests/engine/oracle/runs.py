"""Answers of tiny pairs and what the oracle says of them."""

from __future__ import annotations

from typing import Any

from engine.decode import generate
from engine.events import Checked, Divergence, Loaded, ModelInfo, Round
from engine.pair import Pair


def checked(pair: Pair, prompt: str = "abcdefgh", **settings: Any) -> tuple[Checked, list[Any]]:
    """What was found, and all events."""
    events = list(generate(pair, prompt, **{"max_new_tokens": 24, "oracle": "full", **settings}))
    return next(event for event in events if isinstance(event, Checked)), events


def rounds(events: list[Any]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def divergences(events: list[Any]) -> list[Divergence]:
    return [event for event in events if isinstance(event, Divergence)]


def told(pair: Pair, name: str = "tiny", seconds: float = 0.0) -> Pair:
    """The pair with a description as a loaded one has it."""
    dtype = str(pair.target.dtype).removeprefix("torch.")
    model = ModelInfo(name=name, path=f"/models/{name}", architecture="Tiny", parameters=1, dtype=dtype)
    info = Loaded(
        target=model,
        drafter=model,
        device="cpu",
        versions={"torch": "2"},
        block_size=8,
        mask_token_id=0,
        target_layer_ids=[],
        memory_bytes=1,
        seconds=seconds,
        context_length=512,
        vocab_size=61,
    )
    return pair.described(info)

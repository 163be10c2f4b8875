"""What scripted stand-ins for the engine's worker have in common."""

from __future__ import annotations

import os

from engine.event_lines import encode_event
from engine.events import AnyEvent, Loaded, ModelInfo


def emit(event: AnyEvent) -> None:
    """One line to whoever started the stand-in."""
    os.write(1, encode_event(event) + b"\n")


def made_up_pair(name: str, *, block_size: int, mask_id: int, context: int, vocab_size: int) -> Loaded:
    """A pair of one parameter each."""
    model = ModelInfo(name=name, path="", architecture=name.title(), parameters=1, dtype="float32")
    return Loaded(
        target=model,
        drafter=model,
        device="cpu",
        versions={},
        block_size=block_size,
        mask_token_id=mask_id,
        target_layer_ids=[0],
        memory_bytes=1,
        seconds=0.1,
        context_length=context,
        vocab_size=vocab_size,
    )

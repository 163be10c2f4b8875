"""Which token stands for an empty slot of the drafter's block."""

from __future__ import annotations

from engine.codec import Codec
from engine.errors import EngineError


def choose_mask_id(codec: Codec) -> int:
    """An id inside the target's embedding that no text contains.

    The embedding is the target's and stays as it is, so any row does that the drafter never meets otherwise:
    a special token named mask; the first row behind the tokenizer's entries (as z-lab's drafters have it, the
    embedding being padded); or the last special token that neither ends an answer nor occurs in the chat
    template.

    Raises:
        EngineError: ``no_mask_token`` when there is none of these.
    """
    special = sorted(codec.special_ids)
    named = [token for token in special if b"mask" in codec.token_bytes(token).lower()]
    if named:
        return named[0]
    if codec.entries < codec.vocab_size:
        return codec.entries
    used = set(codec.stop_ids) | {codec.think_open_id, codec.think_close_id}
    for thinking in {False, codec.supports_thinking}:
        used.update(codec.encode_chat([{"role": "user", "content": "Hello"}], thinking).ids)
    unused = [token for token in special if token not in used]
    if not unused:
        raise EngineError(
            "no_mask_token",
            "The target's tokenizer has no special token to spare for the drafter's empty slots.",
            "Name a token that never occurs in its text with --mask-token-id.",
        )
    return unused[-1]

"""Whether target, drafter and tokenizer mean the same by an id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Literal

import msgspec
import torch

from engine.detectors.found import Evidence, found
from engine.errors import EngineError
from engine.events import Finding
from engine.rows import Rows
from engine.settings import Message

if TYPE_CHECKING:
    from engine.codec import Codec
    from engine.pair import Pair
    from engine.target import Target

PADDING = 1024
"""Rows of an embedding that tokenizers leave unused: up to the next multiple of a few hundred."""
WORSE = 1.0
"""Nats by which a text must be less likely than by guessing."""
_QUESTION: list[Message] = [{"role": "user", "content": "What is the capital of France?"}]
_SENTENCE = "The capital of France is Paris, and the capital of Italy is Rome."


def check_vocabulary(pair: Pair) -> Iterator[Finding]:
    """Sizes first, then whether the target finds a text in these ids likely at all."""
    codec, rows, entries = pair.codec, pair.target.vocab_size, pair.codec.entries
    drafted = pair.drafter.config.vocab_size if pair.drafter else rows
    unknown = sorted(token_id for token_id in codec.stop_ids if token_id >= entries)
    sizes: dict[str, Evidence] = {
        "embedding_rows": rows,
        "tokenizer_entries": entries,
        "drafter_vocabulary": drafted,
    }
    if entries > rows:
        seen = f"The tokenizer has {entries} entries, but the target's embedding has only {rows} rows."
        yield _finding(seen, sizes)
    elif drafted != rows:
        yield _finding(f"The drafter's vocabulary has {drafted} entries, the target's {rows} rows.", sizes)
    elif unknown:
        seen = f"Answers end with id {unknown[0]}, but the tokenizer has no more than {entries} entries."
        yield _finding(seen, sizes | {"stop_ids": [*unknown]})
    else:
        yield from _unlikely_text(pair, sizes)
        if rows - entries > PADDING:
            seen = f"{rows - entries} ids of {rows} have no spelling, which is more than padding explains."
            yield _finding(seen, sizes, "note")


def _unlikely_text(pair: Pair, sizes: dict[str, Evidence]) -> Iterator[Finding]:
    """A trained target finds the markup of its own template and plain English far likelier than chance,
    unless the ids stand for other words to it."""
    ids = probe_ids(pair.codec)
    if len(ids) < 2:
        return
    surprise, guessing = mean_surprise(pair.target, ids), log(pair.target.vocab_size)
    if surprise > guessing + WORSE:
        yield _finding(
            f"The target finds a plain question in these ids less likely than by guessing ({surprise:.1f} "
            f"nats a token against {guessing:.1f}): they mean other words to it, or it is not trained.",
            sizes | {"surprise": round(surprise, 3), "guessing": round(guessing, 3)},
        )


def _finding(
    seen: str, evidence: dict[str, Evidence], severity: Literal["note", "defect"] = "defect"
) -> Finding:
    return msgspec.structs.replace(found("vocabulary", seen, severity=severity), evidence=evidence)


def probe_ids(codec: Codec) -> list[int]:
    """A plain question as this codec feeds it; of a base model, a sentence."""
    try:
        if codec.has_template:
            return codec.encode_chat(_QUESTION).ids
        return codec.encode_chat([{"role": "user", "content": _SENTENCE}]).ids
    except EngineError:  # a template that wants more than a question
        return []


@torch.inference_mode()
def mean_surprise(target: Target, ids: Sequence[int]) -> float:
    """-log p of a token given those before, on average over all but the first, in nats.

    Takes one pass over ``ids``, in a cache of its own."""
    chunk = torch.tensor(ids, device=target.device)
    hidden, _ = target.forward(target.new_cache(), chunk, Rows.chain(len(chunk), target.device))
    logits = target.logits(hidden)
    wide = torch.promote_types(logits.dtype, torch.float32)
    logprobs = torch.log_softmax(logits[:-1].to(wide), dim=-1)
    return -float(logprobs.gather(-1, chunk[1:, None]).mean())

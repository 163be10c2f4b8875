"""What each of two processes does in ``test_ranks``: ``torchrun ... two_ranks.py OUT FOLDER ...``.

Every rank writes ``OUT/RANK.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from engine.cache import KeyValueRows
from engine.control import Control
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Finished, Round
from engine.load import load_pair
from engine.pair import Pair
from engine.ranks import Ranks, join
from engine.sampling import Sampler
from engine.static.layers import capturable

RUNS: list[dict[str, Any]] = [
    {"mode": "tree"},
    {"mode": "ar"},
    {"mode": "chain"},
    {"mode": "tree", "temperature": 0.9, "top_p": 0.95, "seed": 3},
]
TOKENS = 16


def load(folder: Path, **where: Any) -> Pair:
    return load_pair(str(folder / "target"), str(folder / "drafter"), dtype="float32", **where)


def text(pair: Pair, **settings: Any) -> list[int]:
    finished = list(generate(pair, "Hello", max_new_tokens=TOKENS, **settings))[-1]
    assert isinstance(finished, Finished)
    return finished.output_ids


def main() -> None:
    out, folders = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    ranks = join(2)
    found: dict[str, Any] = {"families": {}}
    for folder in folders:
        pair = load(folder, tp=2)
        found["families"][folder.name] = {
            "texts": [text(pair, **run) for run in RUNS],
            "kv_heads": [
                layer.buffers()[0].shape[1]
                for layer in pair.session.cache.layers
                if isinstance(layer, KeyValueRows)
            ],
            "bytes": pair.info.memory_bytes,
            "processes": pair.info.processes,
            "capturable": capturable(pair.target),
        }
    found["drifting"] = [drifting_text(pair, ranks, **run) for run in RUNS]
    found["cancelled"] = cancelled_text(pair)
    found["together"] = [outcome(ranks, failing) for failing in ((), (0,), (1,), (0, 1))]
    found["aborted"] = abort(pair, ranks)
    found["after"] = text(pair)
    (out / f"{ranks.rank}.json").write_text(json.dumps(found), encoding="utf-8")


@contextmanager
def wrong_choices() -> Iterator[None]:
    """This rank's drafts and choices are wrong throughout."""
    choose, agree = Sampler.choose, Ranks.agree

    def wrong(self: Sampler, logits: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return (choose(self, logits, positions) + 1) % logits.shape[-1]

    def noisy(self: Ranks, tensor: torch.Tensor) -> torch.Tensor:
        return agree(self, -tensor if tensor.is_floating_point() else tensor)

    Sampler.choose, Ranks.agree = wrong, noisy  # type: ignore[method-assign]
    try:
        yield
    finally:
        Sampler.choose, Ranks.agree = choose, agree  # type: ignore[method-assign]


def drifting_text(pair: Pair, ranks: Ranks, **settings: Any) -> list[int]:
    """A text in which rank 1 alone would go another way in every round."""
    if ranks.leads:
        return text(pair, **settings)
    with wrong_choices():
        return text(pair, **settings)


def cancelled_text(pair: Pair) -> dict[str, Any]:
    """Rank 0 sets a budget, then cancels; the other rank's own control says nothing."""
    leads = pair.target.ranks is not None and pair.target.ranks.leads
    control = Control()
    rounds = []
    for event in generate(pair, "Hello", max_new_tokens=TOKENS, control=control):
        if isinstance(event, Round):
            rounds.append(event.budget)
            if leads and len(rounds) == 1:
                control.update(budget=3)
            if leads and len(rounds) == 2:
                control.cancel()
    assert isinstance(event, Finished)
    return {"budgets": rounds, "reason": event.reason}


def outcome(ranks: Ranks, failing: tuple[int, ...]) -> str:
    try:
        with ranks.together():
            if ranks.rank in failing:
                raise (
                    EngineError("too_bad", f"Rank {ranks.rank} failed.") if ranks.leads else ValueError("no")
                )
    except EngineError as error:
        return f"{error.kind}: {error.message}"
    return "fine"


def abort(pair: Pair, ranks: Ranks) -> str:
    """Rank 0 gives up in the middle of a text."""
    events = generate(pair, "Hello", max_new_tokens=TOKENS)
    try:
        for number, _ in enumerate(events):
            if ranks.leads and number == 3:
                events.close()
                ranks.abort()
                pair.session.reset()
                return "gave up"
    except EngineError as error:
        return error.kind
    return "came to its end"


if __name__ == "__main__":
    main()

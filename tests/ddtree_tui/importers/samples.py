"""What other systems write, as Python values: small runs that agree with themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from engine.errors import EngineError

# The root's children are 1 and 2 (as the reference counts, the root is 0); 3 is below 1.
TREES = [
    {"accepted_indices": [0, 1, 3], "tree": {"node_token_ids": [11, 12, 13], "node_depths": [1, 1, 2],
                                             "parents": [-1, 0, 0, 1]}},
    {"accepted_indices": [0], "tree": {"node_token_ids": [21, 22], "node_depths": [1, 2],
                                       "parents": [-1, 0, 1]}},
]  # fmt: skip
PROMPT, OUTPUT = [1, 2], [10, 11, 13, 14, 15]


@contextlib.contextmanager
def read_or_refused() -> Iterator[None]:
    """Whatever a file holds: it is read, or refused as an import is."""
    try:
        yield
    except EngineError as error:
        if error.kind != "import" or not error.message.endswith("."):
            raise AssertionError(error.message) from error


def response(**changes: Any) -> SimpleNamespace:
    """One answer of the reference implementation."""
    fields: dict[str, Any] = {
        "output_ids": [*PROMPT, *OUTPUT],
        "num_input_tokens": 2,
        "num_output_tokens": 5,
        "time_to_first_token": 0.5,
        "acceptance_lengths": [3, 1],
        "stage_times": {"draft": 0.01, "tree_build": 0.002, "verify": 0.02, "commit": 0.003},
        "round_timestamps": [0.02, 0.05],
        "round_trees": TREES,
    }
    return SimpleNamespace(**(fields | changes))


def benchmark() -> dict[str, Any]:
    """A run of its benchmark."""
    plain = response(round_trees=None)
    baseline = response(acceptance_lengths=[1] * 4, round_timestamps=[0.01, 0.02, 0.03, 0.04])
    del baseline.round_trees
    return {
        "responses": [{"baseline": baseline, "dflash": plain, "ddtree_tb3": response()}],
        "block_size": 3,
        "args": {"model_name_or_path": "a/target", "draft_name_or_path": "a/drafter", "temperature": 0.0},
    }


def vllm(accepted: list[int], drafted: int = 5, *, cut: int = 0, ids: bool = False) -> dict[str, Any]:
    """An answer of vLLM in detail. ``cut``: tokens that the answer's end took from the last step."""
    tokens = 1 + sum(accepted) + len(accepted) - cut
    choice: dict[str, Any] = {
        "message": {"content": "It is 42.", "reasoning_content": "12 + 30"},
        "finish_reason": "length" if cut else "stop",
    }
    if ids:
        choice["token_ids"] = list(range(100, 100 + tokens))
    return {
        "model": "a/target",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": tokens},
        "metrics": {
            "time_to_first_token_ms": 30.0,
            "tokens_per_second": 80.0,
            "speculative_decoding": {
                "mean_acceptance_length": 1 + sum(accepted) / len(accepted),
                "acceptance_histogram": [accepted.count(n) for n in range(drafted + 1)],
                "num_spec_steps": len(accepted),
                "num_accepted_draft_tokens": sum(accepted),
                "num_draft_tokens": drafted * len(accepted),
                "num_spec_tokens": drafted,
                "per_step_accepted": accepted,
                "per_step_drafted": [drafted] * len(accepted),
            },
        },
    }


def sglang() -> dict[str, Any]:
    """An answer of SGLang's own route."""
    return {
        "text": "It is 42.",
        "output_ids": [5, 6, 7, 8],
        "meta_info": {
            "finish_reason": {"type": "stop", "matched": 2},
            "prompt_tokens": 12,
            "completion_tokens": 4,
            "spec_accept_length": 2.0,
            "spec_verify_ct": 2,
            "spec_num_correct_drafts": 2,
            "spec_num_proposed_drafts": 6,
            "spec_correct_drafts_histogram": [1, 0, 1, 0],
        },
    }


def plain() -> dict[str, Any]:
    """Plain JSON with everything in it."""
    return {
        "model": "mine",
        "prompt": "What?",
        "first_id": 3,
        "tokens": {"3": "The", "4": " sum", "5": " is", "8": "."},
        "budget": 4,
        "rounds": [
            {
                "ids": [4, 7, 5, 6],
                "parents": [-1, -1, 0, 2],
                "accepted": [0, 2],
                "bonus": 8,
                "logprobs": [-0.1, -2.5, -0.3, -0.5],
                "ranks": [0, 1, 0, 0],
                "ms": 12.5,
            },
            {"ids": [4, 7], "parents": [-1, 0], "accepted": [0], "bonus": None, "ms": 10.0},
        ],
    }

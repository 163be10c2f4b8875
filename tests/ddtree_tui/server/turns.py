"""Conversations that take turns: what of a prompt is still in the caches, with past ones kept and without.

    python tests/ddtree_tui/server/turns.py --conversations 4 --turns 3

Each begins with a text of some length and is asked about it again and again, one after the other. Reports as
JSON, for both ways, the tokens of the prompts from the second turn on, how many of these were cached, and the
time to the first token (median); and whether all answers were the same both ways.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from served import Served, serving

WORDS = ("fox", "owl", "lantern", "rain", "river", "stone", "garden", "letter", "seven", "quiet")
TOKENS = 12


def converse(served: Served, conversations: int, turns: int, words: int) -> tuple[dict[str, Any], list[str]]:
    """The report, and all answers."""
    prompts, cached, first_ms = [], [], []
    answers: list[str] = []
    talks: list[list[dict[str, str]]] = []
    for number in range(conversations):
        dice = random.Random(number)
        text = " ".join(dice.choice(WORDS) for _ in range(words))
        talks.append([{"role": "user", "content": f"{text}. Tell me about it."}])
    for turn in range(turns):
        for messages in talks:
            body = {"model": "demo", "messages": messages, "max_tokens": TOKENS}
            _, answer = served.post("/v1/chat/completions", body)
            answers.append(answer["choices"][0]["message"]["content"])
            messages += [
                {"role": "assistant", "content": answers[-1]},
                {"role": "user", "content": "And what comes next?"},
            ]
            if turn:
                prompts.append(answer["usage"]["prompt_tokens"])
                cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
                first_ms.append(answer["ddtree"]["time_to_first_token_ms"])
    report = {
        "prompt_tokens": sum(prompts),
        "cached_tokens": sum(cached),
        "first_token_ms": round(statistics.median(first_ms), 1),
    }
    return report, answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--words", type=int, default=800, help="of the text that each begins with")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    texts = []
    for mib in (256, 0):
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(Path(folder) / "log", "--prefix-cache", str(mib)) as served,
        ):
            served.wait_for("ok")
            found[f"{mib} MiB"], answers = converse(served, given.conversations, given.turns, given.words)
            texts.append(answers)
    found["same_answers"] = texts[0] == texts[1]
    print(json.dumps(found, indent=1))
    return 0 if found["same_answers"] else 1


if __name__ == "__main__":
    sys.exit(main())

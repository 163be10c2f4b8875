"""What the oracle costs and finds: ``python -m engine.oracle.costs --prompts 60 --out FILE``.

Answers every question twice, with the oracle off and on in turn, so that both meet the same machine. The
share is what the oracle says it took of the time that the answers took without it; the difference of both
times is told beside it. On a device where rounding is not measured yet, that is done first, and is no cost
of any answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from engine.control import Control
from engine.decode import generate
from engine.demo.lossless import questions
from engine.event_lines import encode_event
from engine.events import Checked
from engine.load import load_pair
from engine.oracle.account import account_of
from engine.oracle.calibration import calibrate
from engine.oracle.tolerance import known
from engine.pair import Pair
from engine.settings import ORACLES, DecodeSettings, Message
from engine.train.progress import Progress


def measure(pair: Pair, asked: Sequence[tuple[Sequence[Message], DecodeSettings]]) -> dict[str, Any]:
    """Answer each conversation without and with the oracle of its settings."""
    seconds = dict.fromkeys(ORACLES, 0.0)
    verdicts: Counter[str] = Counter()
    found: list[Checked] = []
    before = account_of(pair).spent
    progress = Progress("oracle")
    for number, (messages, settings) in enumerate(asked):
        # Whichever comes first pays for what the other finds warm.
        ways = ("off", settings.oracle) if number % 2 else (settings.oracle, "off")
        for way in ways:
            pair.session.reset()
            began = time.perf_counter()
            for event in generate(pair, messages, settings, oracle=way):
                if isinstance(event, Checked):
                    found.append(event)
                    verdicts[event.verdict] += 1
            seconds[way] += time.perf_counter() - began
        progress.update((number + 1) / len(asked), f"{number + 1} answers")
    without = seconds["off"]
    # Sampling also copies caches on the way.
    sampled = asked[0][1].oracle == "sample"
    spent = account_of(pair).spent - before if sampled else sum(one.seconds for one in found)
    bad = [one for one in found if one.verdict == "defect"]
    return {
        "answers": len(asked),
        "verdicts": dict(verdicts),
        "positions": sum(one.positions for one in found),
        "compared": sum(one.compared for one in found),
        "layers": sum(one.layers for one in found),
        "ties": sum(one.ties for one in found),
        "seconds_without": without,
        "seconds_of_oracle": spent,
        "share": spent / without,
        "difference": sum(seconds.values()) / without - 2,
        "largest_gap_change": max((one.gap_change for one in found), default=0.0),
        "largest_state_error": max((error for one in found for _, error in one.drift), default=0.0),
        "first_defect": json.loads(encode_event(bad[0])) if bad else None,
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m engine.oracle.costs", description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--drafter")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--prompts", type=int, default=60)
    parser.add_argument("--prompt-file", type=Path, nargs="+", default=[], help="instead of demo questions")
    parser.add_argument("--max-new-tokens", type=int, default=400)
    parser.add_argument("--oracle", choices=ORACLES[1:], default="sample")
    parser.add_argument("--mode", default="tree")
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--verify", default="solve")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="JSON file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1: a defect, or a sample that cost more than a twentieth."""
    options = _arguments(arguments)
    torch.set_num_threads(options.threads)
    pair = load_pair(options.model, options.drafter, device=options.device, dtype=options.dtype)
    began = time.perf_counter()
    if known(pair) is None:
        for event in calibrate(pair, Control()):
            print(f"{event.stage}: {event.done} of {event.total}", file=sys.stderr)
    calibrated = time.perf_counter() - began
    tolerance = known(pair)
    asked = []
    for number, question in enumerate(questions(options.prompts, options.prompt_file)):
        thinking = bool(number % 2) and pair.codec.supports_thinking
        settings = DecodeSettings(
            mode=options.mode,
            budget=options.budget,
            verify=options.verify,
            temperature=options.temperature,
            seed=number,
            thinking=thinking,
            max_new_tokens=options.max_new_tokens,
            oracle=options.oracle,
        )
        asked.append((question.turns(thinking), settings))
    report = {
        "command": " ".join(sys.argv),
        "model": options.model,
        "device": pair.info.device,
        "dtype": pair.info.target.dtype,
        "oracle": options.oracle,
        "noise": None if tolerance is None else tolerance.noise,
        "seconds_to_measure_noise": round(calibrated, 1),
        **measure(pair, asked),
    }
    text = json.dumps(report, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    expensive = options.oracle == "sample" and report["share"] > 0.05
    return int(expensive or "defect" in report["verdicts"])


if __name__ == "__main__":
    sys.exit(main())

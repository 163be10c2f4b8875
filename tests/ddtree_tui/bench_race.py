"""Is a race fair? python tests/ddtree_tui/bench_race.py (with the repository on PYTHONPATH)

The demo pair answers the same prompts in a race of three modes and in each mode alone, in turns. A race is
fair when the ratio of two lanes is the ratio of the two modes alone. Printed for each lane: its speed and its
ratio to ar in the race and alone, medians over the turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict

LANES = ("ar", "chain", "tree")
PROMPTS = ("Tell me a short story about a fox.", "Tell me a story about a lighthouse.")
NEW_TOKENS = 160


def ran(*arguments: str) -> list[dict[str, object]]:
    """The JSON lines that a command of the app prints."""
    command = [sys.executable, "-m", "ddtree_tui", *arguments, "--json", "--max-new-tokens", str(NEW_TOKENS)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def raced(prompt: str) -> dict[str, float]:
    """Tokens per second of each lane of a race."""
    lanes = ran("race", prompt, "--lanes", ",".join(LANES))[0]["lanes"]
    assert isinstance(lanes, list)
    return {lane["settings"]["mode"]: lane["tokens_per_second"] for lane in lanes}


def alone(prompt: str, mode: str) -> float:
    """Tokens per second of one mode with nothing beside it."""
    speed = ran("generate", prompt, "--mode", mode)[-1]["tokens_per_second"]
    assert isinstance(speed, float)
    return speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    race: dict[str, list[float]] = defaultdict(list)
    single: dict[str, list[float]] = defaultdict(list)
    for turn in range(turns):
        prompt = PROMPTS[turn % len(PROMPTS)]
        speeds = raced(prompt)
        singles = {mode: alone(prompt, mode) for mode in LANES}
        for mode in LANES:
            race[mode].append(speeds[mode])
            single[mode].append(singles[mode])
        print(f"turn {turn + 1}: race {speeds}, alone {singles}", flush=True)
    for mode in LANES:
        ratios = [a / b for a, b in zip(race[mode], race["ar"], strict=True)]
        wanted = [a / b for a, b in zip(single[mode], single["ar"], strict=True)]
        raced_at, alone_at = statistics.median(race[mode]), statistics.median(single[mode])
        to_ar = f"{statistics.median(ratios):.2f} in the race, {statistics.median(wanted):.2f} alone"
        print(f"{mode:6} race {raced_at:6.1f} tokens/s, alone {alone_at:6.1f}; to ar {to_ar}")


if __name__ == "__main__":
    main()

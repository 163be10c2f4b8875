"""What the detectors that are always on cost: python tests/engine/bench_detectors.py

Times every detector in runs of the demo pair, and what the engine keeps for them. Wanted: at most 1 % of a
run. Times are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from engine import decode
from engine.cache import TargetCache
from engine.control import Control
from engine.detectors.live import FromEvents, Together
from engine.events import Finding, Finished, Round
from engine.load import load_pair
from engine.observer import Observation, Observer
from engine.settings import DecodeSettings
from engine.target import Target

PROMPTS = ("What is 482 + 319?", "Tell me a short story about a fox.", "Sort 9, 4, 17 and 2.")
CALLS = ("started", "prefilled", "round", "ending", "failed", "finished")
WANTED = 0.01

spent: defaultdict[str, float] = defaultdict(float)
single: set[str] = set()
"""Detectors of events, whose time is that of ``FromEvents`` too."""


def _overhead() -> float:
    """Seconds that looking at the clock takes."""
    began = time.thread_time()
    for _ in range(999):
        time.thread_time()
    return (time.thread_time() - began) / 1000


OVERHEAD = _overhead()


class Timed(Observer):
    """An observer whose calls are timed under ``name``."""

    def __init__(self, observer: Observer, name: str) -> None:
        for call in CALLS:
            setattr(self, call, timed(getattr(observer, call), name))


def timed(call: Callable[..., Any], name: str) -> Callable[..., Iterator[Observation]]:
    def run(*arguments: Any) -> list[Observation]:
        began = time.thread_time()
        result = list(call(*arguments))
        spent[name] += time.thread_time() - began - OVERHEAD
        return result

    return run  # type: ignore[return-value]


def timed_method(owner: type, method: str, name: str) -> None:
    """Time a method in place."""
    original = getattr(owner, method)

    def run(*arguments: Any) -> Any:
        began = time.thread_time()
        result = original(*arguments)
        spent[name] += time.thread_time() - began - OVERHEAD
        return result

    setattr(owner, method, run)


def observers(settings: DecodeSettings) -> list[Observer]:
    """Those of the engine, timed one by one."""
    inner: list[Observer] = []
    for together in originals(settings):
        assert isinstance(together, Together)
        for observer in together._observers:
            if isinstance(observer, FromEvents) and EACH:
                for detector in observer._detectors._detectors:
                    name = f"  {type(detector).__name__}"
                    single.add(name)
                    detector.take = timed(detector.take, name)  # type: ignore[method-assign]
            inner.append(Timed(observer, type(observer).__name__))
    return [Together(inner)]


originals = decode.observers
EACH = "--each" in sys.argv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--budgets", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--max-new-tokens", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--each", action="store_true", help="time the detectors of events one by one, which costs more itself"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    pair = load_pair(options.model, device=options.device)
    decode.observers = observers  # type: ignore[attr-defined]
    timed_method(Target, "_note", "kept of passes")
    for method in ("_mark", "changed_since_commit"):
        timed_method(TargetCache, method, "kept of states")
    worst = 0.0
    for budget in options.budgets:
        spent.clear()
        single.clear()
        seconds, rounds, found = 0.0, 0, 0
        for prompt in options.repeat * PROMPTS:
            pair.session.reset()
            settings = DecodeSettings(budget=budget, max_new_tokens=options.max_new_tokens)
            began = time.thread_time()
            for event in decode.generate(pair, prompt, settings, control=Control()):
                rounds += isinstance(event, Round)
                found += isinstance(event, Finding)
                if isinstance(event, Finished):
                    seconds += time.thread_time() - began
        total = sum(cost for name, cost in spent.items() if name not in single)
        share = total / (seconds - total)
        worst = max(worst, share)
        print(f"\nbudget {budget}: {rounds} rounds of {1000 * seconds / rounds:.2f} ms, {found} findings")
        for name, cost in sorted(spent.items(), key=lambda item: -item[1]):
            print(f"  {name:20} {1e6 * cost / rounds:8.1f} µs a round  {cost / seconds:7.2%}")
        print(f"  {'together':20} {1e6 * total / rounds:8.1f} µs a round  {share:7.2%}")
    print(f"\nat most {worst:.2%} of a run; wanted {WANTED:.0%}: {'ok' if worst <= WANTED else 'TOO MUCH'}")


if __name__ == "__main__":
    main()

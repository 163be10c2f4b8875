"""Look at what the demo model learns from: ``python -m engine.demo.show --task arithmetic --n 5``."""

from __future__ import annotations

import argparse
import random

from engine.demo.tasks import TASKS, check, heldout_examples, sample_example


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engine.demo.show", description=__doc__)
    parser.add_argument("--task", choices=tuple(TASKS), help="only this task (default: all, by weight)")
    parser.add_argument("--n", type=int, default=5, help="how many examples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--heldout", action="store_true", help="show held-out examples instead of training ones"
    )
    options = parser.parse_args()
    rng = random.Random(options.seed)
    if options.heldout:
        examples = heldout_examples(options.n, options.seed, [options.task] if options.task else None)
    else:
        examples = [sample_example(rng, options.task) for _ in range(options.n)]
    for example in examples:
        right = (
            ""
            if example.truth is None
            else f"   checks: {check(example, example.answer)}, {check(example, example.answer_direct)}"
        )
        print(f"--- {example.task} / {example.kind}   truth: {example.truth!r}{right}")
        for earlier in example.history:
            print(f"(before)  {earlier.prompt}\n(answer)  {earlier.answer_direct}")
        print(
            f"user:     {example.prompt}\nthoughts: {example.thinking}\nanswer:   "
            f"{example.answer}\ndirect:   {example.answer_direct}\n"
        )


if __name__ == "__main__":
    main()

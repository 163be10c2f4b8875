"""``python -m engine.train``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import engine.cpu  # noqa: F401 - before what imports transformers' models
from engine.errors import EngineError
from engine.train.arguments import read_plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: the drafter is trained; 2: something the message says how to mend; 130: interrupted."""
    try:
        plan = read_plan(arguments)
        from transformers.utils import logging

        from engine.train.run import TrainRun

        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        report = TrainRun(plan).run()
    except EngineError as error:
        print(f"error: {error} {error.hint}".strip(), file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr, flush=True)
        return 130
    for mode, lengths in report["acceptance"].items():
        print(f"{mode:<10}{lengths['all']:.2f} tokens a round")
    print(f"The drafter is in {plan.out / 'drafter'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

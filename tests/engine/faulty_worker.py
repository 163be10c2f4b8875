"""The worker, with a fault in one rank's third round: ``faulty_worker.py KIND RANK ...`` and its options."""

from __future__ import annotations

import itertools
import os
import sys
import time
from typing import Any

from engine import worker


def main() -> None:
    kind, rank, *options = sys.argv[1:]
    if os.environ["RANK"] == rank:
        from engine import decode, rounds

        numbers = itertools.count()

        def decode_round(*args: Any) -> Any:
            if next(numbers) != 2:
                return rounds.decode_round(*args)
            if kind == "raise":
                raise ValueError("a fault")
            if kind == "kill":
                os.kill(os.getpid(), 9)
            return time.sleep(3600)

        decode.decode_round = decode_round  # type: ignore[assignment]
    worker.main(options)


if __name__ == "__main__":
    main()

"""``python -m engine.diagnosis --load JSON``: looks at the machine and at a pair, one JSON line per thing.

A process of its own, so that a torch that crashes when it is imported costs the rest of the lines and nothing
else. Lines are ``engine.diagnosis.lines.Line``, written through one by one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from engine.diagnosis.environment import environment_lines
from engine.diagnosis.lines import Line
from engine.diagnosis.machine import ask_torch, look_around
from engine.settings import LoadSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print all lines; 0 whatever they say."""
    parser = argparse.ArgumentParser(prog="python -m engine.diagnosis", description=__doc__)
    parser.add_argument("--load", default="{}", help="the pair's settings as JSON")
    parser.add_argument("--folder", nargs=2, action="append", default=[], metavar=("WHAT", "PATH"))
    options = parser.parse_args(arguments)
    load = msgspec.json.decode(options.load, type=LoadSettings)
    out = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()):  # libraries print what they like
        machine = look_around({name: Path(path) for name, path in options.folder})
        torch = ask_torch(("fla", "causal_conv1d"))
        for line in environment_lines(machine, torch, load):
            _tell(out, line)
        if not torch.version:
            return 0
        from engine.diagnosis.pair_lines import pair_lines

        for line in pair_lines(load):
            _tell(out, line)
    return 0


def _tell(out: TextIO, line: Line) -> None:
    print(msgspec.json.encode(line).decode(), file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main())

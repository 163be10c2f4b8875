"""``ddtree-tui stats``: the numbers of a recorded run, without the app."""

from __future__ import annotations

import sys

import msgspec

from ddtree_tui import exit_codes
from ddtree_tui.kept import Kept
from ddtree_tui.options import StatsOptions
from ddtree_tui.race.report import race_text
from ddtree_tui.standard_output import put
from ddtree_tui.statistics.report import Report
from ddtree_tui.statistics.tables import tables_text
from engine.events import Loaded
from engine.trace import read_trace


def run_stats(options: StatsOptions) -> int:
    """Print to standard output; returns the exit code.

    Raises:
        EngineError: as ``read_trace``; ``output``.
    """
    trace = read_trace(options.trace)
    kept = Kept.of(trace.events)
    session, answer = kept.session, kept.session.answer
    report = session.statistics.report(options.scope, answer.statistics if answer else None)
    if trace.notice:
        print(f"ddtree-tui: {trace.notice}", file=sys.stderr)
    if answer is None and kept.races:
        put("".join(race_text(race, as_json=options.json) for race in kept.races))
    elif options.json:
        text = msgspec.json.format(msgspec.json.encode(as_json(session.loaded, report)), indent=2)
        put(text.decode() + "\n")
    else:
        put(tables_text(session.loaded, options.scope, report, plain=options.ascii))
    return exit_codes.OK


def as_json(loaded: Loaded | None, report: Report) -> dict[str, object]:
    """The report, and of which pair on which device it is."""
    drafter = loaded.drafter if loaded else None
    pair = {
        "target": loaded.target.name if loaded else None,
        "drafter": drafter.name if drafter else None,
        "device": loaded.device if loaded else None,
    }
    return pair | msgspec.structs.asdict(report)

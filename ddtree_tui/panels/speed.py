"""Tokens per second: now, on average, over time, and against other ways of decoding."""

from __future__ import annotations

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import NOT_SAID, NOTHING_YET, Line, Panel, numbers
from ddtree_tui.statistics.report import Report, WayPart
from ddtree_tui.unknown import UNKNOWN

NAME_CELLS, CELLS = 12, 10
MOST_WAYS = 6


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """Numbers, a sparkline, and a row per way seen."""
    speed = report.speed
    if not report.rounds:
        return [NOTHING_YET, *_ways(report, graphics)]
    if speed.now is None or speed.mean is None:
        return [NOT_SAID, *_ways(report, graphics)]
    lines = [numbers([("tokens/s now", f"{speed.now:.1f}"), ("mean", f"{speed.mean:.1f}")])]
    lines.append([(graphics.sparkline(speed.history, width), "bar")])
    return [*lines, *_ways(report, graphics)]


def _ways(report: Report, graphics: Graphics) -> list[Line]:
    if not report.ways:
        return []
    head = "seen here".ljust(NAME_CELLS) + "".join(
        title.rjust(CELLS)
        for title in ("tokens/s", f"{graphics.times} ar", f"{graphics.times} chain", "rounds")
    )
    return [[(head, "label")], *(_way(way, graphics) for way in report.ways[:MOST_WAYS])]


def _way(way: WayPart, graphics: Graphics) -> Line:
    ratios = (
        (graphics.dash if ratio is None else f"{ratio:.2f}").rjust(CELLS)
        for ratio in (way.over_ar, way.over_chain)
    )
    speed = (UNKNOWN if way.tokens_per_second is None else f"{way.tokens_per_second:.1f}").rjust(CELLS)
    return [
        (way.name.ljust(NAME_CELLS), "label"),
        (speed + "".join(ratios), "number"),
        (f"{way.rounds:,}".rjust(CELLS), "quiet"),
    ]


PANEL = Panel(
    title="Speed",
    how="tokens/s, oldest left; below, all ways seen so far",
    help=(
        "Tokens per second inside rounds; reading the prompt and waiting do not count. 'Now' is the last "
        "second. The line shows the whole scope. The table holds every mode and budget that this pair has "
        "decoded with on this device since the app started, whatever the scope, and compares their speeds; "
        "their prompts may have differed, so for a fair comparison run the same prompt in each mode."
    ),
    draw=draw,
)

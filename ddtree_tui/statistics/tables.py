"""A report as tables: one per panel of the numbers screen, with the same line on how to read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.box import ASCII, SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ddtree_tui.byte_size import size
from ddtree_tui.escape import escape
from ddtree_tui.graphics import Graphics
from ddtree_tui.panels import acceptance, calibration, hits, marginal, speed, time
from ddtree_tui.panels.panel import Panel
from ddtree_tui.plural import counted
from ddtree_tui.statistics.report import HitMap, Report
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.unknown import UNKNOWN, UNKNOWN_MODEL
from engine.events import Loaded

BAR_CELLS = 30
SPARK_CELLS = 60
NONE = "-"


def tables_text(loaded: Loaded | None, scope: Scope, report: Report, *, plain: bool = False) -> str:
    """All tables, coloured where standard output takes that. ``plain``: in ASCII, as it is where that has no
    other characters."""
    graphics = Graphics(plain=plain or not _takes_blocks(sys.stdout.encoding))
    console = Console(markup=False, highlight=False, emoji=False)
    title = "the last answer" if scope is Scope.ANSWER else scope.title
    with console.capture() as captured:
        console.print(
            f"{_pair(loaded)}: {title}, {counted(report.tokens, 'token')}, {counted(report.rounds, 'round')}"
        )
        for panel, parts in tables(report, graphics):
            console.print()
            console.print(Text(panel.title, style="bold"))
            console.print(Text(graphics.words(panel.how), style="dim"))
            for part in parts:
                console.print(part)
    return captured.get()


def _takes_blocks(encoding: str | None) -> bool:
    try:
        "█▏┃×–…".encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def _pair(loaded: Loaded | None) -> str:
    if loaded is None:
        return "A recorded run"
    drafter = f" with drafter {loaded.drafter.name}" if loaded.drafter else ""
    device = f" on {loaded.device}" if loaded.device else ""
    return escape(f"{loaded.target.name or UNKNOWN_MODEL}{drafter}{device}")


def tables(report: Report, graphics: Graphics) -> Iterator[tuple[Panel, list[RenderableType]]]:
    """Panel by panel, in the order of the screen."""
    yield acceptance.PANEL, _acceptance(report, graphics)
    yield speed.PANEL, _speed(report, graphics)
    yield time.PANEL, _time(report, graphics)
    yield hits.PANEL, _hits(report, graphics)
    yield calibration.PANEL, _calibration(report, graphics)
    yield marginal.PANEL, _marginal(report, graphics)


def _table(graphics: Graphics, *columns: str) -> Table:
    """The first column to the left, the others to the right."""
    table = Table(box=ASCII if graphics.plain else SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    return table


def _acceptance(report: Report, graphics: Graphics) -> list[RenderableType]:
    part = report.acceptance
    lines: list[RenderableType] = [f"last {part.last or NONE}, mean {part.mean:.2f}"]
    if report.rounds and not any(part.histogram):
        return [*lines, f"how many rounds committed how many tokens: {UNKNOWN}"]
    if (expected := report.expected) is not None:
        lines.append(
            f"the drafter expected {expected.expected:.2f}, got {expected.realised:.2f} "
            f"(in {counted(expected.rounds, 'round')})"
        )
    table = _table(graphics, "tokens", "rounds", "")
    table.columns[2].justify = "left"
    most = max(part.histogram)
    for length, rounds in enumerate(part.histogram):
        if length:
            bar = graphics.bar(rounds / most, BAR_CELLS).rstrip()
            table.add_row(str(length), f"{rounds:,}", bar)
    return [*lines, table] if report.rounds else lines


def _speed(report: Report, graphics: Graphics) -> list[RenderableType]:
    table = _table(graphics, "seen here", "tokens/s", "x ar", "x chain", "rounds")
    for way in report.ways:
        ratios = (NONE if ratio is None else f"{ratio:.2f}" for ratio in (way.over_ar, way.over_chain))
        table.add_row(way.name, _number(way.tokens_per_second), *ratios, f"{way.rounds:,}")
    said = f"tokens/s in the last second {_number(report.speed.now)}, mean {_number(report.speed.mean)}"
    return [said, graphics.sparkline(report.speed.history, SPARK_CELLS), table]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _time(report: Report, graphics: Graphics) -> list[RenderableType]:
    table = _table(graphics, "stage", "ms", "share", "")
    table.columns[3].justify = "left"
    for stage in report.stages:
        bar = graphics.bar(stage.share, BAR_CELLS).rstrip()
        table.add_row(stage.name, f"{stage.ms:.2f}", f"{stage.share:.0%}", bar)
    if report.rounds and not report.stages:
        table.add_row("stages", UNKNOWN)
    table.add_row("round", UNKNOWN if report.round_ms is None else f"{report.round_ms:.2f}")
    lines: list[RenderableType] = [table]
    if (floor := report.floor) is not None:
        lines.append(f"floor {floor.floor_ms:.2f} ms of {floor.round_ms:.2f}: {floor.share:.0%}")
    if (memory := report.memory) is not None:
        lines.append(f"memory of the models {size(memory.loaded)}")
    return lines


def _nothing(report: Report) -> str:
    """Of an import, which may not say the drafter's numbers, or of a run that drafts nothing."""
    return UNKNOWN if report.unweighed else NONE


def _hits(report: Report, graphics: Graphics) -> list[RenderableType]:
    part = report.hits
    if part is None:
        return [_nothing(report)]
    lines: list[RenderableType] = []
    for name, counts in (("spine", part.spine), ("branches", part.branches)):
        if any(counts.tries):
            lines.append(_hit_table(name, part.rows, counts, graphics))
    shares = [("spine", part.spine.first_choice), ("branches", part.branches.first_choice)]
    shares.append(("spine at the branches' depths", part.spine_at_same_depths))
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)
    return [*lines, f"#0 right: {said}"]


def _hit_table(name: str, rows: list[str], counts: HitMap, graphics: Graphics) -> Table:
    """A table as narrow as can be: a block of 16 has 15 columns."""
    table = Table(box=ASCII if graphics.plain else SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column(Text(name), no_wrap=True)
    for depth in range(1, len(counts.tries) + 1):
        table.add_column(Text(str(depth)), justify="right", no_wrap=True)
    for row, label in enumerate(rows):
        if any(taken[row] for taken in counts.taken):
            shares = zip(counts.taken, counts.tries, strict=True)
            table.add_row(label, *(_percent(taken[row], tries) for taken, tries in shares))
    table.add_row("times", *(str(tries) if tries else "" for tries in counts.tries))
    return table


def _percent(taken: int, tries: int) -> str:
    return f"{100 * taken / tries:.0f}" if tries else ""


def _calibration(report: Report, graphics: Graphics) -> list[RenderableType]:
    table = _table(graphics, "probability", "nodes", "got", "said", "")
    table.columns[4].justify = "left"
    for part in reversed(report.calibration):
        cells = [f"{part.low:g} to {part.high:g}", f"{part.nodes:,}"]
        if part.accepted is not None and part.probability is not None:
            bar = "".join(graphics.bar_with_mark(part.accepted, part.probability, BAR_CELLS)).rstrip()
            cells += [f"{part.accepted:.1%}", f"{part.probability:.1%}", bar]
        table.add_row(*cells)
    return [table if report.calibration else _nothing(report)]


def _marginal(report: Report, graphics: Graphics) -> list[RenderableType]:
    part = report.marginal
    if part is None:
        return [_nothing(report)]
    table = _table(graphics, "budget", "tokens a round", "change")
    table.add_row(str(part.budget), f"{part.tokens_per_round:.2f}")
    for less in part.smaller:
        table.add_row(str(less.budget), f"{less.tokens_per_round:.2f}", f"{less.change:.2f}")
    return [table]

"""A heat map: which of the drafter's choices the target took, by depth and rank, on the spine and off it."""

from __future__ import annotations

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import Line, Panel, compact, nothing
from ddtree_tui.statistics.report import HitMap, HitsPart, Report

LABEL_CELLS = 7
CELLS, NARROW_CELLS = 4, 3
HEATS = 5


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """Two maps of the same columns and rows, and what they come to in one line."""
    part = report.hits
    if part is None:
        return [nothing(report)]
    depths = max(len(part.spine.tries), len(part.branches.tries))
    cells = CELLS if LABEL_CELLS + CELLS * depths <= width else NARROW_CELLS
    depths = min(depths, max(1, (width - LABEL_CELLS) // cells))
    rows = _used_rows(part)
    lines: list[Line] = [
        [(f"spine: first choices all along ({graphics.always} always, {graphics.none} never)", "label")]
    ]
    lines.append(_row("depth", list(range(1, depths + 1)), cells, "label"))
    lines += _map(part.spine, part.rows[:rows], depths, cells, graphics)
    if any(part.branches.tries):
        lines.append([("branches: once it has taken another choice", "label")])
        lines += _map(part.branches, part.rows[:rows], depths, cells, graphics)
    else:
        lines.append([("branches: the path never left the first choices", "quiet")])
    return [*lines, *_summary(part)]


def _used_rows(part: HitsPart) -> int:
    """How many rows of ranks have anything in them."""
    used = [
        row
        for counts in (part.spine, part.branches)
        for taken in counts.taken
        for row, n in enumerate(taken)
        if n
    ]
    return 1 + max(used, default=0)


def _map(counts: HitMap, names: list[str], depths: int, cells: int, graphics: Graphics) -> list[Line]:
    lines = []
    for row, name in enumerate(names):
        line: Line = [(name.rjust(LABEL_CELLS - 1) + " ", "label")]
        for depth in range(depths):
            text, role = _cell(counts, depth, row, graphics)
            line.append((text.rjust(cells), role))
        lines.append(line)
    return [*lines, *_times(counts.tries[:depths], cells)]


def _cell(counts: HitMap, depth: int, row: int, graphics: Graphics) -> tuple[str, str]:
    tries = counts.tries[depth] if depth < len(counts.tries) else 0
    if not tries:
        return "", ""
    taken = counts.taken[depth][row]
    if not taken:
        return graphics.none, "quiet"
    share = taken / tries
    text = (
        graphics.always if taken == tries else f"{min(99.0, 100 * share):.0f}"
    )  # two digits: cells are narrow
    return text, f"heat-{min(HEATS - 1, int(share * HEATS))}"


def _times(tries: list[int], cells: int) -> list[Line]:
    """How often the path came to each depth; in two rows where neighbours would touch."""
    if all(len(compact(count)) < cells for count in tries):
        return [_row("times", tries, cells, "quiet")]
    odd = [n if depth % 2 == 0 else 0 for depth, n in enumerate(tries)]
    even = [n if depth % 2 else 0 for depth, n in enumerate(tries)]
    return [_row("times", odd, cells, "quiet"), _row("", even, cells, "quiet")]


def _row(label: str, counts: list[int], cells: int, role: str) -> Line:
    text = "".join((compact(count) if count else "").rjust(cells) for count in counts)
    return [(label.ljust(LABEL_CELLS), "label"), (text, role)]


def _summary(part: HitsPart) -> list[Line]:
    spine, branches = part.spine.first_choice, part.branches.first_choice
    line: Line = [("#0 right: ", "label"), ("spine ", "label"), (_percent(spine), "number")]
    if branches is None:
        return [line]
    line += [("  branches ", "label"), (_percent(branches), "number")]
    if part.spine_at_same_depths is not None:
        same = _percent(part.spine_at_same_depths)
        line += [(" (spine there ", "label"), (same, "number"), (")", "label")]
    return [line]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


PANEL = Panel(
    title="The drafter's right choices",
    how="% of the times there the target took choice #n, by depth",
    help=(
        "Whenever the accepted path comes to a depth, the target's token there has some rank in the "
        "drafter's list for that depth: #0 is the drafter's first choice. Each number is a percentage of "
        "the times the path came there (last row of each map); ■ is always, · never. It "
        "counts the token that was missed too, whether or not it was in the tree. The spine is the path "
        "as long as it consists of first choices. A block drafter guesses all depths at once without "
        "seeing the tokens before, so once the path has taken another choice, the later guesses were made "
        "for another text: the lower map shows how much worse they are. Branches lie deeper on average, so "
        "'spine there' weighs the spine's depths as the branches came to them."
    ),
    draw=draw,
)

"""Numbers of the run: a panel where there is room, one line where there is not."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from ddtree_tui.answer import Answer
from ddtree_tui.glyphs import BARS
from ddtree_tui.graphics import SHADES
from ddtree_tui.plural import counted
from ddtree_tui.statistics.speed import per_second
from ddtree_tui.statistics.stages import STAGES, stage_ms
from ddtree_tui.totals import about, counts_text, tokens_text
from ddtree_tui.unknown import UNKNOWN, number_text, time_text
from ddtree_tui.widgets.painted import Lines, Span
from engine.events import Round

LABEL_CELLS, NUMBER_CELLS = 31, 9
BIN_CELLS = 2
DEFAULT_BLOCK = 16
NO_NUMBERS = "round –   run –"
LENGTH_LABEL = "acceptance length (✓ + ★)"


@dataclass(frozen=True)
class Numbers:
    """What is shown: one round (by its index in the answer) against its whole answer."""

    answer: Answer
    index: int
    block_size: int


class Stats(Lines):
    """Shown round and run side by side, the histogram of acceptance lengths, the stage times."""

    ROLES = ("title", "label", "number", "quiet", "bar", "shown", "wrong")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Stats {
        .title { color: $quiet; text-style: bold; }
        .label { color: $quiet; }
        .number { color: $foreground; text-style: bold; }
        .quiet { color: $faint; }
        .bar { color: $bar; }
        .shown { color: $shown; text-style: bold; }
        .wrong { color: $on-wrong; background: $wrong; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._numbers: Numbers | None = None

    def show(self, numbers: Numbers | None) -> None:
        """Take new numbers; None shows dashes."""
        self._numbers = numbers
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if height < 4:
            return [self._one_line(width)]
        lines = self._table()
        if self._numbers and self._numbers.answer.wrong:
            lines.insert(0, [(f" {self._numbers.answer.alarm} ", "wrong")])
        stages = self._stages(width)
        histogram = self._histogram(width, height - len(lines) - len(stages) - 4)
        for block in (histogram, stages):
            if block and len(lines) + len(block) < height:
                lines += [[], *block]
        return lines

    def _one_line(self, width: int) -> list[Span]:
        if self._numbers is None:
            return [(NO_NUMBERS, "quiet")]
        answer, index = self._numbers.answer, self._numbers.index
        parts: list[list[Span]] = []
        if answer.rounds:
            round_ = answer.rounds[index]
            parts += [
                [("round ", "label"), *_amount(counted(round_.acceptance_length, "token"))],
                [*_amount(f"{number_text(round_speed(round_), 0)} tok/s")],
                [*_amount(f"{round_.ms.total:.0f} ms" if round_.ms.total else time_text(round_.ms))],
                [(" run ", "label"), *_amount(f"{mean_length(answer):.2f} a round")],
                [*_amount(f"{number_text(speed(answer), 0)} tok/s")],
                [*_amount(counted(len(answer.rounds), "round"))],
            ]  # fmt: skip
            if round_.ms.divided:
                parts.append(
                    [("draft ", "label"), (f"{round_.ms.draft:.0f}", "number"),
                     (" verify ", "label"), (f"{round_.ms.verify:.0f}", "number")]
                )  # fmt: skip
        elif answer.finished is not None or answer.pieces.count:
            parts += [
                [("mean acceptance ", "label"), (mean_text(answer), "number")],
                [("tok/s mean ", "label"), (number_text(speed(answer), 0), "number")],
                [(tokens_text(answer), "number")],
            ]
        if not parts:
            return [(NO_NUMBERS, "quiet")]
        spans: list[Span] = []
        for part in parts:
            candidate = [*spans, *([("  ", "label")] if spans else []), *part]
            if sum(cell_len(text) for text, _ in candidate) > width:
                break
            spans = candidate
        return spans

    def _table(self) -> list[list[Span]]:
        answer = self._numbers.answer if self._numbers else None
        count = counts_text(answer) if answer else ""
        rows = [
            (LENGTH_LABEL, "–", "–"),
            ("tokens per second", "–", "–"),
            ("milliseconds", "–", "–"),
        ]
        if self._numbers is not None and answer is not None and answer.rounds:
            index = self._numbers.index
            round_ = answer.rounds[index]
            rows = [
                (LENGTH_LABEL, str(round_.acceptance_length), f"{mean_length(answer):.2f}"),
                (
                    "tokens per second",
                    number_text(round_speed(round_), 1),
                    number_text(speed(answer), 1),
                ),
                (
                    "milliseconds",
                    number_text(round_.ms.total, 1),
                    number_text(answer.statistics.stages.mean_ms("total"), 1),
                ),
            ]
        elif answer is not None and (answer.finished is not None or answer.pieces.count):
            rows[0] = (LENGTH_LABEL, "–", mean_text(answer))
            rows[1] = ("tokens per second", "–", number_text(speed(answer), 1))
        heading: list[Span] = [
            (count.ljust(LABEL_CELLS), "label"),
            ("round".rjust(NUMBER_CELLS), "title"),
            ("run".rjust(NUMBER_CELLS), "title"),
        ]
        return [heading, *(_row(*row) for row in rows)]

    def _histogram(self, width: int, rows: int) -> list[list[Span]]:
        """Rounds per acceptance length, 1 to the block size; the shown round's length is marked."""
        if self._numbers is None or rows < 1:
            return []
        answer = self._numbers.answer
        counts = answer.statistics.acceptance.histogram
        if not any(counts):
            return []
        bins = max(self._numbers.block_size, len(counts) - 1)
        bins = min(bins, width // BIN_CELLS)
        rows = min(rows, 4)
        highest = max(counts)
        shown = answer.rounds[self._numbers.index].acceptance_length if answer.rounds else 0
        lines: list[list[Span]] = [[("rounds by acceptance length", "title")]]
        for row in range(rows - 1, -1, -1):
            line: list[Span] = []
            for length in range(1, bins + 1):
                count = counts[length] if length < len(counts) else 0
                eighths = max(1, round(count * 8 * rows / highest)) if count else 0
                bar = BARS[max(0, min(8, eighths - 8 * row))]
                line.append((bar.ljust(BIN_CELLS), "shown" if length == shown else "bar"))
            lines.append(line)
        return [*lines, _axis(bins, shown)]

    def _stages(self, width: int) -> list[list[Span]]:
        """A bar of the round's milliseconds, a shade per stage, and the numbers under it."""
        if self._numbers is None or not self._numbers.answer.rounds:
            return []
        times = self._numbers.answer.rounds[self._numbers.index].ms
        if not times.divided:
            return [[(f"stages {UNKNOWN}", "quiet")]] if self._numbers.answer.imported else []
        spent = sum(stage_ms(times, stage) for stage in STAGES)
        numbers: list[list[Span]] = [[]]
        bar, used = "", 0
        for stage, shade in zip(STAGES, SHADES, strict=False):
            ms = stage_ms(times, stage)
            bar += shade * round(width * ms / spent) if spent else ""
            value = f"{ms:.1f}"
            cells = len(stage) + len(value) + 5
            if used + cells > width + 2:
                numbers.append([])
                used = 0
            used += cells
            numbers[-1] += [(f"{shade} ", "bar"), (f"{stage} ", "label"), (f"{value}  ", "number")]
        return [[(bar[:width], "bar")], *numbers]


def _axis(bins: int, shown: int) -> list[Span]:
    """Numbers under the bins; the shown round's has a caret and keeps its neighbours away."""
    mark, label = (shown - 1) * BIN_CELLS, f"▲{shown}"
    axis = [" "] * (bins * BIN_CELLS)
    for length in (1, *range(4, bins + 1, 4)):
        start, text = (length - 1) * BIN_CELLS, str(length)
        if start > mark + len(label) or start + len(text) < mark:
            axis[start : start + len(text)] = text
    if not 1 <= shown <= bins:
        return [("".join(axis), "quiet")]
    return [
        ("".join(axis[:mark]), "quiet"),
        (label, "shown"),
        ("".join(axis[mark + len(label) :]), "quiet"),
    ]


def mean_length(answer: Answer) -> float:
    """Mean acceptance length: the engine's own once the answer is over."""
    return answer.finished.mean_acceptance_length if answer.finished else answer.statistics.acceptance.mean


def mean_text(answer: Answer) -> str:
    """The same where no round is known, and so maybe not the mean."""
    mean = number_text(mean_length(answer), 2)
    return mean if mean == UNKNOWN else f"{about(answer)}{mean}"


def round_speed(round_: Round) -> float:
    """Tokens per second of one round; 0 if that is unknown."""
    return per_second(round_.acceptance_length, round_.ms.total)


def speed(answer: Answer) -> float:
    """Tokens per second of the whole answer: the engine's own once it is over."""
    if answer.finished:
        return answer.finished.tokens_per_second
    return answer.pieces.tokens_per_second or answer.statistics.speed.mean


def _amount(text: str) -> list[Span]:
    """A number with its unit."""
    number, _, unit = text.partition(" ")
    return [(number, "number"), (f" {unit}", "label")]


def _row(label: str, left: str, right: str) -> list[Span]:
    return [
        (label.ljust(LABEL_CELLS), "label"),
        (left.rjust(NUMBER_CELLS), "number"),
        (right.rjust(NUMBER_CELLS), "number"),
    ]

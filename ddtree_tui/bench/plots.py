"""The results as pictures: acceptance and speed over the budget, and what a round's time goes into."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from ddtree_tui.bench.results import Results
from ddtree_tui.bench.summary import Group, Rate, Row
from ddtree_tui.bench.table import STAGES
from ddtree_tui.escape import escape

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 56, 56
FONT = "system-ui, 'DejaVu Sans', sans-serif"
INK, FAINT, PAPER = "#222222", "#dddddd", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Distinguishable for the colour-blind (Okabe and Ito); shapes and labels tell lines apart as well."""
MARKS = ("circle", "square", "diamond", "triangle")
DASHES = {"tree": "10 3 2 3", "chain": "7 4", "ar": "2 4"}
"""Of level lines; of mode tree where the engine chose the budgets."""


def plots(results: Results) -> dict[str, bytes]:
    """SVG documents by file name; none where nothing was measured."""
    groups = [group for group in results.groups if any(row.rounds for row in group.rows)]
    if not groups:
        return {}
    where = results.loaded.device
    over_budget = [group for group in groups if any(row.way.budget for row in group.rows)]
    pictures = {"stages.svg": stage_plot(groups, f"Milliseconds a round, on {where}")}
    if over_budget:
        pictures["acceptance.svg"] = line_plot(
            over_budget, "Acceptance length over tree budget", lambda row: row.acceptance
        )
        pictures["speed.svg"] = line_plot(
            over_budget, f"Tokens per second over tree budget, on {where}", lambda row: row.tokens_per_second
        )
    return pictures


@dataclass(frozen=True)
class Scale:
    """Maps values onto pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def line_plot(groups: Sequence[Group], title: str, number: Callable[[Row], Rate]) -> bytes:
    """One line per group for the trees, level ones for what has no budget; bars are the 95 % intervals."""
    rows = [row for group in groups for row in group.rows]
    budgets = sorted({row.way.budget for row in rows if row.way.budget})
    low, high = math.log2(budgets[0]), math.log2(budgets[-1])
    pad = 0.25 if high > low else 1.0
    x = Scale(low - pad, high + pad, LEFT, WIDTH - RIGHT)
    height = HEIGHT + 18 * len(groups)
    top = TOP + 18 * len(groups)
    y = Scale(0.0, axis_end(max(number(row).high for row in rows)), height - BOTTOM, top)
    svg = _document(height, title)
    _y_axis(svg, y)
    for budget in budgets:
        _write(svg, x(math.log2(budget)), height - BOTTOM + 20, str(budget), "middle")
    _write(svg, (LEFT + WIDTH - RIGHT) / 2, height - 14, "tree budget, draft nodes a round", "middle")
    for place, group in enumerate(groups):
        colour, mark = COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]
        _legend(svg, 44 + 18 * place, colour, mark, group.label or "thinking off")
        for row in group.rows:
            if not row.way.budget:
                level = y(number(row).value)
                _line(svg, [(LEFT, level), (WIDTH - RIGHT, level)], colour, DASHES[row.way.mode])
                _write(svg, WIDTH - RIGHT - 2, level - 4, row.name, "end", colour, 11)
        trees = [row for row in group.rows if row.way.budget]
        points = [(x(math.log2(row.way.budget)), y(number(row).value)) for row in trees]
        _line(svg, points, colour, "")
        for (across, down), row in zip(points, trees, strict=True):
            rate = number(row)
            _line(svg, [(across, y(rate.low)), (across, y(rate.high))], colour, "")
            _mark(svg, across, down, colour, mark)
    return _encode(svg)


def stage_plot(groups: Sequence[Group], title: str) -> bytes:
    """A bar per way of decoding: the stages of a mean round end to end."""
    bars = [(group, row) for group in groups for row in group.rows if row.rounds]
    labels = [f"{row.name} {group.label}".rstrip() for group, row in bars]
    step, left = 24, min(300, 24 + 7 * max(map(len, labels)))
    height = TOP + 24 + step * len(bars) + BOTTOM
    x = Scale(0.0, axis_end(max(row.ms.total for _, row in bars)), left, WIDTH - RIGHT - 48)
    svg = _document(height, title)
    for place, stage in enumerate((*STAGES, "rest")):
        across = 24 + 100 * place
        _rectangle(svg, across, 38, 12, 12, _stage_colour(place))
        _write(svg, across + 17, 48, stage, "start")
    for tick in ticks(x.high):
        _line(svg, [(x(tick), TOP + 8), (x(tick), height - BOTTOM)], FAINT, "")
        _write(svg, x(tick), height - BOTTOM + 18, f"{tick:g}", "middle")
    _write(svg, (left + WIDTH) / 2, height - 14, "milliseconds", "middle")
    for place, ((_, row), label) in enumerate(zip(bars, labels, strict=True)):
        down = TOP + 16 + step * place
        _write(svg, left - 8, down + 13, label, "end")
        done = 0.0
        parts = [getattr(row.ms, stage) for stage in STAGES]
        for number, part in enumerate([*parts, max(0.0, row.ms.total - sum(parts))]):
            _rectangle(svg, x(done), down, x(done + part) - x(done), step - 7, _stage_colour(number))
            done += part
        _write(svg, x(done) + 5, down + 13, f"{row.ms.total:.2f}", "start")
    return _encode(svg)


def ticks(end: float) -> list[float]:
    """Round numbers from 0 to at most ``end``, four to ten of them."""
    step = 10.0 ** math.floor(math.log10(end))
    for finer in (1, 2, 4, 5, 10):
        if end / (step / finer) >= 4:
            step /= finer
            break
    return [step * number for number in range(int(end / step + 1e-9) + 1)]


def axis_end(value: float) -> float:
    """Where an axis from 0 ends that has to show ``value``; 1 where all is 0."""
    return value * 1.05 if value > 0 else 1.0


def _stage_colour(place: int) -> str:
    return (*COLOURS[: len(STAGES)], "#999999")[place]


def _document(height: float, title: str) -> ET.Element:
    svg = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height:g}",
            "width": str(WIDTH),
            "height": f"{height:g}",
            "font-family": FONT,
            "role": "img",
        },
    )
    ET.SubElement(svg, "title").text = escape(title)
    _rectangle(svg, 0, 0, WIDTH, height, PAPER)
    _write(svg, 24, 24, title, "start", INK, 15)
    return svg


def _y_axis(svg: ET.Element, y: Scale) -> None:
    for tick in ticks(y.high):
        _line(svg, [(LEFT, y(tick)), (WIDTH - RIGHT, y(tick))], FAINT, "")
        _write(svg, LEFT - 8, y(tick) + 4, f"{tick:g}", "end")


def _legend(svg: ET.Element, down: float, colour: str, mark: str, label: str) -> None:
    _line(svg, [(24, down), (52, down)], colour, "")
    _mark(svg, 38, down, colour, mark)
    _write(svg, 60, down + 4, label, "start")


def _line(svg: ET.Element, points: Sequence[tuple[float, float]], colour: str, dash: str) -> None:
    attributes = {
        "points": " ".join(f"{across:.1f},{down:.1f}" for across, down in points),
        "fill": "none",
        "stroke": colour,
        "stroke-width": "1" if colour == FAINT else "1.6",
    }
    if dash:
        attributes["stroke-dasharray"] = dash
    ET.SubElement(svg, "polyline", attributes)


def _mark(svg: ET.Element, across: float, down: float, colour: str, mark: str) -> None:
    shapes: dict[str, list[tuple[float, float]]] = {
        "circle": [
            (4.5 * math.cos(turn * math.pi / 8), 4.5 * math.sin(turn * math.pi / 8)) for turn in range(16)
        ],
        "square": [(-4, -4), (4, -4), (4, 4), (-4, 4)],
        "diamond": [(0, -6), (6, 0), (0, 6), (-6, 0)],
        "triangle": [(0, -6), (5.5, 4), (-5.5, 4)],
    }
    points = " ".join(f"{across + dx:.1f},{down + dy:.1f}" for dx, dy in shapes[mark])
    ET.SubElement(svg, "polygon", {"points": points, "fill": colour})


def _rectangle(svg: ET.Element, x: float, y: float, width: float, height: float, fill: str) -> None:
    box = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}", "fill": fill}
    ET.SubElement(svg, "rect", box)


def _write(
    svg: ET.Element, x: float, y: float, text: str, anchor: str, colour: str = INK, size: int = 12
) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "fill": colour, "font-size": str(size)}
    ET.SubElement(svg, "text", place).text = escape(text)


def _encode(svg: ET.Element) -> bytes:
    data: bytes = ET.tostring(svg, encoding="utf-8")
    return data + b"\n"

"""A race in numbers, a row per lane."""

from __future__ import annotations

from ddtree_tui.race.comparison import WORDS, Comparison, compare
from ddtree_tui.race.course import Lane, Race

COLUMNS = (
    "lane",
    "tokens/s",
    "ratio",
    "acceptance",
    "rounds",
    "tokens",
    "decoding",
    "prefill",
    "place",
    "text",
)


def comparisons(race: Race) -> dict[int, Comparison]:
    """What is to be said of every lane's text, by its number; of the reference there is nothing."""
    compared = {lane.number: compare(race, lane) for lane in race.lanes}
    return {number: comparison for number, comparison in compared.items() if comparison is not None}


def rows(race: Race, compared: dict[int, Comparison]) -> list[tuple[str, ...]]:
    """The cells under ``COLUMNS``, one row per lane; ratios are against ``ar``, or the first lane."""
    return [_row(race, lane, compared.get(lane.number)) for lane in race.lanes]


def aligned(table: list[tuple[str, ...]]) -> list[str]:
    """The rows as lines: names and words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if place in (0, last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _row(race: Race, lane: Lane, comparison: Comparison | None) -> tuple[str, ...]:
    acceptance, ratio = lane.answer.statistics.acceptance, race.ratio(lane)
    place = race.places.index(lane) + 1 if lane in race.places else None
    return (
        lane.name,
        f"{lane.tokens_per_second:.1f}" if acceptance.rounds else "–",
        f"{ratio:.2f}×" if ratio else "–",
        f"{acceptance.mean:.2f}" if acceptance.rounds else "–",
        str(acceptance.rounds),
        str(len(lane.ids)),
        f"{lane.decode_seconds:.2f} s",
        f"{lane.prefill_seconds:.2f} s",
        str(place) if place else "–",
        _text(lane, comparison),
    )


def _text(lane: Lane, comparison: Comparison | None) -> str:
    if lane.answer.failed is not None:
        return "failed"
    return "reference" if comparison is None else WORDS[comparison.kind]

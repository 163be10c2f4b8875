"""A race in numbers, a row per lane."""

from __future__ import annotations

from ddtree_tui.race.comparison import WORDS, Comparison, compare
from ddtree_tui.race.course import Lane, Race
from ddtree_tui.race.standing import Standing, Standings

COLUMNS = (
    "lane",
    "tokens/s",
    "ratio",
    "tok/round",
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
    standings = race.standings()
    return [_row(standings, one, compared.get(one.lane.number)) for one in standings.lanes]


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


def _row(standings: Standings, one: Standing, comparison: Comparison | None) -> tuple[str, ...]:
    ratio, place = standings.ratio(one), standings.place(one)
    return (
        one.lane.name,
        f"{one.tokens_per_second:.1f}" if one.rounds else "–",
        f"{ratio:.2f}×" if ratio else "–",
        f"{one.acceptance_length:.2f}" if one.rounds else "–",
        str(one.rounds),
        str(one.tokens),
        f"{one.seconds:.2f} s",
        f"{one.lane.prefill_seconds:.2f} s",
        str(place) if place else "–",
        _text(one.lane, comparison),
    )


def _text(lane: Lane, comparison: Comparison | None) -> str:
    if lane.answer.failed is not None:
        return "failed"
    return "reference" if comparison is None else WORDS[comparison.kind]

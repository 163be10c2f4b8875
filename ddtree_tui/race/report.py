"""A race that is over, as text or JSON: the table, and where texts differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from ddtree_tui.escape import escape
from ddtree_tui.labels import text_of
from ddtree_tui.race.comparison import Comparison, diff, explanation
from ddtree_tui.race.course import Lane, Race
from ddtree_tui.race.standing import Standing, Standings
from ddtree_tui.race.table import COLUMNS, aligned, comparisons, rows

SHARED_TOKENS, OTHER_TOKENS = 12, 30
"""Of a diff: so much of what both texts have, and of what one has."""


def race_text(race: Race, *, as_json: bool = False) -> str:
    """The whole report, with its last line break."""
    compared = comparisons(race)
    text = json.dumps(in_json(race, compared)) if as_json else "\n".join(in_lines(race, compared))
    return text + "\n"


def in_lines(race: Race, compared: dict[int, Comparison]) -> list[str]:
    """The table, and below it every difference."""
    lines = aligned([COLUMNS, *rows(race, compared)])
    for comparison in compared.values():
        if comparison.where is not None and comparison.against is not None:
            lines += ["", explanation(comparison), *diff_lines(comparison.against, comparison.lane)]
    return lines


def diff_lines(before: Lane, after: Lane) -> list[str]:
    """The first difference of two texts: what both have before it, then what each goes on with."""
    pieces = diff(before.ids, after.ids)
    shared = pieces[0].ids if pieces[0].kind == "same" else []
    start = len(shared)
    lines = [f"  {'… ' * (start > SHARED_TOKENS)}{_text(before, shared[-SHARED_TOKENS:])}"] if shared else []
    for sign, lane in (("-", before), ("+", after)):
        rest = lane.ids[start:]
        end = " …" if len(rest) > OTHER_TOKENS else ""
        lines.append(f"{sign} {_text(lane, rest[:OTHER_TOKENS])}{end}  ({lane.name})")
    return lines


def in_json(race: Race, compared: dict[int, Comparison]) -> dict[str, Any]:
    """All numbers and texts."""
    standings = race.standings()
    return {
        "prompt": race.prompt,
        "target": race.loaded.target.name,
        "drafter": race.loaded.drafter.name if race.loaded.drafter else None,
        "dtype": race.loaded.target.dtype,
        "device": race.loaded.device,
        "reference": race.reference.number,
        "lanes": [_lane_json(standings, one, compared.get(one.lane.number)) for one in standings.lanes],
    }


def _lane_json(standings: Standings, one: Standing, comparison: Comparison | None) -> dict[str, Any]:
    lane = one.lane
    finished, failed = lane.answer.finished, lane.answer.failed
    told: dict[str, Any] = {
        "name": lane.name,
        "settings": msgspec.to_builtins(lane.settings),
        "reason": finished.reason if finished else None,
        "failed": failed.message if failed else None,
        "tokens_per_second": one.tokens_per_second,
        "ratio": standings.ratio(one),
        "acceptance_length": one.acceptance_length,
        "rounds": one.rounds,
        "tokens": one.tokens,
        "decode_seconds": one.seconds,
        "prefill_seconds": lane.prefill_seconds,
        "place": standings.place(one),
        "output_ids": lane.ids,
        "text": finished.text if finished else None,
        "thinking_text": finished.thinking_text if finished else None,
        "compared": None,
    }
    if comparison is not None:
        told["compared"] = {
            "with": comparison.against.number if comparison.against else None,
            "result": comparison.kind,
            "divergence": asdict(comparison.where) if comparison.where else None,
            "noise": comparison.noise,
            "noise_measured": comparison.measured,
            "explanation": explanation(comparison),
        }
    return told


def _text(lane: Lane, ids: Sequence[int]) -> str:
    return escape(text_of(lane.answer.vocabulary, ids))

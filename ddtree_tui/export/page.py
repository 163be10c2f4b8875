"""A whole run as one HTML page: no network, no fonts or scripts from elsewhere; it works from a file.

What models wrote is gzip'd JSON in base64 inside the page, and becomes text there, never markup. Where each
place of a tree is drawn is worked out here; the page's script only draws it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from ddtree_tui.answer import Answer
from ddtree_tui.answer_text import PREFILL
from ddtree_tui.escape import escape
from ddtree_tui.export.places import outcome, places_of
from ddtree_tui.glyphs import GLYPHS, LEGEND, State
from ddtree_tui.statistics.stages import STAGES, stage_ms
from ddtree_tui.totals import counts_text
from ddtree_tui.unknown import UNKNOWN, UNKNOWN_MODEL, known_settings, recorded_mode, source_text
from engine.events import Round

PER_BLOCK = 32
"""Rounds that are unpacked together when one of them is looked at."""


def run_page(answer: Answer) -> Iterator[str]:
    """The page, in pieces: a long run is not held in memory as a whole."""
    labels: dict[int, str] = {}
    blocks = []
    for first in range(0, len(answer.rounds), PER_BLOCK):
        rounds = answer.rounds[first : first + PER_BLOCK]
        blocks.append(_packed([_round(answer, round_, labels) for round_ in rounds]))
    template = (
        _part("page.html").replace("/*{style}*/", _part("page.css")).replace("/*{script}*/", _part("page.js"))
    )
    before, after = template.split("<!--{data}-->")
    yield before
    yield _element("run", _packed(_run(answer, labels)))
    for number, block in enumerate(blocks):
        yield _element(f"rounds-{number}", block)
    yield after


def _run(answer: Answer, labels: dict[int, str]) -> dict[str, Any]:
    """What is shown whatever the round, and one (acceptance length, near miss?) a round for the timeline."""
    statistics, finished = answer.statistics, answer.finished
    known = known_settings(answer.prefilled)
    model = (answer.loaded.target.name if answer.loaded else "") or UNKNOWN_MODEL
    temperature = f"{answer.settings.temperature:g}" if "temperature" in known else UNKNOWN
    facts = [model, recorded_mode(answer.settings, known), f"temperature {temperature}"]
    if answer.prefilled is not None and (source := answer.prefilled.source) is not None:
        facts.insert(0, source_text(source, answer.loaded))
    if answer.loaded is not None and answer.loaded.device:
        facts.append(answer.loaded.device)
    facts.append(counts_text(answer))
    if answer.imported and answer.text is not None and not (answer.text.thinking or answer.text.answer):
        facts.append(f"text {UNKNOWN}")
    if answer.wrong:
        facts.append(answer.alarm)
    return {
        "title": f"DDTree run: {escape(answer.prompt)[:80]}",
        "facts": " · ".join(facts),
        "prompt": escape(answer.prompt, keep_newlines=True),
        "text": _text(answer),
        "rounds": [
            [summary.acceptance_length, int(summary.miss is not None and not summary.miss.beyond)]
            for summary in answer.rounds.summaries
        ],
        "per_block": PER_BLOCK,
        "labels": labels,
        "glyphs": {state.value: glyph for state, glyph in GLYPHS.items()},
        "legend": [
            (GLYPHS[state], name, meaning) for state, name, meaning in LEGEND if state is not State.FOLDED
        ],
        "stages": STAGES,
        "mean_ms": {stage: round(statistics.stages.mean_ms(stage), 3) for stage in (*STAGES, "total")},
        "mean": finished.mean_acceptance_length if finished else statistics.acceptance.mean,
        "tokens_per_second": finished.tokens_per_second if finished else statistics.speed.mean,
        "tokens": answer.tokens,
        "rounds_told": answer.round_count,
        "histogram": statistics.acceptance.histogram,
    }


def _text(answer: Answer) -> list[tuple[str, list[tuple[int, str]]]]:
    """Thinking and answer in the pieces that one round wrote; the prefill's first token is of round -1."""
    pieces: dict[str, list[tuple[int, str]]] = {"thinking": [], "answer": []}
    if answer.text is not None:
        texts = {"thinking": answer.text.thinking, "answer": answer.text.answer}
        for number in range(PREFILL, len(answer.rounds) + 1):  # what no round is known of comes last
            for stretch in answer.text.stretches(number):
                text = texts[stretch.section][stretch.start : stretch.end]
                pieces[stretch.section].append((number, escape(text, keep_newlines=True)))
    return list(pieces.items())


def _round(answer: Answer, round_: Round, labels: dict[int, str]) -> dict[str, Any]:
    places = places_of(round_, answer.labels)
    labels.update((place.token_id, place.text) for place in places)
    return {
        "length": round_.acceptance_length,
        "outcome": outcome(round_),
        "ms": {stage: round(stage_ms(round_.ms, stage), 3) for stage in (*STAGES, "total")},
        "places": [
            {
                "parent": -1 if place.parent is None else place.parent,
                "state": place.state,
                "depth": place.depth,
                "row": place.row,
                "id": place.token_id,
                "cells": place.cells,
                "p": place.p,
                "tip": place.tip,
            }
            for place in places
        ],
    }


def _packed(data: object) -> str:
    text = json.dumps(data, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()


def _element(name: str, packed: str) -> str:
    return f'<script type="application/gzip;base64" id="{name}">{packed}</script>\n'


def _part(name: str) -> str:
    return (files("ddtree_tui.export") / name).read_text(encoding="utf-8").rstrip("\n")

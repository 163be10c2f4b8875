from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import WAYS, measurement
from scripted_worker import Script

from ddtree_tui.bench.configuration import Condition, Configuration
from ddtree_tui.bench.plots import axis_end, line_plot, plots, stage_plot, ticks
from ddtree_tui.bench.results import Results
from ddtree_tui.bench.summary import divergences, summarise
from ddtree_tui.bench.table import COLUMNS, LISTED, markdown
from engine.events import StageTimes
from engine.settings import DecodeSettings, LoadSettings

SVG = "{http://www.w3.org/2000/svg}"
TREES = [Configuration("tree", budget) for budget in (16, 64, 256)]


def results(measurements) -> Results:
    return Results(
        command=("ddtree-tui", "bench"),
        complete=True,
        written="now",
        project="0",
        loaded=Script("").loaded(),
        load=LoadSettings(),
        decode=DecodeSettings(),
        tie_gap=0.0,
        sessions=1,
        floor=None,
        groups=summarise(measurements, 0.0),
        divergences=divergences(measurements, 0.0),
        failures=[],
        answers=[],
    )


def several(source: str = "s") -> list:
    lengths = {"ar": [1] * 8, "chain": [2] * 4, "tree": [4] * 2}
    return [
        measurement(str(prompt), way, lengths=lengths[way.mode], ms=10.0 + way.budget + prompt, source=source)
        for prompt in range(3)
        for way in (*WAYS[:2], *TREES)
    ]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_line_of_a_table_has_its_columns():
    text = markdown(results(several()))
    table = [line for line in text.splitlines() if line.startswith("| ")]
    widths = {len(cells(line)) for line in table[:7]}
    assert widths == {len(COLUMNS)}
    chain = dict(zip(COLUMNS, cells(table[3]), strict=True))
    assert chain["acceptance length"] == "2.00"
    assert chain["lossless"] == "3 of 3"
    assert chain["round ms"] == "2.75"
    assert chain["tokens/s"].startswith("727.3 (")
    # A histogram in shares of rounds.
    assert cells(table[-1]) == ["tree(256)", "", "", "", "100%"]


@given(st.text(min_size=1))
def test_names_cannot_break_a_table_or_a_picture(name):
    """Sources come from file names: data, whatever is in them."""
    found = results([*several(name), *several("other")])
    lines = markdown(found).splitlines()
    table = [line for line in lines if line.startswith("| tree(64) |")]
    assert len(table) == 2 * 3  # of all, of both sources; a histogram each
    assert {len(cells(line)) for line in table} <= {len(COLUMNS), 5}
    for picture in plots(found).values():
        ET.fromstring(picture)


def test_long_lists_of_differences_are_cut():
    ones = [
        measurement(str(prompt), way, ids=[1, way == WAYS[0]], lengths=[1])
        for prompt in range(30)
        for way in WAYS[:2]
    ]
    text = markdown(results(ones))
    assert text.count("- defect: chain") == LISTED
    assert "- and 10 more" in text


def test_lines_go_through_what_was_measured():
    """Read the picture back: pixels to numbers by the axis labels."""
    measurements = [
        measurement("a", way, lengths=[length] * 10)
        for way, length in zip((*WAYS[:2], *TREES), (1, 2, 3, 4, 6), strict=True)
    ]
    root = ET.fromstring(line_plot(summarise(measurements, 0.0), "t", lambda row: row.acceptance))
    texts = [(float(one.get("x", 0)), float(one.get("y", 0)), one.text) for one in root.iter(f"{SVG}text")]
    axis = {float(text): y - 4 for x, y, text in texts if x == 56}
    zero, one = axis[0], axis[1]
    marks = [one.get("points", "") for one in root.iter(f"{SVG}polygon")][1:]  # the first is the legend's
    values = []
    for mark in marks:
        ys = [float(point.split(",")[1]) for point in mark.split()]
        values.append((zero - (min(ys) + max(ys)) / 2) / (zero - one))
    assert values == pytest.approx([3, 4, 6], abs=0.05)
    assert [text for _, _, text in texts if text in ("16", "64", "256")] == ["16", "64", "256"]
    levels = [one for one in root.iter(f"{SVG}polyline") if one.get("stroke-dasharray")]
    heights = [float(one.get("points", "").split()[0].split(",")[1]) for one in levels]
    assert [(zero - height) / (zero - one) for height in heights] == pytest.approx([1, 2], abs=0.05)


def test_budgets_that_the_engine_chose_have_a_level_line():
    way = Configuration("tree", 0)
    found = [*several(), *(measurement(str(prompt), way, lengths=[4] * 2, ms=9.0) for prompt in range(3))]
    names = [row.name for row in results(found).groups[0].rows]
    assert names == ["ar", "chain", "tree(16)", "tree(64)", "tree(256)", "tree(auto)"]
    assert b">tree(auto)<" in plots(results(found))["speed.svg"]
    only = [one for one in found if one.way.mode != "tree" or one.way.auto]
    assert set(plots(results(only))) == {"stages.svg"}


def test_stages_end_to_end_make_up_the_round():
    ms = StageTimes(draft=2.0, build=1.0, verify=4.0, walk=0.5, commit=1.5, total=10.0)
    one = msgspec.structs.replace(measurement("a", WAYS[2], lengths=[4]), ms=ms)
    root = ET.fromstring(stage_plot(summarise([one], 0.0), "t"))
    bars = [one for one in root.iter(f"{SVG}rect") if one.get("height") == "17.0"]
    widths = [float(one.get("width", 0)) for one in bars]
    starts = [float(one.get("x", 0)) for one in bars]
    assert [width / sum(widths) for width in widths] == pytest.approx(
        [0.2, 0.1, 0.4, 0.05, 0.15, 0.1], abs=0.002
    )
    for start, width, following in zip(starts, widths, starts[1:], strict=False):
        assert start + width == pytest.approx(following, abs=0.2)


@given(st.floats(1e-6, 1e9))
def test_axes_are_marked_at_a_few_round_numbers(value):
    end = axis_end(value)
    marks = ticks(end)
    assert value <= end
    assert marks[0] == 0
    assert end * 0.7 <= marks[-1] <= end * (1 + 1e-6)
    assert 4 <= len(marks) <= 11


def test_nothing_measured_makes_no_picture():
    empty = results([measurement("a", lengths=[], ms=0.0)])
    assert plots(empty) == {}
    assert markdown(empty).endswith("\n")
    assert axis_end(0.0) == 1.0


def test_conditions_have_a_line_each():
    ones = [
        measurement("a", way, lengths=[2], condition=condition)
        for way in TREES
        for condition in (Condition(), Condition(thinking=True))
    ]
    pictures = plots(results(ones))
    assert set(pictures) == {"stages.svg", "acceptance.svg", "speed.svg"}
    labels = [one.text for one in ET.fromstring(pictures["speed.svg"]).iter(f"{SVG}text")]
    assert "thinking off" in labels
    assert "thinking" in labels

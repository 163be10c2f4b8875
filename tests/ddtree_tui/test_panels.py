"""Every panel says what its numbers are, at every width, with much and with nothing to say."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import Recording, loaded
from rich.cells import cell_len

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels import acceptance, calibration, hits, marginal, speed, time
from ddtree_tui.panels.arrangement import COLUMN_CELLS, COLUMNS, PANELS, arrange
from ddtree_tui.panels.panel import ROLES, Panel, compact
from ddtree_tui.session import Session
from ddtree_tui.statistics.report import (
    BinPart,
    ExpectedPart,
    FloorPart,
    HitMap,
    HitsPart,
    MarginalPart,
    MemoryPart,
    Report,
    SmallerPart,
    WayPart,
)
from ddtree_tui.statistics.scope import Scope
from engine.settings import DecodeSettings

MODES = ("ar", "chain", "tree")


def report_of(*modes: str, rounds: int = 60) -> Report:
    session, recording = Session(), Recording(5)
    session.apply(loaded())
    for mode in modes:
        for event in recording.answer("hello", settings=DecodeSettings(mode=mode), rounds=rounds):
            session.apply(event)
    return session.statistics.report(Scope.ALL, None)


EMPTY, FULL = report_of(), report_of(*MODES)


def text(panel: Panel, report: Report, width: int = 70, *, plain: bool = False) -> list[str]:
    lines = panel.draw(report, Graphics(plain=plain), width)
    return ["".join(part for part, _ in line).rstrip() for line in lines]


@pytest.mark.parametrize("width", [COLUMN_CELLS, 78, 117, 158, 198, 238])
@pytest.mark.parametrize("plain", [False, True])
def test_all_lines_are_as_wide_as_the_screen_and_nothing_is_cut(width, plain):
    for report in (EMPTY, FULL, report_of("tree", rounds=3000)):
        lines = arrange(report, Graphics(plain=plain), width)
        (cells,) = {sum(cell_len(part) for part, _ in line) for line in lines}
        assert width - 2 <= cells <= width  # three columns may leave a rest
        assert {role for line in lines for _, role in line} <= {*ROLES, ""}
        shown = "\n".join("".join(part for part, _ in line) for line in lines)
        assert not plain or shown.isascii()
        for panel in PANELS:
            assert panel.title in shown
            assert Graphics(plain=plain).words(panel.how) in shown


def test_no_panel_draws_wider_than_its_column():
    large = msgspec.structs.replace(
        FULL,
        floor=FloorPart(floor_ms=100.0, round_ms=1000.0, share=1.0),
        memory=MemoryPart(loaded=10**11, of="device", now=10**11, peak=10**11),
        ways=[WayPart(name="tree 1024", rounds=10**6, tokens_per_second=1e4, over_ar=10.0, over_chain=10.0)],
    )
    for report in (EMPTY, FULL, large, report_of("tree", rounds=3000)):
        for panel in PANELS:
            for line in panel.lines(report, Graphics(), COLUMN_CELLS):
                assert sum(cell_len(part) for part, _ in line) <= COLUMN_CELLS, (panel.title, line)


def test_columns_hold_every_panel_once():
    for columns in COLUMNS:
        assert sorted(panel.title for column in columns for panel in column) == sorted(
            panel.title for panel in PANELS
        )
    assert all(panel.help and panel.how for panel in PANELS)


def test_nothing_yet():
    for panel in PANELS:
        assert text(panel, EMPTY)[0] == "nothing yet", panel.title
    assert text(marginal.PANEL, report_of("chain"))[0] == "only rounds in mode tree have a budget"


def test_acceptance_marks_the_last_round():
    part = msgspec.structs.replace(FULL.acceptance, last=2, mean=2.5, histogram=[0, 1, 4, 2])
    expected = ExpectedPart(rounds=7, expected=4.0, realised=3.0)
    report = msgspec.structs.replace(FULL, acceptance=part, expected=expected)
    lines = text(acceptance.PANEL, report)
    assert lines[:2] == [
        f"last 2  mean of {FULL.rounds} rounds 2.50",
        "drafter expected 4.00  got 3.00 (75%) in 7 rounds",
    ]
    assert lines[-2].split() == ["██", "██", "██"]
    assert lines[-1].split() == ["1", "2", "3", "4", "5", "6", "7", "8"]
    drawn = acceptance.draw(report, Graphics(), 70)
    assert [part for part, role in drawn[-1] if role == "shown"] == ["2  "]


def test_speed_compares_ways():
    ways = [
        WayPart(name="ar", rounds=10, tokens_per_second=20.0, over_ar=1.0, over_chain=None),
        WayPart(name="tree 64", rounds=1234, tokens_per_second=50.0, over_ar=2.5, over_chain=None),
    ]
    lines = text(speed.PANEL, msgspec.structs.replace(FULL, ways=ways))
    assert lines[-2].split() == ["ar", "20.0", "1.00", "–", "10"]
    assert lines[-1].split() == ["tree", "64", "50.0", "2.50", "–", "1,234"]


def test_time_shows_the_floor_where_there_is_one():
    assert not any("floor" in line for line in text(time.PANEL, FULL))
    floor = FloorPart(floor_ms=8.0, round_ms=10.0, share=0.8)
    lines = text(time.PANEL, msgspec.structs.replace(FULL, floor=floor))
    assert any(line.startswith("floor ████") and line.endswith("8.00 ms of 10.00: 80%") for line in lines)
    assert lines[-1] == "memory: models 90 MB"
    bar = lines[0]
    assert len(bar) == 70
    verify = next(stage.share for stage in FULL.stages if stage.name == "verify")
    assert bar.count("█") == pytest.approx(70 * verify, abs=1)


def test_hits_shade_and_number_each_cell():
    spine = HitMap(tries=[10, 4], taken=[[9, 1, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0]], first_choice=13 / 14)
    branches = HitMap(tries=[0, 3], taken=[[0] * 7, [1, 0, 2, 0, 0, 0, 0]], first_choice=1 / 3)
    rows = ["#0", "#1", "#2", "#3", "#4-7", "#8-15", "#16+"]
    part = HitsPart(rows=rows, spine=spine, branches=branches, spine_at_same_depths=1.0)
    report = msgspec.structs.replace(FULL, hits=part)
    assert text(hits.PANEL, report) == [
        "spine: first choices all along (■ always, · never)",
        "depth     1   2",
        "    #0   90   ■",
        "    #1   10   ·",
        "    #2    ·   ·",
        "times    10   4",
        "branches: once it has taken another choice",
        "    #0       33",
        "    #1        ·",
        "    #2       67",
        "times         3",
        "#0 right: spine 93%  branches 33% (spine there 100%)",
    ]
    roles = {part: role for line in hits.draw(report, Graphics(), 70) for part, role in line}
    heats = [roles[cell] for cell in ("  90", "  10", "  33", "  67")]
    assert heats == ["heat-4", "heat-0", "heat-1", "heat-3"]
    narrow = text(hits.PANEL, report, 14)
    assert narrow[1:3] == ["depth    1  2", "    #0  90  ■"]
    no_branches = msgspec.structs.replace(part, branches=HitMap(tries=[], taken=[], first_choice=None))
    lines = text(hits.PANEL, msgspec.structs.replace(FULL, hits=no_branches))
    assert "branches: the path never left the first choices" in lines
    many = msgspec.structs.replace(spine, tries=[1000, 400])
    report = msgspec.structs.replace(FULL, hits=msgspec.structs.replace(part, spine=many))
    assert text(hits.PANEL, report)[5] == "times    1k 400"
    assert text(hits.PANEL, report, 14)[5:7] == ["times   1k", "          400"]


def test_calibration_sets_what_was_got_against_what_was_said():
    bins = [
        BinPart(low=0.0, high=0.001, nodes=0, probability=None, accepted=None),
        BinPart(low=0.5, high=0.7, nodes=1200, probability=0.6, accepted=0.5),
    ]
    lines = text(calibration.PANEL, msgspec.structs.replace(FULL, calibration=bins), 74)
    assert lines[1].split() == [".5–.7", "1,200", "█" * 20, "┃", "50%", "60%"]
    assert lines[2].split() == ["0–.001", "0"]
    assert lines[1].index("┃") - lines[1].index("█") == 24


def test_marginal_names_what_the_last_nodes_bought():
    part = MarginalPart(
        rounds=10,
        budget=32,
        tokens_per_round=4.0,
        smaller=[
            SmallerPart(budget=16, tokens_per_round=3.9, change=-0.1),
            SmallerPart(budget=8, tokens_per_round=4.0, change=-0.001),
        ],
        curve=[1.0] + [4.0] * 32,
    )
    lines = text(marginal.PANEL, msgspec.structs.replace(FULL, marginal=part))
    assert lines[0] == "last 16 of 32 nodes: 0.10 tokens a round (2.5%)"
    assert lines[1].startswith(" 4.00 ")
    assert lines[4].startswith(" 1.00 ")
    assert lines[5].split() == ["0", "16", "32", "nodes"]
    assert lines[6] == "tokens a round at 16 nodes -0.10  at 8 0.00"


def test_counts_in_three_cells():
    assert [compact(n) for n in (7, 999, 1000, 99_999, 100_000, 5_000_000)] == [
        "7", "999", "1k", "99k", "1M", "5M",
    ]  # fmt: skip

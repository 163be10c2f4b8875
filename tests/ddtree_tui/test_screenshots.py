"""The script that makes the pictures, on a recording instead of the demo pair."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from make_recording import conversation

from ddtree_tui.screenshots import SCENES, how_telling, main
from engine.event_lines import encode_event
from engine.events import Round


def test_scenes_cover_what_is_asked_for() -> None:
    sizes = {(scene.columns, scene.rows) for scene in SCENES}
    assert {(160, 48), (120, 40), (80, 24)} <= sizes
    assert any(scene.light for scene in SCENES)
    assert any(scene.settings.thinking for scene in SCENES)


def test_pictures_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(b"".join(encode_event(event) + b"\n" for event in conversation(0)))
    out = tmp_path / "pictures"
    assert main(["wide", "small", "--replay", str(trace), "--out", str(out), "--no-png"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["small.svg", "wide.svg"]
    assert str(out / "wide.svg") in capsys.readouterr().out
    for path in out.iterdir():
        text = "".join(ElementTree.parse(path).getroot().itertext())
        assert "★" in text
        assert "\u200b" not in text


def test_a_telling_round_has_a_near_miss() -> None:
    rounds = [event for event in conversation(0) if isinstance(event, Round)]
    best = max(rounds, key=how_telling)
    assert best.miss is not None
    assert not best.miss.beyond


def test_unknown_scenes_are_refused() -> None:
    with pytest.raises(SystemExit):
        main(["nowhere"])


def test_the_tree_is_pictured_with_a_cursor_and_as_an_overview(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    events = conversation(0, budget=1024, detail=True)
    trace.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    assert main(["node", "overview", "--replay", str(trace), "--out", str(tmp_path), "--no-png"]) == 0
    node, overview = (
        "".join(ElementTree.parse(tmp_path / f"{name}.svg").getroot().itertext()).replace("\u00a0", " ")
        for name in ("node", "overview")
    )
    assert "near miss · depth" in node
    assert "drafter here" in node
    assert "nodes, p " in overview

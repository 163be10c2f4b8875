"""Pairs loaded lately."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_tui.recent import MOST, RecentPair, recent_pairs, remember


def test_the_newest_come_first_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "recent.json"
    for number in range(MOST + 3):
        remember(path, RecentPair(f"/models/{number}", "/drafter"))
    remember(path, RecentPair("/models/5", "/drafter"))
    pairs = recent_pairs(path)
    assert [pair.model for pair in pairs[:2]] == ["/models/5", f"/models/{MOST + 2}"]
    assert len(pairs) == len(set(pairs)) == MOST
    assert [other.name for other in path.parent.iterdir()] == ["recent.json"]


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff", b'[{"model": "a", "b": ' + b"[" * 100_000])
def test_what_is_no_list_counts_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recent.json"
    assert recent_pairs(path) == []
    path.write_bytes(content)
    assert recent_pairs(path) == []
    remember(path, RecentPair("a"))
    assert recent_pairs(path) == [RecentPair("a")]


def test_a_place_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "recent.json", RecentPair("a"))

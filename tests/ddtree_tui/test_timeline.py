"""The timeline: a bar per round, the shown one marked, a window that follows it."""

from __future__ import annotations

import pytest
from make_recording import Recording, conversation
from playing import Playing, replaying

from ddtree_tui.glyphs import BARS
from ddtree_tui.widgets.timeline import LABEL_CELLS
from engine.events import AnyEvent

BEGIN = 1 + LABEL_CELLS
"""The first column of the bars on a screen as wide as these."""


def heights(play: Playing) -> list[int]:
    """Height of every bar in eighths of a row, read from the screen."""
    *rows, _marks, _axis = play.part("#timeline").split("\n")
    width = max(len(row) for row in rows)
    columns = zip(*(row.ljust(width) for row in rows), strict=True)
    eighths = [sum(BARS.index(cell) for cell in column if cell in BARS) for column in columns]
    return eighths[BEGIN:]


@pytest.mark.parametrize("rounds", [10, 60])
async def test_bars_are_acceptance_lengths(rounds: int) -> None:
    async with replaying(conversation(1, rounds=rounds)) as play:
        lengths = [round_.acceptance_length for _, round_ in play.controller.session.rounds]
        shown = heights(play)
        step = 3 if rounds == 10 else 1
        scale = max(8, *lengths)
        for index, length in enumerate(lengths):
            assert shown[index * step] == max(1, round(length * 16 / scale))


async def test_the_window_follows_the_shown_round() -> None:
    async with replaying(conversation(1, rounds=400)) as play:
        await play.pilot.press("u")
        await play.settle()
        assert play.part("#timeline").rstrip().endswith("400▲")
        await play.pilot.press("home")
        await play.settle()
        axis = play.part("#timeline").split("\n")[-1]
        assert axis[BEGIN:].startswith("▲1")
        assert axis.rstrip().endswith(str(118 - LABEL_CELLS))
        play.controller.show(199)
        play.app.changed()
        await play.settle()
        axis = play.part("#timeline").split("\n")[-1]
        assert "▲200" in axis
        assert 40 < axis.index("▲") < 80
        await play.pilot.click("#timeline", offset=(axis.index("▲") + 10, 1))
        await play.settle()
        assert play.controller.viewpoint.index(400) == 209


async def test_how_rounds_missed_is_marked() -> None:
    async with replaying(conversation(1, rounds=60)) as play:
        line = play.part("#timeline").split("\n")[-2]
        marks, meanings = line[BEGIN : BEGIN + 60], line[BEGIN + 60 :]
        for sign, (_, round_) in zip(marks, play.controller.session.rounds, strict=True):
            missed = round_.miss
            assert sign == (" " if missed is None else "×" if missed.beyond else "→")
        assert ("→ near miss" in meanings) == ("→" in marks)
        assert ("× not on the drafter's list" in meanings) == ("×" in marks)


async def test_answers_are_parted() -> None:
    recording = Recording(1)
    events: list[AnyEvent] = [*recording.start()]
    for prompt in ("one", "two", "three"):
        events += recording.answer(prompt, rounds=5)
    async with replaying(events) as play:
        assert play.part("#timeline").split("\n")[0].count("┊") == 2
        await play.pilot.click("#timeline", offset=(BEGIN + 3 * 5, 0))  # the border is no round
        await play.settle()
        assert play.controller.viewpoint.following
        await play.pilot.click("#timeline", offset=(BEGIN + 3 * 6, 0))
        await play.settle()
        assert play.controller.viewpoint.index(15) == 5
        assert "❯ two" in play.part("#transcript")
        assert "answer 2, round 1 of 5" in play.part("#heading")
        axis = play.part("#timeline").split("\n")[-1][BEGIN:]
        assert axis.startswith("answer 1")
        assert axis[18:].startswith("▲1")
        assert axis[36:].startswith("answer 3")


async def test_its_lines_are_named() -> None:
    async with replaying(conversation(1, rounds=20)) as play:
        names = [line[1:BEGIN].strip() for line in play.part("#timeline").split("\n")]
        assert names == ["tokens", "", "miss", "round"]
    async with replaying(conversation(1, rounds=20), size=(80, 24)) as play:
        assert "tokens" not in play.part("#timeline")

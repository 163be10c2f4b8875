"""Where a drawing puts a tree's places, for every kind of round."""

from __future__ import annotations

import pytest
from make_recording import Recording

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.export.places import outcome, places_of
from engine.events import Round
from engine.settings import DecodeSettings, Mode


def label(token_id: int) -> tuple[str, int]:
    return f"t{token_id}", len(f"t{token_id}")


def rounds(mode: Mode = "tree", budget: int = 64) -> list[Round]:
    answer = Recording(3).answer("x", rounds=30, settings=DecodeSettings(mode=mode, budget=budget))
    return [event for event in answer if isinstance(event, Round)]


@pytest.mark.parametrize(
    ("mode", "budget"), [("ar", 64), ("chain", 64), ("tree", 1), ("tree", 64), ("tree", 1024)]
)
def test_every_place_is_drawn_once_and_no_two_on_one_spot(mode: Mode, budget: int) -> None:
    for round_ in rounds(mode, budget)[:: 10 if budget == 1024 else 1]:
        shape = DraftShape.of(round_)
        places = places_of(round_, label)
        expected = {ROOT, *range(len(round_.nodes.ids)), *shape.extras(shape.end)}
        assert sorted(place.place for place in places) == sorted(expected)
        assert len({(place.row, place.depth) for place in places}) == len(places)
        assert places[0].place == ROOT
        for index, place in enumerate(places[1:], 1):
            assert place.parent is not None
            assert place.parent < index
            parent = places[place.parent]
            assert parent.depth == place.depth - 1
            assert parent.row <= place.row
            own = round_.nodes.parents[place.place] if place.place >= 0 else shape.end
            assert parent.place == own
            # A line to the right crosses nothing: between parent and place the row is free.
            if parent.row == place.row:
                assert not any(p.row == place.row and parent.depth < p.depth < place.depth for p in places)


def test_the_accepted_path_and_the_bonus_are_the_first_row() -> None:
    for round_ in rounds():
        by_place = {place.place: place for place in places_of(round_, label)}
        for node in round_.accepted:
            assert by_place[node].row == 0
            assert by_place[node].state == "accepted"
        if round_.bonus_id is not None:
            assert by_place[BONUS].row == 0
            assert by_place[BONUS].edge == "accepted"
        if NEAR_MISS in by_place:
            assert round_.miss is not None
            assert by_place[NEAR_MISS].p.startswith(f"#{round_.miss.rank} ")


def test_the_line_under_a_drawing_says_what_the_round_did() -> None:
    for round_ in rounds():
        said = outcome(round_)
        assert said.startswith(f"{len(round_.accepted)} of {len(round_.nodes.ids)} accepted")
        assert f"= {round_.acceptance_length} token" in said
        assert "tree 64" in said
        assert ("★" in said) == (round_.bonus_id is not None)
    assert outcome(rounds("ar")[0]).startswith("one token, nothing drafted · ar · ")

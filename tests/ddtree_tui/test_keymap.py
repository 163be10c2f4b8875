"""Keys as the user wants them."""

from __future__ import annotations

import pytest

from ddtree_tui.keymap import is_key, laid_over, normal, renamed
from ddtree_tui.keys import Key
from ddtree_tui.playground import KEYS

BACK = Key("round.back", "move_round(-1)", "back", always="f3", free="left,left_square_bracket")
FORTH = Key("round.forth", "move_round(1)", "forth", always="f4", free="right")
STOP = Key("run.stop", "stop", "stop", free="escape")
IN_TREE = Key("tree.up", "tree_up", "up", free="left", pane="tree")
SOME = (BACK, FORTH, STOP, IN_TREE)


def by_id(keymap, name: str) -> Key:
    return next(key for key in keymap.keys if key.id == name)


def test_without_wishes_nothing_changes() -> None:
    keymap = laid_over(KEYS, {})
    assert keymap.keys == KEYS
    assert keymap.bindings == {}
    assert keymap.problems == ()


def test_a_wish_replaces_all_keys() -> None:
    keymap = laid_over(SOME, {"round.back": "h, Ctrl+B"})
    back = by_id(keymap, "round.back")
    assert (back.always, back.free) == ("ctrl+b", "h")
    assert keymap.bindings == {"round.back": "ctrl+b", "round.back.free": "h"}
    assert keymap.problems == ()
    assert by_id(keymap, "round.forth") == FORTH


def test_a_wish_takes_a_key_from_whom_it_was() -> None:
    keymap = laid_over(SOME, {"run.stop": "f4"})
    assert by_id(keymap, "round.forth").always == ""
    assert by_id(keymap, "round.forth").free == "right"
    assert keymap.problems == ("keys.run.stop: f4 is not round.forth any more.",)
    assert keymap.bindings["round.forth"].startswith("no-key")


def test_two_wishes_for_one_key_are_told() -> None:
    keymap = laid_over(SOME, {"round.back": "h", "round.forth": "h,l"})
    assert by_id(keymap, "round.back").free == "h"
    assert by_id(keymap, "round.forth").free == "l"
    assert keymap.problems == ("keys.round.forth: h is round.back already.",)


def test_two_keys_can_change_places() -> None:
    keymap = laid_over(SOME, {"round.back": "f4", "round.forth": "f3"})
    assert keymap.problems == ()
    assert by_id(keymap, "round.back").always == "f4"


def test_a_pane_may_have_the_same_key() -> None:
    keymap = laid_over(SOME, {"tree.up": "h", "run.stop": "h"})
    assert keymap.problems == ()
    assert keymap.bindings["tree.up"] == "h"


def test_what_is_no_name_and_what_is_no_key_are_told() -> None:
    keymap = laid_over(SOME, {"round.bakc": "h", "run.stop": "hyper space,x"})
    assert keymap.problems == (
        "keys.round.bakc: there is no such key (did you mean round.back?).",
        "keys.run.stop: 'hyper space' is no key.",
    )
    assert by_id(keymap, "run.stop").free == "x"


def test_a_key_can_be_taken_away() -> None:
    assert by_id(laid_over(SOME, {"run.stop": ""}), "run.stop").all_keys() == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("[", "left_square_bracket"),
        ("?", "question_mark"),
        ("+", "plus"),
        ("Ctrl+O", "ctrl+o"),
        ("T", "T"),
        ("ctrl++", "ctrl++"),
        ("F12", "f12"),
        ("-", "minus"),
        ("/", "slash"),
        ("Left", "left"),
    ],
)
def test_keys_may_be_written_as_on_the_keyboard(written: str, name: str) -> None:
    assert normal(written) == name
    assert is_key(name) == (written != "ctrl++")


def test_hints_are_written_with_the_keys_in_force() -> None:
    after = laid_over(SOME, {"round.back": "h", "round.forth": "ctrl+l", "run.stop": ""}).keys
    hints = [("← →", "round", "move_round(-1)"), ("Esc", "stop", "stop"), ("← →", "turn", "")]
    assert renamed(hints, SOME, after) == [("h ^L", "round", "move_round(-1)"), ("← →", "turn", "")]
    assert renamed(hints, SOME, SOME) == hints

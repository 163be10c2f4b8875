"""Keys, hints and the help screen name things that exist."""

from __future__ import annotations

import itertools

from ddtree_tui.hints import Situation, hints
from ddtree_tui.keys import BINDINGS, HELP, MAIN_SCREEN_ACTIONS
from ddtree_tui.playground import PlaygroundApp

SPELLED = {
    "Space": "space",
    "←": "left",
    "→": "right",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "-": "minus",
    "+": "plus",
    "/": "slash",
}
ELSEWHERE = {"Enter", "Esc", "Tab", "Shift+←", "↑", "↓", "Ctrl+P"}


def has_action(action: str) -> bool:
    return hasattr(PlaygroundApp, "action_" + action.partition("(")[0])


def test_every_binding_does_something() -> None:
    assert all(has_action(binding.action) for binding in BINDINGS)
    assert "stop" in MAIN_SCREEN_ACTIONS
    assert "quit" not in MAIN_SCREEN_ACTIONS


def test_every_hint_does_something() -> None:
    for flags in itertools.product((False, True), repeat=7):
        found = hints(Situation(*flags))
        assert found
        assert len({(key, what) for key, what, _ in found}) == len(found)
        for _key, _what, action in found:
            assert not action or has_action(action), action
        assert "quit" in [action for _, _, action in found]


def test_the_help_screen_names_bound_keys() -> None:
    bound = {key for binding in BINDINGS for key in binding.key.split(",")}
    for everywhere, outside, _ in HELP[1:]:
        for key in (*everywhere.split(), *outside.split()):
            if key in ELSEWHERE or key == "→":
                continue
            name = SPELLED.get(key, key if len(key) == 1 else key.lower())
            assert name in bound, key

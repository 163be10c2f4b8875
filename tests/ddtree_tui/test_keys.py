"""Keys, hints and the help screen name things that exist."""

from __future__ import annotations

import itertools
from dataclasses import fields

from ddtree_tui.hints import Situation, hints
from ddtree_tui.keys import dialog_safe, spelled
from ddtree_tui.playground import KEYS, MAIN_SCREEN_ACTIONS, PlaygroundApp

BINDINGS = [binding for key in KEYS for binding in key.bindings()]


def has_action(action: str) -> bool:
    return hasattr(PlaygroundApp, "action_" + action.partition("(")[0])


def test_every_binding_does_something() -> None:
    assert all(has_action(binding.action) for binding in BINDINGS)
    assert "stop" in MAIN_SCREEN_ACTIONS
    assert "quit" not in MAIN_SCREEN_ACTIONS


def test_every_hint_does_something() -> None:
    for flags in itertools.product((False, True), repeat=len(fields(Situation))):
        found = hints(Situation(*flags))
        assert found
        assert len({(key, what) for key, what, _ in found}) == len(found)
        for _key, _what, action in found:
            assert not action or has_action(action), action
        assert "quit" in [action for _, _, action in found]


def test_no_key_does_two_things() -> None:
    bound = [key for binding in BINDINGS for key in binding.key.split(",")]
    assert len(bound) == len(set(bound))


def test_every_key_has_a_name_of_its_own_and_says_what_it_does() -> None:
    names = [binding.id for binding in BINDINGS]
    assert len(names) == len(set(names))
    assert all(key.help and (key.always or key.free) for key in KEYS)


def test_keys_are_spelled_as_on_a_keyboard() -> None:
    assert spelled("f3,left,left_square_bracket") == "F3 ← ["
    assert spelled("ctrl+o") == "Ctrl+O"
    assert spelled("T,f,end,question_mark") == "T f End ?"
    assert spelled("") == ""


def test_what_works_in_dialogs() -> None:
    assert {"quit", "next_theme", "command_palette"} == dialog_safe(KEYS)

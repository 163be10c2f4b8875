"""What a key is. The areas of the app list theirs beside the actions (``ddtree_tui.actions``).

From these lists come the bindings, the help screen and the command palette, so that nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding

NAMES = {
    "escape": "Esc",
    "space": "Space",
    "enter": "Enter",
    "home": "Home",
    "end": "End",
    "tab": "Tab",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "minus": "-",
    "plus": "+",
    "slash": "/",
    "question_mark": "?",
    "comma": ",",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "colon": ":",
    "equals_sign": "=",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "number_sign": "#",
}

ARROWS = {"←↑↓→": "Arrows", "←": "Left", "→": "Right", "↑": "Up", "↓": "Down"}


@dataclass(frozen=True)
class Key:
    """One thing the user can do on the main screen, and the keys for it.

    Attributes:
        id: its name in the keymap of the configuration file, as ``round.back``.
        action: what runs, as Textual writes it: ``move_round(-1)``.
        help: what it does, for the help screen.
        title: the same in a few words, for the command palette; without one it is not listed there.
        always: keys that also work while one types: function and control keys, parted by commas.
        free: keys that work where nothing is typed.
        in_dialogs: it also works while a dialog is open.
        pane: the pane whose key it is: it works while that has the focus. Empty: the whole main screen.
    """

    id: str
    action: str
    help: str
    title: str = ""
    always: str = ""
    free: str = ""
    in_dialogs: bool = False
    pane: str = ""

    def bindings(self) -> list[Binding]:
        """The app's bindings: one for the keys that always work, one for the others; none of a pane's key.

        Both are there even without keys, so that a keymap can give them some."""
        if self.pane:
            return []
        (always, its_keys), (free, free_keys) = self.keymap().items()
        return [
            Binding(its_keys, self.action, self.help, show=False, priority=True, id=always),
            Binding(free_keys, self.action, self.help, show=False, id=free),
        ]

    def keymap(self) -> dict[str, str]:
        """Its bindings by id, each with its keys, as Textual's keymaps have them."""
        nothing = f"no-key.{self.id}"  # Textual takes no empty text; no terminal sends this
        if self.pane:
            return {self.id: self.free or nothing}
        return {self.id: self.always or nothing, f"{self.id}.free": self.free or f"{nothing}.free"}

    def all_keys(self) -> list[str]:
        """All keys for it, those that always work first."""
        return [name for keys in (self.always, self.free) for name in keys.split(",") if name]


def pane_bindings(keys: Iterable[Key]) -> list[Binding]:
    """What a pane binds of its keys; the actions are the app's."""
    return [Binding(key.free, f"app.{key.action}", key.help, show=False, id=key.id) for key in keys]


def dialog_safe(keys: Iterable[Key]) -> frozenset[str]:
    """Names of actions that may run while a dialog is open."""
    return frozenset(key.action.partition("(")[0] for key in keys if key.in_dialogs)


def in_words(text: str, *, plain: bool) -> str:
    """Keys as they are shown. In ASCII arrows are words: its signs for them are keys of their own."""
    if plain:
        for arrow, word in ARROWS.items():
            text = text.replace(arrow, word)
    return text


def spelled(keys: str) -> str:
    """Textual's names of keys as they are printed on keyboards: ``f3,ctrl+o`` is ``F3 Ctrl+O``."""
    return " ".join(_spelled(key) for key in keys.split(",") if key)


def shortly(key: str) -> str:
    """One key as the last line writes it: ``ctrl+o`` is ``^O``."""
    control, _, letter = key.partition("+")
    return f"^{letter.upper()}" if control == "ctrl" and len(letter) == 1 else spelled(key)


def _spelled(key: str) -> str:
    *modifiers, name = key.split("+")
    if name in NAMES:
        name = NAMES[name]
    elif modifiers or (name[0] == "f" and name[1:].isdigit()):
        name = name.upper()
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])

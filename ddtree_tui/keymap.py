"""The keys as the user wants them: the keymap of the configuration laid over the keys of the app. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from textual.keys import KEY_NAME_REPLACEMENTS

from ddtree_tui.close_names import meant
from ddtree_tui.keys import Key, shortly

_FUNCTION = re.compile(r"f\d{1,2}")
_NAME = re.compile(r"[a-z][a-z_0-9]*|[A-Za-z0-9]")
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "meta", "super", "hyper"})


@dataclass(frozen=True)
class Keymap:
    """The keys in force, what Textual has to be told of them, and what in the user's wishes will not do."""

    keys: tuple[Key, ...]
    bindings: Mapping[str, str]
    problems: tuple[str, ...]


def laid_over(keys: Sequence[Key], wishes: Mapping[str, str]) -> Keymap:
    """The app's ``keys`` where ``wishes`` (a key's id -> its keys, parted by commas) replace some.

    What a wish names is taken from keys that have it by default; of two wishes for one key, the first has it.
    """
    known = {key.id: key for key in keys}
    problems: list[str] = []
    wished: dict[str, list[str]] = {}
    for name, text in wishes.items():
        if name not in known:
            problems.append(f"keys.{name}: there is no such key{meant(name, known)}.")
            continue
        parts = [normal(part) for part in _parts(text)]
        if unreadable := [part for part in parts if not is_key(part)]:
            problems.append(f"keys.{name}: {unreadable[0]!r} is no key.")
        wished[name] = [part for part in parts if is_key(part)]
    taken: dict[tuple[str, str], str] = {}
    for name, parts in wished.items():
        for part in [*parts]:
            owner = taken.setdefault((known[name].pane, part), name)
            if owner != name:
                problems.append(f"keys.{name}: {part} is {owner} already.")
                parts.remove(part)
    made = []
    for key in keys:
        if key.id in wished:
            made.append(_with(key, wished[key.id]))
            continue
        lost = [part for part in key.all_keys() if (key.pane, part) in taken]
        problems += [f"keys.{taken[key.pane, part]}: {part} is not {key.id} any more." for part in lost]
        made.append(_without(key, lost) if lost else key)
    changed = [(before, after) for before, after in zip(keys, made, strict=True) if before != after]
    bindings = {name: text for _, after in changed for name, text in after.keymap().items()}
    return Keymap(tuple(made), bindings, tuple(problems))


def renamed(
    hints: Iterable[tuple[str, str, str]], before: Sequence[Key], after: Sequence[Key]
) -> list[tuple[str, str, str]]:
    """Hints (keys as written, what they do, action) written for the keys ``before``, as they are ``after``.

    Hints without an action are of a widget's own keys and stay; those of an action that lost all keys go.
    """
    found = []
    for text, what, action in hints:
        if action:
            parts = [_renamed(part, before, after) for part in text.split(" ")]
            text = " ".join(part for part in parts if part)
        if text:
            found.append((text, what, action))
    return found


def normal(part: str) -> str:
    """A key as Textual names it: ``[`` is ``left_square_bracket``; ``Ctrl+O`` is ``ctrl+o``."""
    *modifiers, name = part.split("+") if len(part) > 1 and not part.endswith("+") else [part]
    if len(name) == 1 and not name.isalnum():
        name = unicodedata.name(name, "").lower().replace("-", "_").replace(" ", "_")
        name = KEY_NAME_REPLACEMENTS.get(name, name)
    elif len(name) > 1 or modifiers:
        name = name.lower()
    return "+".join([*(modifier.lower() for modifier in modifiers), name])


def is_key(name: str) -> bool:
    """Whether it can be the name of a key, as ``normal`` writes it."""
    *modifiers, last = name.split("+")
    return set(modifiers) <= _MODIFIERS and bool(_NAME.fullmatch(last))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _with(key: Key, parts: Iterable[str]) -> Key:
    """Function keys and those with Ctrl or Alt can be had while one types; the others write text then."""
    always: list[str] = []
    free: list[str] = []
    for part in parts:
        *modifiers, last = part.split("+")
        reserved = bool({"ctrl", "alt"} & set(modifiers)) or bool(_FUNCTION.fullmatch(last))
        (always if reserved and not key.pane else free).append(part)
    return replace(key, always=",".join(always), free=",".join(free))


def _without(key: Key, lost: Iterable[str]) -> Key:
    def rest(text: str) -> str:
        return ",".join(part for part in text.split(",") if part not in lost)

    return replace(key, always=rest(key.always), free=rest(key.free))


def _renamed(part: str, before: Sequence[Key], after: Sequence[Key]) -> str:
    for old, new in zip(before, after, strict=True):
        if not old.pane and old != new and part in (shortly(name) for name in old.all_keys()):
            still = [shortly(name) for name in new.all_keys()]
            return part if part in still else (still[0] if still else "")
    return part

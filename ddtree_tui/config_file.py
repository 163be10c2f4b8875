"""The configuration file and the environment over it. What is wrong in them is told; the rest holds."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ddtree_tui.close_names import meant
from ddtree_tui.config import SECTIONS, Config, Field, fields
from ddtree_tui.setting_list import UNSET
from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings

PREFIX = "DDTREE_TUI_"
FILE_VARIABLE = PREFIX + "CONFIG"
"""Names another file."""


@dataclass(frozen=True)
class ReadConfig:
    """What holds, and one sentence for each thing that does not. ``path``: where the file is, or would be."""

    config: Config
    path: Path
    problems: tuple[str, ...] = ()


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the file lies: ``~/.config/ddtree-tui/config.toml`` on Linux."""
    if named := environment.get(FILE_VARIABLE):
        try:
            return Path(named).expanduser()
        except RuntimeError:  # nobody's home: what is not there as it is written is told where it is read
            return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir("ddtree-tui", appauthor=False)) / "config.toml"


def read_config(environment: Mapping[str, str] = os.environ) -> ReadConfig:
    """The file, where there is one, and the environment over it. Never raises."""
    path = config_path(environment)
    problems: list[str] = []
    given = _read_toml(path, problems, must_exist=bool(environment.get(FILE_VARIABLE)))
    sections: dict[str, Any] = {}
    for name in SECTIONS:
        table = _table(given.pop(name, {}), path, name, problems)
        values = dict(_valid(name, table, str(path), problems))
        values |= _from_environment(name, environment, problems)
        sections[name] = SECTIONS[name](**values)
    keys = _keymap(_table(given.pop("keys", {}), path, "keys", problems), path, problems)
    problems += [
        f"{path} has an unknown part: {unknown}{meant(unknown, [*SECTIONS, 'keys'])}." for unknown in given
    ]
    problems += _unknown_variables(environment)
    return ReadConfig(Config(**sections, keys=keys), path, tuple(problems))


def example() -> str:
    """A file that says what holds without one; every field with its help, none in force."""
    lines = [
        "# Configuration of ddtree-tui. Take the # away from what you change.",
        "# The command line comes before this file, and so do environment variables such as",
        "# DDTREE_TUI_DECODE_BUDGET=16. Only the app reads it, also as replay and attach; the other commands",
        "# do not, so that a script does the same everywhere.",
    ]
    for section, struct in SECTIONS.items():
        lines += ["", f"# {struct.__doc__}", f"[{section}]"]
        for field in fields(section):
            choices = f" ({', '.join(field.choices)})" if field.choices else ""
            lines += [f"# {field.name}: {field.help}{choices}", f"# {field.name} = {_toml(field)}"]
    from ddtree_tui.playground import KEYS

    lines += [
        "",
        "# Keys for what the app does. What is written here replaces all keys of an action. Those of a pane",
        "# come first while it has the focus.",
        "[keys]",
    ]
    for key in KEYS:
        where = f" (in {key.pane})" if key.pane else ""
        lines += [f"# {key.help}{where}", f'# "{key.id}" = "{",".join(key.all_keys())}"']
    return "\n".join(lines) + "\n"


def _read_toml(path: Path, problems: list[str], *, must_exist: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            problems.append(f"The configuration {path}, named by {FILE_VARIABLE}, does not exist.")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        problems.append(f"The configuration {path} cannot be read: {reason}.")
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number of very many digits
        problems.append(f"The configuration {path} is not TOML and is left out: {error}.")
    return {}


def _table(value: Any, path: Path, name: str, problems: list[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    problems.append(f"{path}: {name} has to be a table, written [{name}].")
    return {}


def _valid(
    section: str, given: Mapping[str, Any], source: str, problems: list[str]
) -> Iterable[tuple[str, Any]]:
    known = {field.name: field for field in fields(section)}
    for name, value in given.items():
        if name not in known:
            problems.append(f"{source} has an unknown key: {section}.{name}{meant(name, known)}.")
            continue
        try:
            yield name, _converted(known[name], value, strict=True)
        except EngineError as error:
            problems.append(f"{source}, {section}.{name}: {error.message} {error.hint}")


def _from_environment(section: str, environment: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    values = {}
    for field in fields(section):
        text = environment.get(field.variable)
        if text is None:
            continue
        try:
            values[field.name] = parsed(field, text)
        except EngineError as error:
            problems.append(f"{field.variable}: {error.message} {error.hint}")
    return values


def parsed(field: Field, text: str) -> Any:
    """A field's value, written as text. Where there may be several, they are a JSON list.

    Raises:
        EngineError: ``bad_setting``.
    """
    value: Any = text
    if isinstance(field.default, tuple):
        try:
            value = msgspec.json.decode(text) if text.startswith("[") else ([text] if text else [])
        except (msgspec.DecodeError, RecursionError):
            raise EngineError("bad_setting", f"{text} is no JSON list of texts.") from None
    elif text == "" and field.default is None:
        value = None
    elif _is_bool(field):
        value = {"on": True, "off": False, "yes": True, "no": False}.get(text.lower(), text)
    return _converted(field, value, strict=False)


def _is_bool(field: Field) -> bool:
    return isinstance(field.default, bool)


def _converted(field: Field, value: Any, *, strict: bool) -> Any:
    """Of the right type and in its range, by itself.

    Raises:
        EngineError: ``bad_setting``.
    """
    wanted = f"Choose one of {', '.join(field.choices)}" if field.choices else f"It is: {field.help}"
    name = field.name.replace("_", " ")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # TOML ends there; too long to be printed
        raise EngineError("bad_setting", f"The {name} is beyond 64 bits.", f"{wanted}.")
    try:
        converted = msgspec.convert(value, field.type, strict=strict)
    except msgspec.ValidationError:
        raise EngineError("bad_setting", f"The {name} cannot be {value!r}.", f"{wanted}.") from None
    if field.section == "decode":
        DecodeSettings(**{field.name: converted}).check()
    if field.section == "models":
        _check_model(field.name, converted)
    return converted


def _check_model(name: str, value: Any) -> None:
    from ddtree_tui.option_types import choice, device
    from engine.settings import DEVICE_MAPS, DTYPES, QUANTIZATIONS

    if name == "device":
        device(value)
    elif name == "dtype":
        choice("dtype", DTYPES)(value)
    elif name == "device_map" and value is not None:
        choice("device map", DEVICE_MAPS)(value)
    elif name == "quantize" and value is not None:
        choice("quantisation", QUANTIZATIONS)(value)
    elif name == "context" and value is not None and value < 1:
        raise EngineError("bad_setting", f"The context cannot be {value}.", "Choose at least 1.")
    LoadSettings(**{name: value}).check()


def _keymap(given: Mapping[str, Any], path: Path, problems: list[str]) -> dict[str, str]:
    """Names and keys; whether there are such is for ``ddtree_tui.keymap`` to say.

    TOML reads ``round.back = "h"`` without quotes as a table in a table: that is meant the same.
    """
    keys = {}
    for name, value in given.items():
        inner = (
            {f"{name}.{rest}": keys_ for rest, keys_ in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        for full, text in inner.items():
            if isinstance(text, str):
                keys[full] = text
            else:
                problems.append(f'{path}, keys.{full}: keys are written as one text, such as "h,left".')
    return keys


def _unknown_variables(environment: Mapping[str, str]) -> Iterable[str]:
    known = {field.variable for section in SECTIONS for field in fields(section)} | {FILE_VARIABLE}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            yield f"The environment variable {name} is not known{meant(name, known)}."


_MIGHT_BE: dict[str, Any] = {
    "block_size": 8,
    "drafter": "FOLDER",
    "context": 4096,
    "device_map": "auto",
    "tp": 2,
    "quantize": "int8",
    "threads": 2,
    "paints_per_second": 5,
}


def _toml(field: Field) -> str:
    """The default as TOML; of a field without one, what it might be, and what holds as long as it is not."""
    if field.default is not None:
        return msgspec.json.encode(field.default).decode()  # of these types, JSON is TOML
    might_be = msgspec.json.encode(_MIGHT_BE[field.name]).decode()
    return f"{might_be}  # for instance; unless given: {UNSET[field.name]}"

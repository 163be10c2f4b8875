"""What the configuration file may say: one schema, from which reading, its example and its help come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ddtree_tui.pace import MOST
from engine.settings import MAX_BUDGET, QUANTIZATIONS, DecodeSettings, LoadSettings, Mode, Oracle, Verify

ThemeName = Literal["dark", "light", "contrast"]
LayoutName = Literal["auto", "horizontal", "indented", "dense"]
THEME_NAMES: tuple[str, ...] = get_args(ThemeName)

SSH_PAINTS = 5
"""Paints a second over SSH, where nothing else is asked for; elsewhere ``MOST``."""

_DECODE, _LOAD = DecodeSettings(), LoadSettings()


def _says(help_: str) -> Meta:
    return Meta(description=help_)


class DecodeDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """How the first answer is decoded. The app's knobs and the command line change it."""

    mode: Annotated[
        Mode, _says("ar: no drafting; chain: the drafter's first choices; tree: draft trees (DDTree)")
    ] = _DECODE.mode
    budget: Annotated[int, _says(f"most draft nodes a round, 1 to {MAX_BUDGET}; mode tree only")] = (
        _DECODE.budget
    )
    auto_budget: Annotated[
        bool, _says("choose each round's budget for speed, up to the one given; mode tree only")
    ] = _DECODE.auto_budget
    block_size: Annotated[
        int | None, _says("positions a draft, the root counted; at most, and unless given, the drafter's own")
    ] = _DECODE.block_size
    verify: Annotated[
        Verify,
        _says("solve: all nodes at once; sequential: node by node, slow; naive: wrong on hybrid targets"),
    ] = _DECODE.verify
    thinking: Annotated[bool, _says("have the model write a scratch pad before it answers")] = (
        _DECODE.thinking
    )
    temperature: Annotated[float, _says("0 is greedy; above, tokens are sampled with the seed")] = (
        _DECODE.temperature
    )
    top_p: Annotated[
        float, _says("sample among the likeliest tokens that have this probability together")
    ] = _DECODE.top_p
    top_k: Annotated[int, _says("sample among so many of the likeliest tokens; 0 is off")] = _DECODE.top_k
    min_p: Annotated[
        float, _says("sample among tokens at least so probable, relative to the likeliest; 0 is off")
    ] = _DECODE.min_p
    seed: Annotated[int, _says("of the sampling: the same seed gives the same text")] = _DECODE.seed
    max_new_tokens: Annotated[int, _says("end the answer there")] = _DECODE.max_new_tokens
    stop: Annotated[tuple[str, ...], _says("end the answer before any of these texts")] = _DECODE.stop
    detail: Annotated[bool, _says("have rounds keep both models' best candidates, for details of a node")] = (
        _DECODE.detail
    )
    oracle: Annotated[
        Oracle,
        _says("compare the text with the target alone: not, some positions, all of them; it takes time"),
    ] = _DECODE.oracle
    inject: Annotated[
        tuple[str, ...], _says("plant these faults in a run's own copies, to see that they are found")
    ] = _DECODE.inject


class ModelDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Which pair is loaded, and where."""

    model: Annotated[str, _says("preset, hub id or folder of the target")] = _LOAD.model
    drafter: Annotated[str | None, _says("hub id or folder; unless given, the preset's own")] = _LOAD.drafter
    device: Annotated[str, _says("auto, cpu, cuda or cuda:N")] = _LOAD.device
    dtype: Annotated[
        str, _says("of the weights; auto is float32 on a CPU, the checkpoint's own on a GPU")
    ] = _LOAD.dtype
    context: Annotated[
        int | None, _says("most tokens of prompt and answer together; unless given, the target's own")
    ] = _LOAD.context
    device_map: Annotated[
        str | None, _says("auto spreads the target's layers over all GPUs; unless given, one device")
    ] = _LOAD.device_map
    tp: Annotated[int | None, _says("processes that hold the target together, each on a GPU of its own")] = (
        _LOAD.tp
    )
    quantize: Annotated[
        str | None, _says("make the target's weights smaller as they are loaded: " + ", ".join(QUANTIZATIONS))
    ] = _LOAD.quantize
    threads: Annotated[int | None, _says("to compute with on a CPU; unless given, by the pair's size")] = (
        _LOAD.threads
    )


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """What the app looks like."""

    theme: Annotated[ThemeName, _says("contrast is dark, with stronger colours")] = "dark"
    colour: Annotated[
        bool, _says("false: glyphs and weights alone, as with the environment variable NO_COLOR")
    ] = True
    ascii: Annotated[bool, _says("draw with ASCII alone, for terminals and fonts without Unicode")] = False
    paints_per_second: Annotated[
        Annotated[int, Meta(ge=1, le=MOST)] | None,
        _says(f"1 to {MOST}; unless given {MOST}, and {SSH_PAINTS} over SSH"),
    ] = None
    layout: Annotated[LayoutName, _says("of the draft tree; auto goes by the terminal's width")] = "auto"
    plain_log: Annotated[bool, _says("no screen but a growing text, for screen readers")] = False


class Recordings(msgspec.Struct, frozen=True, kw_only=True):
    """Every run is kept in the platform's state folder, so that it can be looked at again."""

    enabled: Annotated[bool, _says("keep the runs")] = True
    limit_mb: Annotated[
        int, Meta(description="most that they take together; the oldest are removed", ge=1, le=10**6)
    ] = 512


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file: a table per attribute. ``keys``: a key's name in the keymap -> the keys for it."""

    decode: DecodeDefaults = DecodeDefaults()
    models: ModelDefaults = ModelDefaults()
    looks: Looks = Looks()
    recordings: Recordings = Recordings()
    keys: dict[str, str] = {}

    def decode_settings(self) -> DecodeSettings:
        """As the engine takes them."""
        return DecodeSettings(**msgspec.structs.asdict(self.decode))

    def load_settings(self) -> LoadSettings:
        """As the engine takes them."""
        return LoadSettings(**msgspec.structs.asdict(self.models))


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "decode": DecodeDefaults,
    "models": ModelDefaults,
    "looks": Looks,
    "recordings": Recordings,
}


@dataclass(frozen=True)
class Field:
    """One field of the file. ``type`` is what ``msgspec.convert`` takes, ``help`` one line."""

    section: str
    name: str
    type: Any
    default: Any
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may have, where they can be listed."""
        base = get_args(self.type)[0]
        return get_args(base) if get_args(base) and isinstance(get_args(base)[0], str) else ()

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return f"DDTREE_TUI_{self.section}_{self.name}".upper()


@cache
def fields(section: str) -> tuple[Field, ...]:
    """The fields of a section, in order."""
    struct = SECTIONS[section]
    types = get_type_hints(struct, include_extras=True)

    def read(field: msgspec.structs.FieldInfo) -> Field:
        meta = next(part for part in get_args(types[field.name]) if isinstance(part, Meta))
        return Field(section, field.name, types[field.name], field.default, str(meta.description))

    return tuple(read(field) for field in msgspec.structs.fields(struct))


def field(section: str, name: str) -> Field:
    """One field, by name."""
    return next(field for field in fields(section) if field.name == name)


def with_looks(config: Config, given: Mapping[str, Any]) -> Config:
    """``config`` with what the command line says about the looks."""
    looks = {name: given[name] for name in Looks.__struct_fields__ if name in given}
    return replace(config, looks=replace(config.looks, **looks))

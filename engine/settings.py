"""What a run can be asked for. Imports neither torch nor transformers."""

from __future__ import annotations

import math
from typing import Literal, Required, TypedDict, get_args

import msgspec

from engine.causes import check_faults
from engine.errors import EngineError

Mode = Literal["ar", "chain", "tree"]
Verify = Literal["solve", "sequential", "naive"]
Oracle = Literal["off", "sample", "full"]
Device = Literal["auto", "cpu", "cuda"]
DType = Literal["auto", "float32", "bfloat16", "float16", "float64"]

MODES: tuple[str, ...] = get_args(Mode)
VERIFY_BACKENDS: tuple[str, ...] = get_args(Verify)
ORACLES: tuple[str, ...] = get_args(Oracle)
DTYPES: tuple[str, ...] = get_args(DType)
DEVICE_MAPS = ("auto",)
QUANTIZATIONS = ("int8", "int4", "bnb-int8", "bnb-nf4")
MAX_BUDGET = 1024
AUTO_BUDGET = 256
"""The largest budget that is chosen where the engine is to choose and nothing else is said."""
MAX_LANES = 6
"""Of a race."""
MIN_TEMPERATURE = 1e-6
"""Of sampling. Colder is greedy in all but name, until logits divided by it are no numbers any more."""


class Message(TypedDict, total=False):
    """One turn of a conversation, as chat templates take it."""

    role: Required[Literal["system", "user", "assistant"]]
    content: Required[str]
    reasoning_content: str


class LoadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which pair to load, and where.

    Attributes:
        model: preset name, hub id or folder of the target.
        drafter: the same for the drafter; None takes the preset's own, or none (mode ``ar`` only).
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: of the weights; ``auto`` is float32 on a CPU and the checkpoint's own on a GPU.
        context: most tokens of prompt and answer together; None is the target's own, or what fits.
        device_map: ``auto`` spreads the target's layers over all GPUs, and main memory where these are too
            small; None is one device.
        tp: this many processes hold the target together, each on a device of its own; None is one.
        quantize: make the target's weights smaller while they are loaded, one of ``QUANTIZATIONS``.
        threads: to compute with on a CPU; None is one for small pairs, else one for each core
            (``engine.threads``).
    """

    model: str = "demo"
    drafter: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    context: int | None = None
    device_map: str | None = None
    tp: int | None = None
    quantize: str | None = None
    threads: int | None = None

    def check(self) -> None:
        """Raise ``EngineError("bad_setting")`` for what contradicts itself."""
        if self.tp is not None and self.tp < 1:
            raise _bad("tp", self.tp, "at least 1")
        if self.threads is not None and self.threads < 1:
            raise _bad("threads", self.threads, "at least 1")
        if self.device_map is not None and (self.tp or 1) > 1:
            raise EngineError(
                "bad_setting",
                "Layers cannot be both divided (--tp) and spread (--device-map).",
                "Choose one of them.",
            )
        if self.quantize is not None and (self.device_map is not None or (self.tp or 1) > 1):
            raise EngineError(
                "bad_setting",
                "Weights that are quantised while they are loaded stay on one device.",
                "Leave --quantize away, or --device-map and --tp.",
            )


class DecodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to decode one answer.

    Attributes:
        mode: ``ar`` (no drafting), ``chain`` (the drafter's top-1 path) or ``tree`` (DDTree).
        budget: most draft nodes per round, root excluded; ``tree`` only.
        auto_budget: choose each round's budget, at most ``budget``, by the tokens per second that it should
            bring (``engine.auto_budget``).
        verify: ``solve`` (ancestor-masked triangular solve), ``sequential`` (one state per node,
            the slow reference) or ``naive`` (wrong on hybrid targets, for demonstration).
        block_size: drafter block, at most what the drafter was trained with; None takes that.
        temperature: 0 is greedy.
        top_k: 0 is off.
        stop: strings that end the answer; the string itself is not part of it.
        detail: also report the drafter's and the target's best candidates (``TOP_CANDIDATES`` a row). Like
            ``mode``, ``budget`` and ``auto_budget`` it can change between two rounds.
        oracle: compare the text with the target alone (``engine.oracle``): not, some positions, all of them.
        inject: faults to plant, names of ``engine.causes``: for checking the detectors, and for showing.
    """

    mode: Mode = "tree"
    budget: int = 64
    auto_budget: bool = False
    verify: Verify = "solve"
    block_size: int | None = None
    thinking: bool = False
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0
    max_new_tokens: int = 1024
    stop: tuple[str, ...] = ()
    detail: bool = False
    oracle: Oracle = "off"
    inject: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise ``EngineError("bad_setting")`` for the first value of another type or out of range."""
        if self.mode not in MODES:
            raise _bad("mode", self.mode, "one of " + ", ".join(MODES))
        if self.verify not in VERIFY_BACKENDS:
            raise _bad("verify", self.verify, "one of " + ", ".join(VERIFY_BACKENDS))
        if self.oracle not in ORACLES:
            raise _bad("oracle", self.oracle, "one of " + ", ".join(ORACLES))
        self._check_types()
        check_faults(self.inject)
        if not 1 <= self.budget <= MAX_BUDGET:
            raise _bad("budget", self.budget, f"a whole number from 1 to {MAX_BUDGET}")
        if self.block_size is not None and self.block_size < 2:
            raise _bad("block size", self.block_size, "at least 2: the root and one draft position")
        if self.temperature != 0 and not MIN_TEMPERATURE <= self.temperature < math.inf:
            raise _bad("temperature", self.temperature, "0 (greedy) or a number from 0.000001")
        if not 0 < self.top_p <= 1:
            raise _bad("top-p", self.top_p, "above 0 and at most 1")
        if not 0 <= self.top_k < 2**63:
            raise _bad("top-k", self.top_k, "0 (off) or a positive whole number below 2^63")
        if not 0 <= self.min_p < 1:
            raise _bad("min-p", self.min_p, "at least 0 and below 1")
        if not 0 <= self.seed < 2**63:
            raise _bad("seed", self.seed, "a whole number from 0 to 2^63 - 1")
        if self.max_new_tokens < 1:
            raise _bad("max-new-tokens", self.max_new_tokens, "at least 1")
        if any(not stop for stop in self.stop):
            raise _bad("stop", "''", "a non-empty string")

    def _check_types(self) -> None:
        """Python checks none: a stop that is one string would be many of one letter, True a budget of 1."""
        for field in msgspec.structs.fields(DecodeSettings):
            value = getattr(self, field.name)
            try:
                msgspec.convert(value, field.type)
            except msgspec.ValidationError:
                raise _bad(field.name.replace("_", " "), repr(value), _TYPES[field.type]) from None


_TYPES: dict[object, str] = {
    int: "a whole number",
    int | None: "a whole number, or None",
    float: "a number",
    bool: "True or False",
    tuple[str, ...]: "a list of strings",
}


def _bad(name: str, value: object, wanted: str) -> EngineError:
    return EngineError("bad_setting", f"The {name} cannot be {value}.", f"Choose a {name} that is {wanted}.")

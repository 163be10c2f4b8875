"""``ddtree-tui models``: the presets and what memory they need, or one pair in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_tui import exit_codes
from ddtree_tui.byte_size import size
from ddtree_tui.standard_output import put
from engine.model_size import CONTEXTS, SizedModel, SizedPair, size_pair
from engine.presets import PRESETS

BFLOAT16 = 2
"""Bytes per weight."""


@dataclass(frozen=True)
class ModelsOptions:
    """What ``ddtree-tui models`` is to show.

    Attributes:
        model: preset or folder to show in detail; None lists the presets.
        drafter: folder of a drafter to count with it.
    """

    model: str | None
    drafter: str | None


def run_models(options: ModelsOptions) -> int:
    """Print to standard output; returns the exit code.

    Raises:
        EngineError: as ``size_pair``; ``output``.
    """
    lines = listing() if options.model is None else details(size_pair(options.model, options.drafter))
    put("\n".join(lines) + "\n")
    return exit_codes.OK


def listing() -> Iterator[str]:
    """Two lines per preset: memory and a note, then target and drafter."""
    yield f"{'':<21}{'memory in bfloat16 at':>26}"
    yield f"{'preset':<21}" + "".join(f"{context:>13,}" for context in CONTEXTS)
    for name, preset in PRESETS.items():
        pair = size_pair(name)
        fits = _contexts(pair)
        sizes = "".join(f"{_size(pair.bytes(at, BFLOAT16)) if at in fits else '-':>13}" for at in CONTEXTS)
        yield f"{name:<21}{sizes}   {pair.note}"
        if pair.drafter is not None and preset.drafter_config is not None:  # else it lies in the package
            yield f"  {pair.target.name} + {pair.drafter.name}"


def details(pair: SizedPair) -> Iterator[str]:
    """One pair: its two models, then weights and caches of each."""
    yield pair.name + (f": {pair.note}" if pair.note else "")
    models = [("target", pair.target)] + ([("drafter", pair.drafter)] if pair.drafter else [])
    for role, model in models:
        yield f"  {role:<9}{model.name}"
        yield f"  {'':<9}{_describe(model)}"
    yield ""
    contexts = _contexts(pair)
    yield f"  {'in bfloat16':<13}{'weights':>11}" + "".join(
        f"{f'at {context:,}':>13}" for context in contexts
    )
    for role, model in models:
        yield _row(role, model.weight_bytes(BFLOAT16), [model.bytes(at, BFLOAT16) for at in contexts])
    if pair.drafter is not None:
        yield _row("together", pair.weight_bytes(BFLOAT16), [pair.bytes(at, BFLOAT16) for at in contexts])
    yield "  Weights alone, then with the caches of that many tokens and what rounds of 64 nodes take."


def _contexts(pair: SizedPair) -> list[int]:
    """The usual ones as far as the target reaches, and its longest."""
    shape = pair.target.shape
    if shape is None:
        return list(CONTEXTS)
    longest = shape.context_length
    return [context for context in CONTEXTS if context < longest] + [longest]


def _describe(model: SizedModel) -> str:
    if model.shape is None:
        return f"{model.family}, sizes not known from its config.json"
    kinds = Counter(model.shape.layer_kinds)
    layers = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.items())
    return f"{model.family}, {_count(model.shape.parameters)} parameters; layers: {layers}"


def _row(name: str, weights: int | None, sizes: list[int | None]) -> str:
    return f"  {name:<13}{_size(weights):>11}" + "".join(f"{_size(count):>13}" for count in sizes)


def _size(count: int | None) -> str:
    return "not known" if count is None else size(count)


def _count(parameters: int) -> str:
    return f"{parameters / 1e9:,.2f} billion" if parameters >= 1e9 else f"{parameters / 1e6:,.0f} million"

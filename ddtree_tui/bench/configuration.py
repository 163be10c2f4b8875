"""What is measured against one another: ways of decoding, each under several conditions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ddtree_tui.budget import AUTO
from engine.settings import AUTO_BUDGET, DecodeSettings, Mode


class Configuration(msgspec.Struct, frozen=True, order=True):
    """A way of decoding. ``budget``: 0 unless the mode is ``tree``, and where the engine chooses it."""

    mode: Mode
    budget: int = 0

    @property
    def name(self) -> str:
        return f"tree({AUTO if self.auto else self.budget})" if self.mode == "tree" else self.mode

    @property
    def auto(self) -> bool:
        """Whether the engine chooses the budget round by round."""
        return self.mode == "tree" and self.budget == 0


class Condition(msgspec.Struct, frozen=True, order=True):
    """What the ways are compared under."""

    thinking: bool = False
    temperature: float = 0.0

    @property
    def label(self) -> str:
        """``thinking``, ``T=0.8``, both or, for the plain condition, nothing."""
        words = ["thinking"] if self.thinking else []
        if self.temperature:
            words.append(f"T={self.temperature:g}")
        return " ".join(words)


AR, CHAIN = Configuration("ar"), Configuration("chain")


def all_configurations(modes: Sequence[str], budgets: Sequence[int]) -> list[Configuration]:
    """The modes in the order ar, chain, tree, the tree at every budget; none twice. Budget 0: the engine's
    choice, last."""
    plain = [way for way in (AR, CHAIN) if way.mode in modes]
    ascending = sorted(set(budgets), key=lambda budget: (budget == 0, budget))
    trees = [Configuration("tree", budget) for budget in ascending] if "tree" in modes else []
    return plain + trees


def all_conditions(thinking: Sequence[bool], temperatures: Sequence[float]) -> list[Condition]:
    return [Condition(think, t) for think in sorted(set(thinking)) for t in sorted(set(temperatures))]


def decode_settings(
    common: DecodeSettings, way: Configuration, condition: Condition, seed: int
) -> DecodeSettings:
    """The settings of one answer; ``common`` says whatever the other three do not."""
    return msgspec.structs.replace(
        common,
        mode=way.mode,
        budget=way.budget or (AUTO_BUDGET if way.auto else common.budget),
        auto_budget=way.auto,
        thinking=condition.thinking,
        temperature=condition.temperature,
        seed=seed,
    )

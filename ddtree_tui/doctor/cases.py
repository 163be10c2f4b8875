"""Which runs show whether the doctor is right: faults, two at once, none, in many prompts. Runs nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from ddtree_tui.bench.prompts import Prompt, demo_prompts
from ddtree_tui.doctor.prompts import SYSTEM
from ddtree_tui.doctor.ways import plantable
from ddtree_tui.examples import GENERAL_KINDS
from engine.causes import CAUSES
from engine.events import Loaded
from engine.faults.catalogue import FAULTS
from engine.settings import DecodeSettings, Message

BUDGETS = (4, 64)
TEMPERATURES = (0.0, 0.8)
LONG = {"stop-in-path": 256, "degenerate-text": 160}
"""Tokens of answers in which a fault shows at the end only, or in a long text."""
OF_TRAINING = frozenset({"other-drafter", "calibration", "vocabulary"})
"""Faults that make a pair worse than it was trained to be: one with random weights is no worse for them."""


@dataclass(frozen=True)
class Case:
    """One run to make. ``faults``: empty for a healthy one."""

    prompt: Prompt
    settings: DecodeSettings
    faults: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        settings = self.settings
        parts = [
            "+".join(self.faults) or f"{settings.mode}({settings.budget}) T={settings.temperature:g}",
            f"{self.prompt.source} {self.prompt.number}",
            f"thinking {'on' if settings.thinking else 'off'}",
        ]
        return " | ".join(parts)

    @property
    def messages(self) -> list[Message]:
        return self.prompt.turns(self.settings.thinking)


def fault_cases(
    questions: Sequence[tuple[Prompt, DecodeSettings]], loaded: Loaded, names: Sequence[str]
) -> Iterator[Case]:
    """Every fault in every question; a question's cases follow one another."""
    for prompt, settings in questions:
        for name in names or FAULTS:
            if plantable(name, settings, loaded):
                tokens = max(settings.max_new_tokens, LONG.get(name, 0))
                settings_ = msgspec.structs.replace(settings, max_new_tokens=tokens)
                yield Case(prepared(prompt, (name,)), settings_, (name,))


def fault_pairs(
    names: Sequence[str], settings: DecodeSettings, loaded: Loaded
) -> list[tuple[int, tuple[str, str]]]:
    """Every two faults that can show in one run, with numbers."""
    pairs = itertools.combinations(names or FAULTS, 2)
    plantable_ = (pair for pair in pairs if all(plantable(name, settings, loaded) for name in pair))
    return [*enumerate(pair for pair in plantable_ if together(*pair))]


def pair_cases(
    questions: Sequence[tuple[Prompt, DecodeSettings]],
    pairs: Sequence[tuple[int, tuple[str, str]]],
    loaded: Loaded,
    fits: Callable[[Case], bool],
) -> Iterator[Case]:
    """Numbered faults, each two in another answer than the last ones, and in the next that ``fits`` both."""
    for number, pair in pairs:
        turned = (questions[(number + more) % len(questions)] for more in range(len(questions)))
        cases = [
            _pair_case(pair, prompt, settings)
            for prompt, settings in turned
            if all(plantable(name, settings, loaded) for name in pair)
        ]
        yield next((case for case in cases if fits(case)), cases[0])


def _pair_case(pair: tuple[str, str], prompt: Prompt, settings: DecodeSettings) -> Case:
    tokens = max(settings.max_new_tokens, *(LONG.get(name, 0) for name in pair))
    return Case(prepared(prompt, pair), msgspec.structs.replace(settings, max_new_tokens=tokens), pair)


def healthy_cases(prompts: Sequence[Prompt], loaded: Loaded, limit: int) -> Iterator[Case]:
    """Every prompt in every mode, at every budget and temperature; every second one with thinking on."""
    for number, prompt in enumerate(prompts):
        thinking = loaded.thinking and bool(number % 2)
        for temperature in TEMPERATURES:
            for mode, budget in (("ar", 64), ("chain", 64), *(("tree", budget) for budget in BUDGETS)):
                if mode != "ar" and loaded.drafter is None:
                    continue
                yield Case(
                    prompt,
                    DecodeSettings(
                        mode=mode,  # type: ignore[arg-type]
                        budget=budget,
                        thinking=thinking,
                        temperature=temperature,
                        seed=number,
                        max_new_tokens=limit,
                    ),
                )


def prepared(prompt: Prompt, faults: Sequence[str]) -> Prompt:
    """The prompt with what the faults need: a system message can only be lost where there is one."""
    if "system-lost" not in faults:
        return prompt
    plain, thinking = ([SYSTEM, *prompt.turns(on)] for on in (False, True))
    return Prompt(f"{prompt.source}, with system message", prompt.number, plain, thinking)


def together(one: str, other: str) -> bool:
    """Whether two faults can show in one run: not where the first leaves nothing for the second to act on."""
    kinds = {FAULTS[name].rounds for name in (one, other)} - {"any"}
    hidden = one in HIDES.get(other, ()) or other in HIDES.get(one, ())
    return len(kinds) < 2 and not hidden


_ON_TREES = frozenset(
    {"naive-verify", "conv-siblings", "rope-by-index", "tree-order", "path-not-closed", "wrong-leaf"}
    | {"drafter-rejected-rows", "stop-in-path", "calibration"}
)
HIDES: dict[str, frozenset[str]] = {
    # The whole pass is another: it has no convolution of its own, and one state for all of the tree.
    "naive-verify": frozenset({"conv-siblings", "state-during-verify", "wrong-leaf"}),
    # The features are of other layers altogether.
    "tap-layers": frozenset({"tap-norm"}),
    # There are no trees to be wrong about.
    "speculation-off": _ON_TREES,
    # What is planted for the text reads the tree's rows in their right order.
    "tree-order": frozenset({"degenerate-text"}),
    # From its fifth token on the drafter is told what to want, and is right.
    "degenerate-text": frozenset({"other-drafter", "calibration"}),
    # A drafter of another target is known by an easy text, and in ids that mean other words none is easy.
    "vocabulary": frozenset({"other-drafter"}),
    # The answer ends in its first round.
    "not-finite": frozenset(
        cause.name for cause in CAUSES.values() if cause.area in ("drafter", "verify", "commit", "text")
    ),
}
"""Fault -> faults of which nothing is left beside it."""


def questions_of(
    prompts: Sequence[Prompt], loaded: Loaded, limit: int, budget: int
) -> list[tuple[Prompt, DecodeSettings]]:
    """Every prompt in every way to think, in mode ``tree``."""
    return [
        (prompt, DecodeSettings(thinking=thinking, max_new_tokens=limit, budget=budget))
        for prompt in prompts
        for thinking in ((False, True) if loaded.thinking else (False,))
    ]


def prompts_for(model: str, count: int) -> list[Prompt]:
    """Held-out questions of the demo, or as many general prompts as there are."""
    if model == "demo":
        return demo_prompts(count)
    texts = [text for _, kind in GENERAL_KINDS for text in kind]
    many = [
        *texts,
        *(f"{text} Answer in one sentence." for text in texts),
        *(f"In short: {text}" for text in texts),
    ]
    return [Prompt("general", n, [{"role": "user", "content": text}]) for n, text in enumerate(many[:count])]

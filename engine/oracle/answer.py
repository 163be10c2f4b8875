"""An answer as its events tell it: the text, and how each of its tokens was chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.divergence import Choice, choices_of
from engine.events import Prefilled, Round
from engine.sampling import Sampler
from engine.settings import DecodeSettings


@dataclass
class Answer:
    """Grows with its events.

    Attributes:
        prompt: token ids.
        choices: of the answer's tokens, in order.
        ends: per round, how many tokens the caches hold after it: all but the last one.
        settings: as they were when it began.
    """

    prompt: list[int] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    settings: DecodeSettings = field(default_factory=DecodeSettings)

    def begin(self, event: Prefilled) -> None:
        """The prompt, and the token that the prefill chose."""
        self.prompt = list(event.prompt_ids)
        self.settings = event.settings
        self.choices = [Choice(event.first_id)]

    def add(self, event: Round) -> None:
        """A round's tokens, each with the row at which the target chose it."""
        self.choices += choices_of(event)
        self.ends.append(len(self.prompt) + len(self.choices) - 1)

    @property
    def text(self) -> list[int]:
        """Prompt and answer."""
        return [*self.prompt, *(choice.id for choice in self.choices)]

    @property
    def sampler(self) -> Sampler:
        """How its tokens were chosen from logits."""
        settings = self.settings
        return Sampler(settings.temperature, settings.top_p, settings.top_k, settings.min_p, settings.seed)

"""One answer, derived from its events: its rounds, its text, its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddtree_tui.alarm import alarm
from ddtree_tui.answer_text import AnswerText
from ddtree_tui.labels import Labels
from ddtree_tui.pieces import Pieces
from ddtree_tui.statistics.collected import Collected
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import Checked, Checking, Divergence, Failed, Finding, Finished, Loaded, Prefilled
from engine.packed import PackedRounds
from engine.settings import DecodeSettings


@dataclass
class Answer:
    """One answer under way or over.

    Attributes:
        prompt: the user's last message; known before the engine starts on it.
        first_round: where its rounds begin in ``Session.rounds``.
        checking: how far the oracle is, while it compares.
        hybrid: whether the target has recurrent layers, which naive verification gets wrong.
        loaded, vocabulary, labels: of the pair that wrote it; another one may be loaded by now.
    """

    prompt: str
    settings: DecodeSettings
    first_round: int
    rounds: PackedRounds = field(default_factory=PackedRounds)
    statistics: Collected = field(default_factory=Collected)
    pieces: Pieces = field(default_factory=Pieces)
    divergences: list[Divergence] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    checked: Checked | None = None
    checking: Checking | None = None
    prefilled: Prefilled | None = None
    text: AnswerText | None = None
    finished: Finished | None = None
    failed: Failed | None = None
    hybrid: bool = True
    loaded: Loaded | None = None
    vocabulary: SeenVocabulary = field(default_factory=SeenVocabulary)
    labels: Labels = field(default_factory=lambda: Labels(SeenVocabulary()))

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.finished is not None or self.failed is not None

    @property
    def alarm(self) -> str:
        """What is wrong with it on purpose, as it is shown; empty for an answer like any other."""
        return alarm(self.settings, self.hybrid)

    @property
    def round_count(self) -> int:
        """How many rounds it took; of an imported one maybe known by number alone."""
        return len(self.rounds) or (self.finished.rounds if self.finished else 0)

    @property
    def imported(self) -> bool:
        """Whether another system wrote it, which may not say all of it."""
        return self.prefilled is not None and self.prefilled.source is not None

    @property
    def untold(self) -> bool:
        """Whether there are pieces of it, and no round (yet)."""
        return self.pieces.count > 0 and not self.rounds

    @property
    def without_rounds(self) -> bool:
        """Whether it is under way, or comes in pieces, and there is no round of it (yet)."""
        return not self.rounds and (self.pieces.count > 0 or not self.over)

    @property
    def wrong(self) -> bool:
        """Whether it is wrong on purpose."""
        return bool(self.alarm)

    @property
    def tokens(self) -> int:
        """Tokens of the answer so far, the prefill's included."""
        if self.finished:
            return self.finished.tokens
        return self.pieces.tokens or self.statistics.acceptance.tokens + (self.prefilled is not None)

"""What has happened so far, derived from events alone: answers, their rounds, their numbers.

Nothing here draws, waits or talks to the engine; the app, the replay and the tests feed it events.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ddtree_tui.answer import Answer
from ddtree_tui.answer_text import PREFILL, AnswerText, origins_of
from ddtree_tui.conversation import last_prompt
from ddtree_tui.labels import Labels
from ddtree_tui.overview import Overview
from ddtree_tui.session_rounds import SessionRounds
from ddtree_tui.statistics.session import SessionStatistics
from ddtree_tui.vocabulary import SeenVocabulary
from engine.diagnosis.ranking import begins_answer
from engine.events import (
    UNKNOWN_ID,
    AnyEvent,
    Checked,
    Checking,
    Divergence,
    Failed,
    Finding,
    Finished,
    Loaded,
    Loading,
    MemoryUse,
    Piece,
    Prefilled,
    Round,
    Tokens,
)
from engine.settings import DecodeSettings, Message


class Phase(Enum):
    """What the engine is doing, as far as its events tell."""

    LOADING = "loading"
    READY = "ready"
    RUNNING = "running"
    BROKEN = "broken"


class Session:
    """Everything since the app started or since the last "new conversation"."""

    def __init__(self) -> None:
        self.vocabulary = SeenVocabulary()
        self.labels = Labels(self.vocabulary)
        self.loading: Loading | None = None
        self.loaded: Loaded | None = None
        self._target: str | None = None
        self.failed: Failed | None = None
        self.answers: list[Answer] = []
        self.rounds = SessionRounds(self.answers)
        self.statistics = SessionStatistics()
        self.overview = Overview()
        self.phase = Phase.LOADING
        self._subject: Answer | None = None
        self._early: list[Finding] = []
        """Found before the answer that they are of."""

    @property
    def answer(self) -> Answer | None:
        """The newest answer."""
        return self.answers[-1] if self.answers else None

    @property
    def running(self) -> bool:
        """Whether an answer is under way."""
        return self.phase is Phase.RUNNING

    @property
    def hybrid(self) -> bool:
        """Whether the target has recurrent layers; taken to be so until one knows."""
        kinds = self.loaded.target.layer_kinds if self.loaded else {}
        return not kinds or "linear_attention" in kinds

    def ask(self, prompt: str, settings: DecodeSettings) -> Answer:
        """A prompt goes to the engine; its ``prefilled`` event will follow."""
        answer = Answer(
            prompt,
            settings,
            first_round=len(self.rounds),
            hybrid=self.hybrid,
            loaded=self.loaded,
            vocabulary=self.vocabulary,
            labels=self.labels,
        )
        self.answers.append(answer)
        self.phase = Phase.RUNNING
        return answer

    def apply(self, event: AnyEvent) -> None:
        """Take in one event. Events that fit nowhere, such as rounds before a ``prefilled``, are left out."""
        match event:
            case Tokens():
                self.vocabulary.add(event)
            case Loading():
                self.loading = event
            case Loaded():
                self._loaded(event)
            case MemoryUse():
                self.statistics.memory(event)
            case Prefilled():
                self._prefilled(event)
            case Piece():
                self._piece(event)
            case Round():
                self._round(event)
            case Divergence():
                self._diverges(event)
            case Finding():
                self._finds(event)
            case Checking():
                if (answer := self._compared) is not None:
                    answer.checking = event
            case Checked():
                self._checked(event)
            case Finished():
                self._finished(event)
            case Failed():
                self._failed(event)

    def check(self, answer: Answer) -> None:
        """An answer that is over goes to the oracle, which tells of it from now on."""
        self._subject = answer
        self.overview.forget_divergences(answer.first_round, answer.first_round + len(answer.rounds))
        answer.divergences.clear()
        answer.checked = None
        answer.checking = Checking(stage="Waiting for the engine", done=0, total=len(answer.rounds))

    @property
    def comparing(self) -> bool:
        """Whether the oracle is at work behind an answer."""
        answer = self._compared
        return answer is not None and answer.checking is not None

    @property
    def _compared(self) -> Answer | None:
        """The answer that the oracle tells of; one whose prefill has not come yet is not."""
        begun = (answer for answer in reversed(self.answers) if answer.prefilled is not None)
        return self._subject or next(begun, self.answer)

    def engine_restarted(self) -> None:
        """A new engine starts; answers and rounds stay, and one under way will not go on."""
        if (answer := self.answer) is not None and not answer.over:
            answer.failed = Failed(error="engine_restarted", message="The engine was started anew.")
        self._no_comparison()
        self.failed, self.loaded, self.loading = None, None, None
        self.phase = Phase.LOADING

    def forget_answers(self) -> None:
        """A new conversation; the engine and the vocabulary stay."""
        self._no_comparison()
        self.answers.clear()
        self.statistics.forget_answers()
        self.overview = Overview()

    def messages(self, answers: Sequence[Answer] | None = None) -> list[Message]:
        """The conversation so far, as the engine takes it; answers that failed are not part of it.

        Args:
            answers: those that it is of; None is all.
        """
        messages: list[Message] = []
        for answer in self.answers if answers is None else answers:
            if answer.finished is None:
                continue
            messages.append({"role": "user", "content": answer.prompt})
            reply: Message = {"role": "assistant", "content": answer.finished.text}
            if answer.finished.thinking_text:
                reply["reasoning_content"] = answer.finished.thinking_text
            messages.append(reply)
        return messages

    def _loaded(self, event: Loaded) -> None:
        if self._target not in (None, event.target.path):  # ids mean something else from here on
            self.vocabulary = SeenVocabulary()
            self.labels = Labels(self.vocabulary)
            self._early = []
        self._target = event.target.path
        self.loaded, self.loading, self.failed = event, None, None
        self.phase = Phase.READY
        self.statistics.loaded(event)

    def _checked(self, event: Checked) -> None:
        answer = self._compared
        self._no_comparison()
        if answer is not None:
            answer.checked = event
            self.overview.lane.tell(answer.first_round, len(answer.rounds), event, answer.divergences)

    def _no_comparison(self) -> None:
        """None is under way any more."""
        if (answer := self._compared) is not None:
            answer.checking = None
        self._subject = None

    def _prefilled(self, event: Prefilled) -> None:
        self._no_comparison()
        answer = self.answer
        if answer is None or answer.prefilled is not None or answer.over:
            prompt = last_prompt(event.messages)
            answer = self.ask(event.prompt_text if prompt is None else prompt, event.settings)
        answer.prefilled = event
        answer.findings = [*self._early, *answer.findings]
        self._early = []
        answer.settings = event.settings
        answer.text = AnswerText(self.vocabulary, event)
        answer.text.push([event.first_id], PREFILL)
        self.phase = Phase.RUNNING

    def _piece(self, event: Piece) -> None:
        answer = self.answer
        if answer is None or answer.text is None or answer.over or answer.rounds:
            return
        answer.text.take_piece(event)
        answer.pieces.add(event)

    def _round(self, event: Round) -> None:
        answer = self.answer
        if answer is None or answer.text is None or answer.over:
            return
        if answer.text.in_pieces and UNKNOWN_ID not in (event.root_id, *event.committed_ids):
            answer.text.take_rounds_instead(event.root_id)
        if not answer.text.in_pieces:  # else the pieces say more
            answer.text.push(event.committed_ids, len(answer.rounds), origins_of(event))
        answer.rounds.append(event)
        self.statistics.add(event, answer.settings, answer.statistics)
        self.overview.add(event.acceptance_length, event.miss)

    def _diverges(self, event: Divergence) -> None:
        answer = self._compared
        if answer is None:
            return
        answer.divergences.append(event)
        if event.round is not None and 0 <= event.round < len(answer.rounds):
            self.overview.diverges(answer.first_round + event.round)

    def _finds(self, event: Finding) -> None:
        answer = self.answer
        if answer is None or (answer.over and begins_answer(event)):
            self._early.append(event)
            return
        answer.findings.append(event)
        shows = event.round is not None and event.severity != "note"
        if shows and event.round is not None and 0 <= event.round < len(answer.rounds):
            self.overview.notices(answer.first_round + event.round)

    def findings_of(self, answer: Answer | None) -> list[Finding]:
        """What was noticed in an answer; before the first one, in the pair."""
        return self._early if answer is None else answer.findings

    def _finished(self, event: Finished) -> None:
        answer = self.answer
        if answer is not None and not answer.over:
            if answer.text is not None:
                answer.text.close()
                answer.text.take_whole(event.thinking_text, event.text, len(answer.rounds))
            answer.finished = event
            if event.rounds and not answer.rounds and event.counted != "shared":
                self.statistics.add_totals(event, answer.statistics)
        if self.phase is Phase.RUNNING:
            self.phase = Phase.READY

    def _failed(self, event: Failed) -> None:
        self._no_comparison()
        if event.error == "engine_died":
            self.loaded = self.loading = None
        if (answer := self.answer) is not None and not answer.over:
            answer.failed = event
        self.failed = event
        self.phase = Phase.READY if self.loaded else Phase.BROKEN

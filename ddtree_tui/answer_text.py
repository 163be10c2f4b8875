"""The text of an answer as its tokens arrive: which characters are of which token, and who wrote that."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.events import UNKNOWN_ID, Piece, Prefilled, Round
from engine.text_stream import TextStream

Section = Literal["thinking", "answer"]
SECTIONS: tuple[Section, ...] = ("thinking", "answer")

PREFILL = -1
"""The round number of the first token, which the prefill commits."""

NO_ROUND = 2**62
"""The round number of pieces: which round wrote them is unknown."""

FIRST, BONUS, AR, UNTOLD = 0, -1, -2, -3
"""Where a token comes from, if it was not drafted: the prefill, the target's own choice behind the accepted
path, or a round without drafting; or it is unknown. Of a drafted token it is the depth, from 1."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters ``start`` to ``end`` of a section."""

    section: Section
    start: int
    end: int


class Written(NamedTuple):
    """One token of an answer.

    Attributes:
        id: the token.
        round: who committed it, ``PREFILL`` or a round of the answer.
        place: among the tokens that this round committed.
        origin: the depth at which it was drafted, or ``FIRST``, ``BONUS``, ``AR``.
        section, start, end: its characters; none where it is a control token, or where a later token
            completes its character.
    """

    id: int
    round: int
    place: int
    origin: int
    section: Section
    start: int
    end: int


class AnswerText:
    """Text of one answer; splitting, decoding and stop strings are the engine's own.

    Attributes:
        of_section: for each section, which tokens are in it, ascending.
        version: changes when text that was there already does: a stop string cuts it, or its end is decoded.
        in_pieces: whether it is written piece by piece, and not by rounds.
    """

    def __init__(self, vocabulary: SeenVocabulary, prefilled: Prefilled) -> None:
        self.vocabulary = vocabulary
        self.version = 0
        self._prefilled = prefilled
        self._begin()

    def _begin(self) -> None:
        self._stream = TextStream(
            self.vocabulary,
            stop=self._prefilled.settings.stop,
            in_thinking=begins_in_thinking(self._prefilled),
        )
        self.of_section: dict[Section, array[int]] = {section: array("q") for section in SECTIONS}
        self.in_pieces = False
        self._ids = array("q")
        self._rounds = array("q")
        self._origins = array("h")
        self._sections = bytearray()
        self._starts = array("q")
        self._ends = array("q")
        self._covered: dict[Section, int] = {"thinking": 0, "answer": 0}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def thinking(self) -> str:
        """The scratch pad so far, whole characters only."""
        return self._stream.thinking_text

    @property
    def answer(self) -> str:
        """The answer so far, whole characters only."""
        return self._stream.text

    @property
    def section(self) -> Section:
        """Where the next token goes."""
        return "thinking" if self._stream.in_thinking else "answer"

    @property
    def pending(self) -> bytes:
        """Bytes at the end of the section that are no whole character yet."""
        return self._stream.pending

    def text_of(self, section: Section) -> str:
        """The section so far."""
        return self.thinking if section == "thinking" else self.answer

    def push(self, token_ids: Sequence[int], round_number: int, origins: Sequence[int] | None = None) -> None:
        """Append what one round committed. ``origins``: where each token comes from; ``FIRST`` if missing."""
        for place, token_id in enumerate(token_ids):
            before = self.section
            if self._stream.stopped is None:
                self._stream.push(token_id)
                self.version += self._stream.stopped is not None
            tag = token_id == self.vocabulary.think_close_id and before == "thinking"
            section = before if tag else self.section
            self.of_section[section].append(len(self._ids))
            self._ids.append(token_id)
            self._rounds.append(round_number)
            self._origins.append(origins[place] if origins is not None else FIRST)
            self._sections.append(SECTIONS.index(section))
            self._starts.append(self._covered[section])
            self._covered[section] = max(self._covered[section], len(self.text_of(section)))
            self._ends.append(self._covered[section])

    def close(self) -> None:
        """Nothing more comes: bytes still pending will never be a character."""
        self._stream.close()
        for section in SECTIONS:
            length = len(self.text_of(section))
            if length > self._covered[section] and self.of_section[section]:
                self._ends[self.of_section[section][-1]] = self._covered[section] = length
        self.version += 1

    def take_whole(self, thinking: str, answer: str, round_number: int) -> None:
        """Take the text as its source tells it, where its tokens have not spelled any: an import may know the
        text and not its tokens. It is written as one token of an unknown id for each section.

        Args:
            round_number: whom to name as their round; none that wrote any other token.
        """
        if self.thinking or self.answer or not (thinking or answer):
            return
        for section, text in zip(SECTIONS, (thinking, answer), strict=True):
            if text:
                self._append(section, text, UNKNOWN_ID, round_number)
        self.version += 1

    def take_piece(self, piece: Piece) -> None:
        """Append a piece. What stood for a first token that is not known goes."""
        if not self.in_pieces:
            self._begin()
            self.in_pieces = True
            self.version += 1
        self._stream.in_thinking = piece.section == "thinking"
        self._append(piece.section, piece.text, piece.id, NO_ROUND)

    def take_rounds_instead(self, first_id: int) -> None:
        """Rounds come after all: they write the text again, from the first token on."""
        self._begin()
        self.version += 1
        self.push([first_id], PREFILL)

    def _append(self, section: Section, text: str, token_id: int, round_number: int) -> None:
        """Text as its source tells it, as one token."""
        start = len(self.text_of(section))
        self._stream.take(section == "thinking", text)
        self.of_section[section].append(len(self._ids))
        self._ids.append(token_id)
        self._rounds.append(round_number)
        self._origins.append(UNTOLD)
        self._sections.append(SECTIONS.index(section))
        self._starts.append(start)
        self._covered[section] = len(self.text_of(section))
        self._ends.append(self._covered[section])

    def token(self, index: int) -> Written:
        """Token ``index``, from 0. A stop string may have cut its text since it was written."""
        section = SECTIONS[self._sections[index]]
        length = len(self.text_of(section))
        number = self._rounds[index]
        return Written(
            self._ids[index],
            number,
            index - bisect_left(self._rounds, number),
            self._origins[index],
            section,
            min(self._starts[index], length),
            min(self._ends[index], length),
        )

    def of_round(self, round_number: int) -> range:
        """The tokens that a round committed."""
        return range(bisect_left(self._rounds, round_number), bisect_right(self._rounds, round_number))

    def stretches(self, round_number: int) -> list[Stretch]:
        """Where the text of a round is, a stretch for each section."""
        found = []
        for section in SECTIONS:
            tokens = [
                token for token in map(self.token, self.of_round(round_number)) if token.section == section
            ]
            if tokens and tokens[-1].end > tokens[0].start:
                found.append(Stretch(section, tokens[0].start, tokens[-1].end))
        return found


def origins_of(round_: Round) -> list[int]:
    """Where each token that a round committed comes from: the accepted path goes down one depth a token."""
    if round_.mode == "ar":
        return [AR] * len(round_.committed_ids)
    accepted = len(round_.accepted)
    if not round_.tree_known:  # all but the bonus token were drafted, wherever in the tree
        accepted = len(round_.committed_ids) - (round_.bonus_id is not None)
    return [place + 1 if place < accepted else BONUS for place in range(len(round_.committed_ids))]

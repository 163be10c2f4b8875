"""Whether the text degenerates: repeats itself, mixes scripts, holds what is no text. Imports no torch.

Each sign is one that healthy text rarely shows: tables and code repeat, but not the same tokens again and
again; two languages meet in a sentence, but not three scripts letter by letter. Whether the target alone
writes the same is another question, which the oracle answers.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import eq

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import Evidence, found
from engine.events import UNKNOWN_ID, Finding, Prefilled, Round, Tokens

EVERY = 32
"""Tokens from one look to the next."""
LOOPS = ((64, 8), (128, 16), (256, 85))
"""Tokens that a repetition fills, and the longest period that is told from tables and lists by it."""
REPEATED = 0.97
"""Share of them that are the token a period before."""
LETTERS = 60
"""Fewer letters tell nothing about scripts."""
SHARE, SWITCHES = 0.08, 0.15
"""Of the letters, those of each script; of neighbouring letters, those of different scripts."""
NO_TEXT = 0.05
"""Share of characters that are bytes without a meaning, or codes that nobody writes."""
LATEST = 96
"""Tokens that are looked at for scripts and bytes."""
_SAME = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "BOPOMOFO": "CJK", "FULLWIDTH": "LATIN"}
_LAYOUT = str.maketrans("", "", "\n\r\t")
_OF_NO_LANGUAGE = frozenset(
    {"GREEK", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "SUPERSCRIPT", "SUBSCRIPT"}
    | {"MODIFIER", "MICRO", "MASCULINE", "FEMININE", "OHM", "KELVIN", "ANGSTROM"}
)
"""First words of the names of letters that formulas and units are written with."""


class Text(Detector):
    """One answer's text."""

    def __init__(self) -> None:
        self._bytes: dict[int, bytes] = {}
        self._special: set[int] = set()
        self._prompt = ""
        self._ids: list[int] = []
        self._rounds: list[int] = []
        self._surprise: list[float] = []
        self._looked = 0
        self._told = False

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        match event:
            case Tokens():
                self._learn(event)
            case Prefilled():
                self._prompt = event.prompt_text
                if event.first_id != UNKNOWN_ID:
                    self._ids, self._rounds = [event.first_id], [0]
                    self._surprise = [] if event.first_logprob is None else [-event.first_logprob]
            case Round() if UNKNOWN_ID in event.committed_ids:
                self._told = True  # an import: what the text is nobody knows
            case Round() if not self._told:
                self._ids += event.committed_ids
                self._rounds += [event.index] * len(event.committed_ids)
                self._surprise += _surprise(event)
                if len(self._ids) - self._looked >= EVERY:
                    yield from self._look()

    def end(self) -> Iterator[Finding]:
        if not self._told and len(self._ids) > self._looked:
            yield from self._look()

    def _learn(self, event: Tokens) -> None:
        for key, piece in event.pieces.items():
            raw = event.raw.get(key)
            self._bytes[int(key)] = piece.encode() if raw is None else bytes.fromhex(raw)
        self._special.update(event.special)

    def _look(self) -> Iterator[Finding]:
        self._looked = len(self._ids)
        finding = self._repetition()
        if finding is None:
            text = self._latest()
            finding = self._scripts(text) or self._no_text(text)
        if finding is not None:
            self._told = True
            yield finding

    def _repetition(self) -> Finding | None:
        period = repeated(self._ids)
        if period is None:
            return None
        ids = self._ids
        first = len(ids) - 1
        while first >= period and ids[first] == ids[first - period]:
            first -= 1
        start = min(first + 1, len(ids) - 1)
        seen = (
            f"The same {period} tokens come over and over: {len(ids) - start} tokens repeat what stands "
            f"{period} before."
        )
        evidence: dict[str, Evidence] = {
            "sign": "repetition",
            "period": period,
            "tokens": len(ids) - start,
        }
        if len(self._surprise) == len(ids):
            before, after = _mean(self._surprise[:start]), _mean(self._surprise[start:])
            seen += f" The target's surprise at them is {after:.2f} nats a token, before that {before:.2f}."
            evidence |= {"surprise_before": round(before, 3), "surprise_after": round(after, 3)}
        return self._finding(seen, start, **evidence)

    def _scripts(self, text: str) -> Finding | None:
        if text.isascii():
            return None
        counts: Counter[str] = Counter()
        for letter, count in Counter(text).items():
            if script := script_of(letter):
                counts[script] += count
        often = sorted(script for script, count in counts.items() if count >= SHARE * counts.total())
        if counts.total() < LETTERS or len(often) < 3:
            return None
        scripts = [script for letter in text if (script := script_of(letter))]
        switches = sum(a != b for a, b in itertools.pairwise(scripts)) / (len(scripts) - 1)
        known = {script for letter in self._prompt if (script := script_of(letter))}
        if switches < SWITCHES or set(often) <= known:
            return None
        return self._finding(
            f"The text mixes {', '.join(script.capitalize() for script in often)}: {switches:.0%} of "
            "neighbouring letters are of different scripts.",
            max(0, len(self._ids) - LATEST),
            sign="mixed scripts",
            scripts=[*often],
            switches=round(switches, 3),
        )

    def _no_text(self, text: str) -> Finding | None:
        if len(text) < LETTERS or ("\ufffd" not in text and text.translate(_LAYOUT).isprintable()):
            return None
        count = sum(count for letter, count in Counter(text).items() if _is_no_text(letter))
        if count < NO_TEXT * len(text):
            return None
        return self._finding(
            f"{count} of the last {len(text)} characters are no text: bytes that form no character, or codes "
            "that nobody writes.",
            max(0, len(self._ids) - LATEST),
            sign="no text",
            characters=len(text),
            broken=count,
        )

    def _latest(self) -> str:
        ids = (token_id for token_id in self._ids[-LATEST:] if token_id not in self._special)
        data = b"".join(self._bytes.get(token_id, b"") for token_id in ids)
        return data.decode("utf-8", "replace").strip("\ufffd")  # characters that are cut at either end

    def _finding(self, seen: str, start: int, **evidence: Evidence) -> Finding:
        return found(
            "degenerate-text", seen, severity="warning", round=self._rounds[start], token=start, **evidence
        )


def repeated(ids: Sequence[int]) -> int | None:
    """The period of a repetition at the end; None if there is none."""
    for tokens, longest in LOOPS:
        if len(ids) < tokens:
            return None
        last = ids[-tokens:]
        if len(set(last)) > longest + (1 - REPEATED) * tokens:
            continue
        for period in range(1, longest + 1):
            again = sum(map(eq, last[period:], last))
            if again >= REPEATED * (tokens - period):
                return period
    return None


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str | None:
    """The script of a letter, by its Unicode name; None for what is no letter of a language."""
    if not letter.isalpha():
        return None
    script = unicodedata.name(letter, "").partition(" ")[0]
    return None if script in _OF_NO_LANGUAGE else _SAME.get(script, script) or None


def _is_no_text(letter: str) -> bool:
    if letter == "\ufffd":
        return True
    return unicodedata.category(letter) in ("Cc", "Cn", "Co", "Cs") and letter not in "\n\r\t"


def _surprise(event: Round) -> list[float]:
    """-log p of the tokens committed, as the target had them in the rows they were chosen at; none where that
    is unknown."""
    if not event.target.logprobs:
        return []
    rows = [0, *(node + 1 for node in event.accepted)]
    return [-event.target.logprobs[row] for row in rows[: len(event.committed_ids)]]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

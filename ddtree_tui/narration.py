"""What happens, told in plain sentences: for screen readers, and for whoever wants a log. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_tui.alarm import alarm
from ddtree_tui.check.text import details, headline
from ddtree_tui.escape import decode_bytes, escape
from ddtree_tui.labels import NO_ID
from ddtree_tui.noticed import told
from ddtree_tui.plural import counted
from ddtree_tui.session import Session
from ddtree_tui.totals import counts_text, finished_text
from ddtree_tui.unknown import UNKNOWN, UNKNOWN_MODEL, known_settings, number_text
from engine.events import (
    UNKNOWN_ID,
    AnyEvent,
    Checked,
    Failed,
    Finding,
    Finished,
    Loaded,
    Loading,
    Prefilled,
    Round,
)

ENDINGS = {
    "stop": "It ended by itself",
    "length": "It ended at the most tokens allowed",
    "cancelled": "It was stopped",
    "unknown": "It ended, why is unknown",
}


class Narrator:
    """Turns events into lines. The session has taken each in before. Text of the models is escaped.

    Attributes:
        rounds: whether every round is told of.
    """

    def __init__(self, session: Session, *, rounds: bool = True) -> None:
        self._session = session
        self._stage = ""
        self.rounds = rounds

    def tell(self, event: AnyEvent) -> Iterator[str]:
        """The lines an event is worth; none for what only machines need."""
        match event:
            case Loading() if event.stage != self._stage:
                self._stage = event.stage
                yield f"Loading: {escape(event.stage)}."
            case Loaded():
                self._stage = ""
                yield self._loaded(event)
            case Prefilled():
                yield self._prefilled(event)
                if event.settings.inject:
                    yield f"{alarm(event.settings, hybrid=False)}."
            case Round() if self.rounds:
                yield self._round(event)
            case Finding() if event.severity != "note":
                yield escape(f"Noticed, {told(event)}")
            case Finished():
                yield from self._finished(event)
            case Checked():
                yield escape(headline(event))
                if event.verdict == "defect":
                    yield from map(escape, details(event, self._spell))
            case Failed():
                yield escape(f"Failed: {event.message} {event.hint}")

    def _loaded(self, event: Loaded) -> str:
        target = event.target.name or UNKNOWN_MODEL
        if event.system:
            return escape(f"Ready: {target}, answered by {event.system}.")
        if not event.device:
            return escape(
                f"Imported: {target}" + (f", drafter {event.drafter.name}." if event.drafter else ".")
            )
        drafter = f"drafter {event.drafter.name}, block {event.block_size}" if event.drafter else "no drafter"
        return escape(f"Ready: {target} on {event.device}, {drafter}.")

    def _prefilled(self, event: Prefilled) -> str:
        settings, known = event.settings, known_settings(event)
        count = counted(len(event.prompt_ids), "token") if event.prompt_ids else f"{UNKNOWN} length"
        mode = settings.mode if "mode" in known else UNKNOWN
        if mode == "tree":
            mode += f", budget {settings.budget if 'budget' in known else UNKNOWN}"
        read = f"Prompt read: {count}. Mode {mode}."
        return read if event.source is None else f"{escape(event.source.name)}. {read}".lstrip(". ")

    def _round(self, event: Round) -> str:
        written = decode_bytes(b"".join(map(self._bytes, event.committed_ids)))
        told = f"Round {event.index + 1}: {counted(event.acceptance_length, 'token')}, “{escape(written)}”."
        if event.mode == "ar" or not event.tree_known:
            return told
        told += f" {len(event.accepted)} of {counted(len(event.nodes.ids), 'drafted node')} accepted"
        if event.bonus_id is None:
            told += "; the answer ends there."
        else:
            told += f", then the target's own {escape(self._spell(event.bonus_id))}."
        if event.miss is not None and not event.miss.beyond:
            missed = escape(decode_bytes(self._bytes(event.miss.id)))
            told += f" Near miss: “{missed}” was the drafter's choice #{event.miss.rank}."
        return told

    def _finished(self, event: Finished) -> Iterator[str]:
        if event.thinking_text.strip():
            yield f"Thinking: {escape(event.thinking_text.strip(), keep_newlines=True)}"
        yield f"Answer: {escape(event.text.strip(), keep_newlines=True)}"
        answer, mean = self._session.answer, f"{event.mean_acceptance_length:.2f}"
        counts = finished_text(event)
        if answer is not None and answer.imported:
            counts, mean = counts_text(answer), number_text(event.mean_acceptance_length, 2)
        yield (
            f"{ENDINGS.get(event.reason, escape(event.reason))}: {counts}, {mean} a round, "
            f"{number_text(event.tokens_per_second, 0)} tokens a second."
        )

    def _spell(self, token_id: int) -> str:
        return f"“{decode_bytes(self._bytes(token_id))}”"

    def _bytes(self, token_id: int) -> bytes:
        answer = self._session.answer
        vocabulary = answer.vocabulary if answer is not None else self._session.vocabulary
        unknown = NO_ID if token_id == UNKNOWN_ID else f"#{token_id}"
        return vocabulary.token_bytes(token_id) or unknown.encode()

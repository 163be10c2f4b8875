"""The decode loop: prefill, then rounds of draft → build → verify → walk → commit.

The three modes are one loop. ``ar`` verifies the root alone, ``chain`` the drafter's first choices, ``tree``
the draft tree; what the target chooses is committed, so the text is the target's own in all of them.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import torch

from engine.codec import EncodedPrompt, prompt_too_long
from engine.control import Control, no_drafter
from engine.conversation import conversation
from engine.detail import rounded, top_rows
from engine.errors import EngineError
from engine.events import MAX_CANDIDATES, TOP_CANDIDATES, Finished, Prefilled, Round, Tokens
from engine.faults.planting import plant
from engine.observer import Observation, Start
from engine.observers import observers
from engine.pair import Pair
from engine.recording import ids_of
from engine.rounds import RoundResult, check_finite, decode_round
from engine.sampling import Sampler
from engine.settings import MODES, DecodeSettings, Message
from engine.shared_control import SharedControl
from engine.static.result import StaticResult
from engine.static.runner import Flight, StaticRunner
from engine.static.state import MAX_STOP_IDS
from engine.tally import Tally
from engine.text_stream import TextStream

__all__ = ["Control", "generate"]

RunEvent = Tokens | Prefilled | Round | Finished | Observation


def generate(
    pair: Pair,
    prompt: str | Sequence[Message],
    settings: DecodeSettings | None = None,
    *,
    control: Control | None = None,
    plain: bool = False,
    candidates: int = TOP_CANDIDATES,
    **overrides: Any,
) -> Iterator[RunEvent]:
    """Decode one answer; yields its events as they happen.

    Args:
        pair: from ``load_pair``. One answer at a time: its caches are in use until the iterator ends.
        prompt: the user's message, or a whole conversation.
        settings: how to decode; ``overrides`` replace single ones (``budget=16``).
        control: to cancel, pause or steer the run from another thread; of several ranks, the first one's.
        plain: go on from the last message as it stands, without the chat template.
        candidates: so many of the best are reported a row, where ``detail`` is on.

    Raises:
        EngineError: ``bad_setting``, ``no_drafter``, ``empty_prompt``, ``bad_prompt``, ``prompt_too_long``
            at once; ``pair_in_use`` instead of the first event; ``not_finite`` whenever it turns up.
    """
    settings = _settings(settings or DecodeSettings(), overrides)
    given, messages = pair, conversation(prompt)
    if settings.inject:
        pair, settings = plant(pair, settings, messages)
    _check_drafter(pair, settings)
    control = control or Control()
    if pair.target.ranks is not None:
        control = SharedControl(control, pair.target.ranks)
    control.restrict(MODES if pair.drafter else ("ar",))
    context = pair.target.context_length
    if plain:
        encoded = pair.codec.encode_plain(messages[-1]["content"], context=context)
    else:
        encoded = pair.codec.encode_chat(messages, settings.thinking, context=context)
    _check_length(pair, encoded)
    if type(candidates) is not int or not 1 <= candidates <= MAX_CANDIDATES:
        raise EngineError(
            "bad_setting",
            f"There cannot be {candidates!r} candidates.",
            f"Choose from 1 to {MAX_CANDIDATES}.",
        )
    return _Run(pair, given, messages, encoded, settings, control, candidates).events()


class _Run:
    """One answer on its way."""

    def __init__(
        self,
        pair: Pair,
        given: Pair,
        messages: list[Message],
        encoded: EncodedPrompt,
        settings: DecodeSettings,
        control: Control,
        candidates: int,
    ) -> None:
        self.pair, self.given, self.candidates = pair, given, candidates
        self.messages, self.encoded = messages, encoded
        self.settings, self.control = settings, control
        self.sampler = Sampler(
            settings.temperature, settings.top_p, settings.top_k, settings.min_p, settings.seed
        )
        self.stream = TextStream(pair.codec, stop=settings.stop, in_thinking=encoded.in_thinking)
        self.output: list[int] = []
        self.reason: str | None = None
        self.tally = Tally()
        self.announced: set[int] = set()
        self.observers = observers(settings)
        self.started = 0.0

    def events(self) -> Iterator[RunEvent]:
        self.started = time.perf_counter()
        with self.pair.session.in_use():
            yield from self._events()

    def _events(self) -> Iterator[RunEvent]:
        session = self.pair.session
        start = Start(self.pair, self.messages, self.encoded, self.settings, self.given, self.control)
        try:
            yield from self._observe(each.started(start) for each in self.observers)
            yield from self._prefill()
            with contextlib.closing(self._rounds()) as rounds:
                for result, settings in rounds:
                    self.tally.add(result)
                    yield from self._announce(result.token_ids())
                    event = result.event(self.tally.rounds - 1, settings, self._now())
                    yield event
                    if settings.auto_budget and event.mode == "tree":
                        self.pair.auto_budget.learn(event)
                    yield from self._observe(each.round(event, result) for each in self.observers)
        except GeneratorExit:
            raise
        except BaseException as error:
            left = isinstance(error.__context__, GeneratorExit)  # what was in flight failed, nobody listens
            try:
                if isinstance(error, EngineError) and not left:
                    yield from self._observe(each.failed(error) for each in self.observers)
            finally:
                # Pending rows or half a prefill: nothing in the caches can be relied on.
                session.reset()
            if not left:
                raise
            return
        yield from self._observe(each.ending(self.output) for each in self.observers)
        yield self._finish()
        yield from self._observe(each.finished(self.output) for each in self.observers)

    def _rounds(self) -> Generator[tuple[RoundResult | StaticResult, DecodeSettings], None, None]:
        """Rounds until the text ends, each with the settings it was decoded with."""
        if self.reason is None and self._on_device():
            yield from self._device_rounds()
            return
        while self.reason is None:
            settings = self._next_settings()
            if settings is None:
                self.reason = "cancelled"
                return
            session, root_id = self.pair.session, self.output[-1]
            room, stages = self._room(), self.pair.stages
            take, candidates = self.take, self.candidates
            result = decode_round(session, root_id, settings, self.sampler, room, take, stages, candidates)
            yield result, settings

    def _next_settings(self) -> DecodeSettings | None:
        """Those of the next round, its budget chosen if the engine is to; None ends the run."""
        settings = self.control.before_round(self.settings)
        if settings is None or not settings.auto_budget or settings.mode != "tree":
            return settings
        target, budget = self.pair.target, self.pair.auto_budget.choose(settings.budget)
        if target.ranks is not None:
            # Read back from the device only where it must be: that waits for the round under way.
            budget = int(target.agree(torch.tensor([budget], device=target.device)))
        return msgspec.structs.replace(settings, budget=budget)

    def _on_device(self) -> bool:
        """The other ways to verify are for looking at, not for speed."""
        settings, stops = self.settings, self.pair.codec.stop_ids
        plain = settings.verify == "solve" and len(stops) <= MAX_STOP_IDS
        return bool(self.pair.on_device) and plain

    def _device_rounds(self) -> Iterator[tuple[StaticResult, DecodeSettings]]:
        """One round ahead of the host, unless a stop string could end the text behind the device's back."""
        runner = self.pair.runner
        runner.enter(self.output[-1], self._room(), self.sampler, sorted(self.pair.codec.stop_ids))
        in_flight: deque[Flight] = deque()
        revocable = bool(self.settings.stop)
        ahead = 1 if revocable else 2
        cancelled = False  # the reason only behind the rounds in flight, whose tokens are all of the text
        try:
            while in_flight or not (cancelled or self.reason):
                more = not (cancelled or self.reason) and len(in_flight) < ahead
                if more and (not in_flight or self.control.runs):
                    settings = self._next_settings()
                    if settings is None:
                        cancelled = True
                    else:
                        greedy, candidates = self.sampler.greedy, self.candidates
                        in_flight.append(runner.launch(settings, greedy, revocable, candidates))
                    continue
                flight = in_flight.popleft()
                result = self._take_all(runner, runner.wait(flight))
                if result.kept:
                    yield result, flight.settings
            self.reason = self.reason or "cancelled"
        finally:
            for flight in in_flight:
                self._take_all(runner, runner.wait(flight))
            runner.leave([*self.encoded.ids, *self.output[:-1]])

    def _take_all(self, runner: StaticRunner, result: StaticResult) -> StaticResult:
        """Add a round's tokens to the text; a stop string may end it before the last of them."""
        for place, token_id in enumerate(result.committed, start=1):
            if self.take(token_id) and place < result.kept:
                return runner.cut(result, place)
        return result

    def take(self, token_id: int) -> bool:
        """Append one token to the text; True when the answer ends with it."""
        self.output.append(token_id)
        if self.pair.stages.ends(token_id, self.pair.codec.stop_ids) or self.stream.push(token_id):
            self.reason = "stop"
        elif len(self.output) >= self.settings.max_new_tokens or self._room() <= 0:
            self.reason = "length"
        return self.reason is not None

    def _room(self) -> int:
        """Tokens that may still follow."""
        context = self.pair.target.context_length - len(self.encoded.ids)
        return min(self.settings.max_new_tokens, context) - len(self.output)

    def _prefill(self) -> Iterator[RunEvent]:
        session, ids = self.pair.session, self.encoded.ids
        cached = session.rewind(ids)
        logits = torch.empty(0)
        for chunk_logits in session.prefill(ids[cached:], self.encoded.stable):
            logits = chunk_logits
            if self.control.cancelled:
                self.reason = "cancelled"
                return
        check_finite(logits, "target")
        positions = logits.new_tensor([len(ids)]).long()
        first_id = int(self.pair.target.agree(self.sampler.choose(logits, positions))[0])
        self.tally.seconds_to_first = self._now()
        self.take(first_id)
        top = top_rows(logits, self.candidates) if self.settings.detail else None
        yield from self._announce([*ids, first_id, *(top.ids.flatten().tolist() if top else [])])
        event = Prefilled(
            t=self._now(),
            prompt_ids=ids,
            prompt_text=self.encoded.text,
            messages=self.messages,
            thinking=self.settings.thinking,
            settings=self.settings,
            stop_ids=sorted(self.pair.codec.stop_ids),
            seconds=self.tally.seconds_to_first,
            first_id=first_id,
            cached=cached,
            first_logprob=rounded(logits[:, first_id] - torch.logsumexp(logits, dim=-1))[0],
            first_topk=top.candidates() if top else None,
        )
        yield event
        yield from self._observe(each.prefilled(event) for each in self.observers)

    def _observe(self, observed: Iterable[Iterable[Observation]]) -> Iterator[RunEvent]:
        for events in observed:
            for event in events:
                yield from self._announce(sorted(ids_of(event)))
                yield msgspec.structs.replace(event, t=self._now())

    def _announce(self, ids: Sequence[int]) -> Iterator[Tokens]:
        new = sorted(set(ids) - self.announced)
        if new:
            self.announced.update(new)
            yield msgspec.structs.replace(self.pair.codec.tokens_event(new), t=self._now())

    def _finish(self) -> Finished:
        self.stream.close()
        assert self.reason is not None
        return self.tally.finished(
            self.reason, self.output, self.stream.text, self.stream.thinking_text, self._now()
        )

    def _now(self) -> float:
        return time.perf_counter() - self.started


def _settings(settings: DecodeSettings, overrides: dict[str, Any]) -> DecodeSettings:
    unknown = overrides.keys() - set(DecodeSettings.__struct_fields__)
    if unknown:
        raise EngineError(
            "bad_setting",
            f"There is no setting {sorted(unknown)[0]}.",
            "Settings are " + ", ".join(DecodeSettings.__struct_fields__) + ".",
        )
    settings = msgspec.structs.replace(settings, **overrides)
    settings.check()
    return settings


def _check_drafter(pair: Pair, settings: DecodeSettings) -> None:
    if pair.drafter is None:
        if settings.mode != "ar":
            raise no_drafter(settings.mode)
        return
    trained = pair.drafter.config.block_size
    if settings.block_size is not None and settings.block_size > trained:
        raise EngineError(
            "bad_setting",
            f"The block size cannot be {settings.block_size}: the drafter was trained with {trained}.",
            f"Choose a block size from 2 to {trained}.",
        )


def _check_length(pair: Pair, encoded: EncodedPrompt) -> None:
    context = pair.target.context_length
    if len(encoded.ids) >= context:
        raise prompt_too_long(len(encoded.ids), context)

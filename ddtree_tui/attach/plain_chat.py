"""One chat answer of another server: asked for, taken as it comes, and closed with what the server counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from ddtree_tui.attach.client import Client, Line, Reply
from ddtree_tui.attach.plain_answer import Asked, Taken, beginning, ending
from ddtree_tui.attach.plain_counters import Counters, Meanwhile, caught_up, meanwhile, read_counters
from ddtree_tui.attach.plain_request import CHANGING, LENGTH, known_settings, request_body, to_leave_away
from ddtree_tui.attach.plain_server import PlainServer
from ddtree_tui.attach.plain_stream import Part, Stream, read_chunk
from ddtree_tui.importers.answer import announced
from ddtree_tui.importers.chat import bytes_of
from ddtree_tui.served import name_of
from engine.commands import Generate
from engine.errors import EngineError
from engine.events import UNKNOWN_ID, AnyEvent, Piece, Prefilled
from engine.settings import DecodeSettings

PATH = "/v1/chat/completions"
DONE = b"[DONE]"
COUNTED_SECONDS = 1.0
"""How long counters are waited for that the answer is not in yet: servers add up now and then."""
ASK_AGAIN_SECONDS = 0.1


class Chat:
    """Asks one server.

    Args:
        put: takes every event of every answer.
        tell: takes sentences for the user.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        client: Client,
        server: PlainServer,
        put: Callable[[AnyEvent], None],
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._server = client, server
        self._put, self._tell, self._clock = put, tell, clock
        self._without: set[str] = set()
        self._unlimited = False

    def answer(self, command: Generate, line: Line) -> None:
        """Have one conversation answered: ``prefilled``, ``piece``*, and at its end what is known of rounds.

        Args:
            line: whoever cuts it ends the answer, with what is there.

        Raises:
            EngineError: if the server refuses, breaks off, or says something else than an answer.
        """
        settings = self._settings(command.settings)
        before = self._counters()
        begun = self._clock()
        try:
            asked, reply = self._ask(command, settings, line)
        except EngineError:
            if not line.cut:
                raise
            nothing = Asked(self._server.system, self._server.model, command.messages, settings, frozenset())
            _Answer(nothing, self._put, begun, self._clock).end(None, cancelled=True)
            return
        answer = _Answer(asked, self._put, begun, self._clock)
        with reply:
            try:
                for data in reply.events():
                    if data == DONE:
                        break
                    answer.take(data)
            except EngineError:
                if not line.cut:
                    raise
        counted = None
        if before is not None and not line.cut and not any(answer.stream.drafting):
            counted = self._meanwhile(before, answer.stream.tokens)
        if notice := answer.end(counted, cancelled=line.cut):
            self._tell(notice)

    def _settings(self, settings: DecodeSettings) -> DecodeSettings:
        """What was asked for, and how the server decodes in any case."""
        server = self._server
        mode, budget = server.mode or settings.mode, server.budget or settings.budget
        return msgspec.structs.replace(settings, mode=mode, budget=budget)

    def _ask(self, command: Generate, settings: DecodeSettings, line: Line) -> tuple[Asked, Reply]:
        """Send it, again and again without what is refused, which is remembered."""
        server, without = self._server, {*self._without}
        while True:
            body = request_body(
                server.model, command.messages, settings, system=server.system, without=without
            )
            try:
                reply = self._client.open("POST", PATH, body, timeout=None, line=line)
                break
            except EngineError as error:
                more = to_leave_away(error, body, without)
                if not more:
                    raise
                without |= more
        self._remember(without)
        known = known_settings(body)
        known |= {name for name in ("mode", "budget") if getattr(server, name)}
        return Asked(server.system, server.model, command.messages, settings, frozenset(known)), reply

    def _remember(self, without: set[str]) -> None:
        """What was left away will not be sent again; the user is told of what may change answers."""
        name = name_of(self._server.system)
        if without.issuperset(LENGTH):  # may be sent with a shorter prompt
            without = without - {*LENGTH}
            if not self._unlimited:
                self._unlimited = True
                self._tell(f"{name} refuses so many new tokens: the context alone limits the answer.")
        news, self._without = without - self._without, without
        if changing := ", ".join(sorted(CHANGING[field] for field in news & CHANGING.keys())):
            self._tell(f"{name} does not take these settings, and decides by itself: {changing}.")

    def _counters(self) -> Counters | None:
        if self._server.counters is None or self._server.mode == "ar":
            return None
        try:
            return read_counters(self._client.text("/metrics"))
        except EngineError:
            return None

    def _meanwhile(self, before: Counters, tokens: int | None) -> Meanwhile | None:
        """What was counted since, as soon as the answer is in it."""
        until = self._clock() + COUNTED_SECONDS
        while (after := self._counters()) is not None:
            if caught_up(before, after, tokens or 0) or self._clock() > until:
                return meanwhile(before, after, tokens)
            time.sleep(ASK_AGAIN_SECONDS)
        return None


class _Answer:
    """Turns the events of a stream into ours."""

    def __init__(
        self, asked: Asked, put: Callable[[AnyEvent], None], begun: float, clock: Callable[[], float]
    ) -> None:
        self.stream = Stream()
        self._asked, self._put, self._begun, self._clock = asked, put, begun, clock
        self._prefilled: Prefilled | None = None
        self._first = self._last = 0.0
        self._first_tokens = 0
        self._told: set[int] = set()

    def take(self, data: bytes) -> None:
        """One event's data."""
        chunk = read_chunk(data)
        now = self._clock() - self._begun
        spelled = len(self.stream.entries)
        parts = self.stream.take(chunk)
        if not parts:
            return
        tokens = self.stream.tokens
        if self._prefilled is None:
            self._first, self._first_tokens = now, tokens or 1  # one, where nobody counts before the end
            self._begin(opens_thinking=parts[0].section == "thinking")
        self._last = now
        self._announce(spelled)
        for piece in self._pieces(parts, tokens):
            self._put(piece)

    def end(self, counted: Meanwhile | None, *, cancelled: bool) -> str:
        """The stream is over. A sentence, if the server's numbers contradict each other."""
        now = self._clock() - self._begun
        prefilled = self._prefilled or self._begin(opens_thinking=False)
        taken = Taken(self._first, self._last, now, self._first_tokens)
        events, notice = ending(self._asked, self.stream, taken, prefilled, counted, cancelled=cancelled)
        for event in events:
            self._put(event)
        return notice

    def _begin(self, *, opens_thinking: bool) -> Prefilled:
        self._prefilled = beginning(self._asked, self.stream, self._first, opens_thinking=opens_thinking)
        self._put(self._prefilled)
        return self._prefilled

    def _announce(self, start: int) -> None:
        """How new ids are spelled, before any piece names one."""
        ids, entries = self.stream.ids, self.stream.entries
        if len(ids) != len(entries):
            return
        new = {
            token: bytes_of(entry)
            for token, entry in zip(ids[start:], entries[start:], strict=True)
            if token >= 0 and token not in self._told
        }
        if new:
            self._told |= new.keys()
            self._put(msgspec.structs.replace(announced(new), t=self._last))

    def _pieces(self, parts: list[Part], tokens: int | None) -> Iterator[Piece]:
        """A piece a part. Of the tokens that came together each but the last counts for itself alone."""
        for behind, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
            so_far = tokens - behind if tokens is not None and tokens > behind else tokens
            token = part.id if part.id in self._told else UNKNOWN_ID
            yield Piece(t=self._last, section=part.section, text=part.text, id=token, tokens=so_far)

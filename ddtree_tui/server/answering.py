"""From a request that is valid to its answer: wait for a turn, follow the engine, write down what it says."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any, Literal

import msgspec
from fastapi import Request, Response

from ddtree_tui.server.account import Account
from ddtree_tui.server.decode_request import DecodeRequest
from ddtree_tui.server.errors import INTERNAL, ApiError, of_engine
from ddtree_tui.server.fair_queue import QueueFullError
from ddtree_tui.server.form import Form
from ddtree_tui.server.hangup import ClientGoneError, unless_gone
from ddtree_tui.server.run import Run
from ddtree_tui.server.service import Service
from ddtree_tui.server.stream import DONE, EventStream, frame
from ddtree_tui.server.transcript import Piece, Told, Transcript
from engine.commands import Generate
from engine.events import AnyEvent, Failed, Finished, Loaded, Prefilled, Round, Tokens

log = logging.getLogger("ddtree_tui.server")

GONE = 499
"""The status in the log of a request whose client left before there was one."""


class Answering:
    """One answer on its way to its client."""

    def __init__(
        self,
        service: Service,
        form: Form,
        command: Generate,
        request: Request,
        body: DecodeRequest,
        loaded: Loaded,
    ) -> None:
        self._service, self._form, self._request, self._body = service, form, request, body
        self._loaded = loaded
        self._run = Run(form.id, command, client_of(request))
        self._transcript = Transcript(body.alternatives)
        self._account = Account(loaded, trace=body.traces)
        self._finished: Finished | None = None
        self._facts = request.scope["facts"]
        self._facts |= {
            "id": form.id,
            "received": round(service.clock(self._run.received), 6),
            "mode": command.settings.mode,
        }

    async def respond(self) -> Response:
        """The answer, or the beginning of one.

        Raises:
            ApiError: 429 if too many wait; whatever keeps the engine from answering.
        """
        try:
            self._service.host.submit(self._run)
        except QueueFullError as full:
            raise self._full(full) from None
        try:
            if not self._body.streams:
                answer = await unless_gone(self._request.receive, self._whole())
                self._leave("ok")
                return answer
            steps = self._steps()
            first = await unless_gone(self._request.receive, anext(steps))
        except ClientGoneError:
            self._leave("client_gone")
            return Response(status_code=GONE)
        except ApiError as error:
            self._leave("error", error.code)
            raise
        except BaseException:
            self._leave("error", "internal")
            raise
        patience = self._service.options.limits.idle_seconds
        return EventStream(self._frames(first, steps), patience, lambda: self._leave("client_gone"))

    async def _whole(self) -> Response:
        pieces = [piece async for _, piece in self._steps()]
        told: list[Told] = [each for piece in pieces for each in piece.told]
        thinking, text = "".join(p.thinking for p in pieces), "".join(p.text for p in pieces)
        answer = self._form.whole(thinking, text, told, self._reason(), self._closing())
        return Response(answer.model_dump_json(), media_type="application/json")

    async def _frames(
        self, first: tuple[AnyEvent, Piece], steps: AsyncGenerator[tuple[AnyEvent, Piece], None]
    ) -> AsyncGenerator[bytes, None]:
        told = 0
        try:
            if (opening := self._form.opening()) is not None:
                yield self._framed(opening)
            step: tuple[AnyEvent, Piece] | None = first
            while step is not None:
                chunk = self._form.chunk(step[1])
                trace = self._account.trace
                if trace is not None:
                    chunk["ddtree_events"], told = trace[told:], len(trace)
                if step[1] or trace is not None:
                    yield self._framed(chunk)
                step = await anext(steps, None)
            for data in self._last_frames():
                yield data
        except ApiError as error:
            self._leave("error", error.code)
            yield frame(msgspec.json.encode(error.body))
        except Exception:
            log.exception("stream failed")
            self._leave("error", "internal")
            yield frame(msgspec.json.encode(INTERNAL.body))

    def _last_frames(self) -> list[bytes]:
        ending, closing = self._form.ending(self._reason()), self._closing()
        rest = {
            name: value.model_dump() if hasattr(value, "model_dump") else value
            for name, value in closing.items()
        }
        rest["ddtree"]["trace"] = None  # sent already
        usage = rest.pop("usage")
        if not self._body.includes_usage:
            return [frame(msgspec.json.encode(ending | rest)), DONE]
        last = self._form.streamed() | {"usage": usage} | rest
        return [self._framed(ending), frame(msgspec.json.encode(last)), DONE]

    def _framed(self, chunk: dict[str, Any]) -> bytes:
        if self._body.includes_usage:
            chunk["usage"] = None
        return frame(msgspec.json.encode(chunk))

    async def _steps(self) -> AsyncGenerator[tuple[AnyEvent, Piece], None]:
        """Events that bring something new, with that.

        Raises:
            ApiError: if the answer comes to nothing, or to an end before its time.
        """
        async for event in self._run.events():
            self._account.add(event)
            match event:
                case Tokens():
                    self._transcript.learn(event)
                case Prefilled():
                    self._service.metrics.waited(self._run.waited)
                    self._check_room(len(event.prompt_ids))
                    yield event, self._transcript.begin(event)
                case Round():
                    yield event, self._transcript.add(event)
                case Finished(reason="cancelled"):
                    raise ApiError(503, "The answer was cancelled.", code="cancelled")
                case Finished():
                    self._finished = event
                    self._note(event)
                    yield event, self._transcript.end(event)
                case Failed():
                    raise of_engine(event, self._form.question)

    def _check_room(self, prompt: int) -> None:
        context, limit = self._loaded.context_length, self._body.answer_tokens
        if limit is not None and prompt + limit > context:
            raise ApiError(
                400,
                f"The model's context has {context} tokens; the request is for {prompt + limit}: "
                f"{prompt} of the prompt and {limit} of the answer.",
                code="context_length_exceeded",
                param=self._form.question if prompt > limit else self._body.answer_field,
            )

    def _reason(self) -> Literal["stop", "length"]:
        assert self._finished is not None
        return "length" if self._finished.reason == "length" else "stop"

    def _closing(self) -> dict[str, Any]:
        assert self._finished is not None
        return self._account.closing(
            self._finished,
            thinking_tokens=self._transcript.thinking_tokens,
            waited=self._run.waited,
            warnings=self._body.warnings(self._run.command.settings.mode),
        )

    def _note(self, finished: Finished) -> None:
        self._facts |= {
            "outcome": finished.reason,
            "output_tokens": finished.tokens,
            "rounds": finished.rounds,
            "mean_acceptance_length": round(finished.mean_acceptance_length, 3),
            "queue_ms": round(1000 * self._run.waited, 3),
            "time_to_first_token_ms": round(1000 * finished.ttft_s, 1),
        }
        if self._service.options.log_prompts:
            self._facts |= {"prompt": self._run.command.messages, "text": finished.text}

    def _leave(self, outcome: str, error: str | None = None) -> None:
        """Nobody reads on: what came of it, for the log, unless that is known."""
        if "outcome" not in self._facts:
            self._facts["outcome"] = outcome
            if error is not None:
                self._facts["error"] = error
        self._service.host.leave(self._run)

    def _full(self, full: QueueFullError) -> ApiError:
        host = self._service.host
        whose = (
            f"{full.own} of your requests wait already, and the other places are for others"
            if full.of_client
            else f"{len(host.queue)} requests wait already"
        )
        return ApiError(
            429,
            f"{whose}; try again later.",
            code="queue_full",
            headers={"Retry-After": str(host.expected_wait())},
        )


def client_of(request: Request) -> str:
    """Whose request it is, for the queue: the key's and the address's."""
    address = request.client.host if request.client else ""
    return f"{request.scope.get('api_key', '')} {address}"

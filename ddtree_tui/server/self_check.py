"""One real answer before anybody is served: "live" is not "works"."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from engine.commands import Generate
from engine.errors import EngineError
from engine.events import AnyEvent, Checked, Failed, Finding, Finished, Loaded
from engine.failures import as_error
from engine.settings import DecodeSettings, Message, Oracle

PROMPT = "Tell me a story about a fox and a lantern."
TOKENS = 48

log = logging.getLogger("ddtree_tui.server")

Decode = Callable[[Generate], Awaitable[list[AnyEvent]]]


async def check_engine(decode: Decode, settings: DecodeSettings, loaded: Loaded) -> None:
    """Have the engine answer once with the oracle on, and once more without drafting.

    Several processes that hold the target have no oracle: there the second answer is all to compare with.

    Args:
        settings: how the server decodes; the answer here is greedy.

    Raises:
        EngineError: ``check_failed`` for an answer that is not the target's own, or a defect that a detector
            found; whatever the engine could not do.
    """
    settings = replace(
        settings,
        temperature=0.0,
        max_new_tokens=min(TOKENS, loaded.context_length // 2),
        stop=(),
        thinking=False,
    )
    began = time.monotonic()
    oracle: Oracle = "full" if loaded.processes == 1 else "off"
    events = await _answer(decode, replace(settings, oracle=oracle))
    _check_findings(events, settings)
    checked = _check_oracle(events, settings)
    if settings.mode != "ar" and (checked is None or checked.verdict == "identical"):
        plain = await _answer(decode, replace(settings, mode="ar", inject=()))
        _check_ids(_ids(events), _ids(plain), exact=loaded.target.dtype in ("float32", "float64"))
    verdict = checked.verdict if checked is not None else None
    facts = {"oracle": verdict, "tokens": len(_ids(events)), "seconds": round(time.monotonic() - began, 3)}
    log.info("checked", extra={"facts": facts})


async def _answer(decode: Decode, settings: DecodeSettings) -> list[AnyEvent]:
    message: Message = {"role": "user", "content": PROMPT}
    events = await decode(Generate(messages=[message], settings=settings, fresh=True))
    for event in events:
        if isinstance(event, Failed):
            raise as_error(event)
    return events


def _check_findings(events: list[AnyEvent], settings: DecodeSettings) -> None:
    for event in events:
        if isinstance(event, Finding) and event.severity == "defect":
            if settings.inject:  # what to do about the cause is to plant none
                raise _failed(
                    f"planted: {', '.join(settings.inject)}. Found: {event.cause}: {event.seen}",
                    "Start the server without --inject.",
                )
            raise _failed(f"{event.cause}: {event.seen}", event.todo)


def _check_oracle(events: list[AnyEvent], settings: DecodeSettings) -> Checked | None:
    """What the oracle says; None where the engine has none."""
    checked = next((event for event in events if isinstance(event, Checked)), None)
    if checked is not None and checked.verdict == "defect":
        place = f", first at position {checked.first.position}" if checked.first else ""
        faults = settings.inject or (("naive-verify",) if settings.verify == "naive" else ())
        planted = f"{', '.join(faults)}: " if faults else ""
        raise _failed(
            f"{planted}{checked.defects} of {checked.compared} tokens are not the target's own{place}.",
            "Look at the run with ddtree-tui, or ask its doctor.",
        )
    return checked


def _check_ids(drafted: list[int], plain: list[int], *, exact: bool) -> None:
    """Without drafting the text is the same; in half precision up to near ties, which the oracle knows."""
    differ = next(
        (at for at, pair in enumerate(zip(drafted, plain, strict=False)) if pair[0] != pair[1]), None
    )
    if differ is None and len(drafted) == len(plain):
        return
    if exact:
        place = differ if differ is not None else min(len(drafted), len(plain))
        raise _failed(
            f"With drafting the answer is another one than without, from token {place} on.",
            "Look at the run with ddtree-tui, or ask its doctor.",
        )


def _ids(events: list[AnyEvent]) -> list[int]:
    return next(event.output_ids for event in events if isinstance(event, Finished))


def _failed(seen: str, todo: str) -> EngineError:
    return EngineError("check_failed", f"The engine does not work: {seen}", todo)

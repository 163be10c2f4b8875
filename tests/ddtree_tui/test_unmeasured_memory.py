"""Memory that cannot be measured, as is asked for behind an answer, is no failure of this one or the next."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ddtree_tui.doctor.patient import Patient
from ddtree_tui.engine_link import EngineLink
from ddtree_tui.inbox import Inbox
from engine.commands import AnyCommand, MeasureMemory
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Loading
from engine.settings import DecodeSettings, LoadSettings

UNMEASURED = Failed(error="internal", message="No.", command="measurememory")
OTHER = Failed(error="internal", message="No.", command="generate")


def test_the_app_does_not_hear_of_it(tmp_path: Path) -> None:
    lines = b"".join(encode_event(event) + b"\n" for event in (UNMEASURED, OTHER))
    code = f"import sys; sys.stdout.buffer.write({lines!r}); sys.stdout.flush(); sys.stdin.read()"
    trace = tmp_path / "trace"
    link = EngineLink(LoadSettings(), tmp_path / "log", trace=trace, command=[sys.executable, "-c", code])
    link.start()
    try:
        seen: list[AnyEvent] = []
        end = time.monotonic() + 60
        while not seen:
            assert time.monotonic() < end
            time.sleep(0.01)
            seen = link.drain()
    finally:
        link.stop()
    assert seen == [OTHER]


def test_the_doctor_does_not_wait_for_it() -> None:
    class Engine:
        def send(self, command: AnyCommand) -> None:
            inbox.put(UNMEASURED if isinstance(command, MeasureMemory) else OTHER)

    inbox = Inbox()
    engine: Any = Engine()
    assert Patient(engine, inbox).answer([], DecodeSettings()) == [OTHER]
    inbox.put(Loading(stage="next", done=0, total=1))
    assert isinstance(inbox.get(), Loading)  # nothing else was left

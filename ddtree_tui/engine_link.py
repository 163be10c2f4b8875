"""Between the engine's process and the app: events wait in a queue until the app has time to look."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.recorder import Recorder
from ddtree_tui.records import Records
from engine.commands import AnyCommand, Load
from engine.errors import EngineError
from engine.events import AnyEvent, Failed
from engine.settings import LoadSettings


class EngineLink:
    """Owns the engine's process, the trace file and the recorder.

    Events are recorded and queued in the reader's thread; the app takes them in its own time, so a slow
    terminal never holds the engine up.
    """

    def __init__(
        self,
        load: LoadSettings,
        log_path: Path,
        *,
        trace: Path | None = None,
        recorder: Recorder | None = None,
        command: Sequence[str] | None = None,
        debug: bool = False,
    ) -> None:
        self._load = load
        self._queue: deque[AnyEvent] = deque()
        self._records = Records(trace, recorder)
        self._process = EngineProcess(self._take, log_path, command=command, debug=debug, ranks=load.tp)

    def start(self, load: LoadSettings | None = None) -> None:
        """Start the engine and have it load the pair, or from now on another; a running one is ended first.

        Raises:
            EngineError: ``engine_start``.
        """
        self._load = load or self._load
        self._process.stop()
        self._queue.clear()  # what the engine before said is not said by this one
        self._process.start()
        self._process.send(Load(settings=self._load))

    def send(self, command: AnyCommand) -> None:
        """Tell the engine something.

        Raises:
            EngineError: ``bad_text``, ``bad_setting``.
        """
        self._process.send(command)

    def drain(self) -> list[AnyEvent]:
        """The events since the last call, in order."""
        return [self._queue.popleft() for _ in range(len(self._queue))]

    def problems(self) -> list[EngineError]:
        """What went wrong beside the run since the last call, such as a full disk under the trace."""
        return self._records.problems()

    def stop(self) -> None:
        """End the engine and close what is recorded. Idempotent."""
        self._process.stop()
        self._records.close()

    def _take(self, event: AnyEvent) -> None:
        if isinstance(event, Failed) and event.command == "measurememory":
            return  # of no answer: the engine's log has it
        self._records.take(event)
        self._queue.append(event)

"""The folder of recorded runs: what is in it, what each run was, what has to go for new ones."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ddtree_tui.mode_name import mode_name
from ddtree_tui.state_folder import state_folder
from engine.errors import EngineError
from engine.events import Failed, Finished, Loaded, Prefilled
from engine.recording import Recording

SUFFIX = ".jsonl.gz"
LIMIT_BYTES = 512 * 2**20
"""Most that recorded runs take, all together: a hundred thousand rounds of 256 nodes."""
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class RecordedRun:
    """What a list says of a run.

    Attributes:
        when: when it was begun, in seconds since 1970.
        size: bytes of its file.
        prompt: the user's last message.
        turns: how many answers of the same conversation came before it.
        tokens: tokens of the answer, the prefill's included.
        mean: mean acceptance length; 0 without rounds.
        tokens_per_second: None where the run has no end.
        ending: ``stop``, ``length``, ``cancelled``, ``failed``, or ``unfinished``: under way, or cut short.
    """

    path: Path
    when: float
    size: int
    model: str
    mode: str
    budget: int
    thinking: bool
    prompt: str
    turns: int
    rounds: int
    tokens: int
    mean: float
    tokens_per_second: float | None
    ending: str

    @property
    def name(self) -> str:
        """How its mode is called: ``tree 64``, ``chain``."""
        return mode_name(self.mode, self.budget)


def runs_folder() -> Path:
    """``~/.local/state/ddtree-tui/runs`` on Linux."""
    return state_folder() / "runs"


def new_path(folder: Path, now: float) -> Path:
    """A name for a run that begins at ``now`` (seconds since 1970), unlike those of other processes."""
    stamp = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime(_STAMP)
    names = (f"{stamp}-{number:04}-{os.getpid()}{SUFFIX}" for number in range(10_000))
    return next(path for name in names if not (path := folder / name).exists())


def paths_of(folder: Path) -> list[Path]:
    """All recordings, the newest first; none where the folder cannot be read."""
    with contextlib.suppress(OSError):
        return sorted((path for path in folder.iterdir() if path.name.endswith(SUFFIX)), reverse=True)
    return []


def recorded_runs(folder: Path) -> Iterator[RecordedRun]:
    """What the recordings are, the newest first; files that are none are left out.

    Reads the first and the last block of each.
    """
    for path in paths_of(folder):
        with contextlib.suppress(EngineError, OSError), Recording.open(path) as recording:
            if (run := _described(path, recording)) is not None:
                yield run


def remove_oldest(folder: Path, most_bytes: int) -> None:
    """Delete the oldest recordings until the others take at most ``most_bytes``."""
    taken = 0
    for path in paths_of(folder):
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            if taken + size > most_bytes:
                path.unlink()
            else:
                taken += size


def _described(path: Path, recording: Recording) -> RecordedRun | None:
    blocks = recording.blocks
    first = recording.events(blocks[0]) if blocks else []
    loaded = next((event for event in first if isinstance(event, Loaded)), None)
    prefilled = next((event for event in first if isinstance(event, Prefilled)), None)
    if loaded is None or prefilled is None:
        return None
    users = [message["content"] for message in prefilled.messages if message["role"] == "user"]
    last = _end_of(recording)
    finished = last if isinstance(last, Finished) else None
    rounds, tokens = recording.rounds, recording.tokens
    if finished is not None:
        ending: str = finished.reason
    else:
        ending = "failed" if last is not None else "unfinished"
    return RecordedRun(
        path=path,
        when=_begun(path),
        size=path.stat().st_size,
        model=loaded.target.name,
        mode=prefilled.settings.mode,
        budget=prefilled.settings.budget,
        thinking=prefilled.thinking,
        prompt=users[-1] if users else prefilled.prompt_text,
        turns=max(0, len(users) - 1),
        rounds=rounds,
        tokens=finished.tokens if finished else 1 + tokens,
        mean=tokens / rounds if rounds else 0.0,
        tokens_per_second=finished.tokens_per_second if finished else None,
        ending=ending,
    )


def _end_of(recording: Recording) -> Finished | Failed | None:
    """The run's end, a block of its own behind the rounds; None if it has none."""
    for block in reversed(recording.blocks[1:]):
        if block.rounds:
            return None
        for event in recording.events(block):
            if isinstance(event, Finished | Failed):
                return event
    return None


def _begun(path: Path) -> float:
    """From the name; for a file named by somebody else, when it was last changed."""
    with contextlib.suppress(ValueError):
        start = datetime.datetime.strptime(path.name.partition("-")[0], _STAMP)  # noqa: DTZ007
        return start.replace(tzinfo=datetime.UTC).timestamp()
    return path.stat().st_mtime

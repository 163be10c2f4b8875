"""The folder of recorded runs: what is in it, what each run was, what has to go for new ones."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ddtree_tui.mode_name import mode_name
from ddtree_tui.race.lanes import lane_name
from ddtree_tui.state_folder import state_folder
from ddtree_tui.unknown import UNKNOWN, known_settings
from engine.errors import EngineError
from engine.events import Failed, Finished, Lane, Loaded, Prefilled, Racing
from engine.recording import Recording

SUFFIX = ".jsonl.gz"
LIMIT_BYTES = 512 * 2**20
"""Most that recorded runs take, all together: a hundred thousand rounds of 256 nodes."""
RACE = "race"
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
        lanes: of a race, whose mode is ``RACE``, the names of its lanes; ``winner``: of the fastest one,
            whose numbers these are then.
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
    lanes: tuple[str, ...] = ()
    winner: str = ""

    @property
    def name(self) -> str:
        """How its mode is called: ``tree 64``, ``chain``, ``race``."""
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
    """Delete the oldest recordings until the others take at most ``most_bytes``: none stays that is older
    than one that goes."""
    taken = 0
    for path in paths_of(folder):
        with contextlib.suppress(OSError):
            taken += path.stat().st_size
            if taken > most_bytes:
                path.unlink()


def _described(path: Path, recording: Recording) -> RecordedRun | None:
    blocks = recording.blocks
    first = recording.events(blocks[0]) if blocks else []
    loaded = next((event for event in first if isinstance(event, Loaded)), None)
    begun = next((event for event in first if isinstance(event, Prefilled | Racing)), None)
    if loaded is None or begun is None:
        return None
    users = [message["content"] for message in begun.messages if message["role"] == "user"]
    settings = begun.settings if isinstance(begun, Prefilled) else begun.lanes[0]
    known = known_settings(begun if isinstance(begun, Prefilled) else None)
    described = RecordedRun(
        path=path,
        when=_begun(path),
        size=path.stat().st_size,
        model=loaded.target.name,
        mode=settings.mode if "mode" in known else UNKNOWN,
        budget=settings.budget if "budget" in known else 0,
        thinking=settings.thinking,
        prompt=users[-1] if users else (begun.prompt_text if isinstance(begun, Prefilled) else ""),
        turns=max(0, len(users) - 1),
        rounds=recording.rounds,
        tokens=1 + recording.tokens,
        mean=recording.tokens / recording.rounds if recording.rounds else 0.0,
        tokens_per_second=None,
        ending="unfinished",
    )
    if isinstance(begun, Racing):
        return _raced(described, begun, recording)
    last = _end_of(recording)
    if isinstance(last, Finished):
        return replace(
            described,
            rounds=described.rounds or last.rounds,
            tokens=last.tokens,
            mean=described.mean or last.mean_acceptance_length,
            tokens_per_second=last.tokens_per_second,
            ending=last.reason,
        )
    return described if last is None else replace(described, ending="failed")


def _raced(described: RecordedRun, racing: Racing, recording: Recording) -> RecordedRun:
    """A race: the numbers are those of its winner, once all lanes are through."""
    lanes = tuple(lane_name(settings) for settings in racing.lanes)
    described = replace(
        described, mode=RACE, thinking=False, lanes=lanes, tokens=len(lanes) + recording.tokens
    )
    ends: dict[int, Finished | Failed] = {}
    for block in recording.blocks[1:]:
        if block.rounds:
            continue
        for event in recording.events(block):
            if isinstance(event, Failed):
                return replace(described, ending="failed")
            if (
                isinstance(event, Lane)
                and 0 <= event.lane < len(lanes)
                and isinstance(event.event, Finished | Failed)
            ):
                ends[event.lane] = event.event
    if len(ends) < len(lanes):
        return described
    through = {n: end for n, end in ends.items() if isinstance(end, Finished) and end.reason != "cancelled"}
    if not through:
        cancelled = any(isinstance(end, Finished) for end in ends.values())
        return replace(described, ending="cancelled" if cancelled else "failed")
    first = min(through, key=lambda lane: through[lane].ms.total)
    winner = through[first]
    return replace(
        described,
        winner=lanes[first],
        rounds=winner.rounds,
        tokens=winner.tokens,
        mean=winner.mean_acceptance_length,
        tokens_per_second=winner.tokens_per_second,
        ending=winner.reason,
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

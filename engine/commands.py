"""What the worker can be told: one command is one JSON line on its standard input."""

from __future__ import annotations

import msgspec

from engine.divergence import Choice
from engine.errors import EngineError
from engine.events import TOP_CANDIDATES
from engine.settings import DecodeSettings, LoadSettings, Message

EXIT_DEVICE = 70
"""The worker's exit code when the device failed in a way that only a new process can mend."""

EXIT_RANKS = 71
"""The worker's exit code when the processes it holds the target together with are lost."""
COMMAND = b"c"
"""Announces a command to these processes."""

SettingValue = str | int | float | bool | None | list[str]


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="cmd", tag=str.lower):
    """What all commands share: the field ``cmd`` holds the command's name."""

    @property
    def name(self) -> str:
        """As the field ``cmd`` has it."""
        return str(self.__struct_config__.tag)


class Load(Command, frozen=True):
    """Load a pair; answered by ``loading``* and ``loaded`` or ``failed``.

    ``prefix_cache``: bytes of main memory in which to keep what the models remember of conversations other
    than the last one; only where one process holds the target.
    """

    settings: LoadSettings
    prefix_cache: int = 0


class Generate(Command, frozen=True):
    """Answer a conversation; answered by ``prefilled``, ``round``* and ``finished`` or ``failed``.

    ``fresh``: forget the conversation before first, so that nothing of the prompt is in the caches.
    ``paused``: wait before the first round, as if ``Pause`` had come in time.
    ``plain``: go on from the last message as it stands, without the chat template.
    ``candidates``: so many of the best are reported a row, where ``settings.detail`` is on.
    """

    messages: list[Message]
    settings: DecodeSettings
    fresh: bool = False
    paused: bool = False
    plain: bool = False
    candidates: int = TOP_CANDIDATES


class Race(Command, frozen=True):
    """Answer a conversation once per lane, interleaved; answered by ``lane``* or ``failed``. Before the last
    lane's end comes ``noise`` if texts differ, where it has to be measured after ``checking``*."""

    messages: list[Message]
    lanes: list[DecodeSettings]


class Check(Command, frozen=True):
    """Compare an answer with what the target alone writes; answered by ``checking``*, ``divergence``* and
    ``checked``, or ``failed``.

    ``choices``: of its tokens, from ``engine.divergence.choices``; ``settings``: it was decoded with;
    ``sequential``: decode it one token at a time.
    """

    prompt_ids: list[int]
    choices: list[Choice]
    settings: DecodeSettings
    sequential: bool = False


class MeasureMemory(Command, frozen=True):
    """Report memory in use and its peak since the last such command; answered by ``memoryuse``."""


class MeasureFloor(Command, frozen=True):
    """Measure the memory bandwidth; answered by ``floor``."""


class MeasureNoise(Command, frozen=True):
    """Measure how much rounding changes leads; answered by ``checking``* and ``noise``, or ``failed``."""


class Set(Command, frozen=True):
    """Change some decode settings of the answer under way, from its next round on."""

    settings: dict[str, SettingValue]


class Pause(Command, frozen=True):
    """Wait before the next round."""


class Resume(Command, frozen=True):
    """Go on after ``Pause``."""


class Step(Command, frozen=True):
    """Decode one round, then pause."""


class Cancel(Command, frozen=True):
    """End the answer or race under way before its next round; it still reports ``finished``."""


class Quit(Command, frozen=True):
    """End the worker at once. The end of its standard input means the same."""


AnyCommand = (
    Load
    | Generate
    | Race
    | Check
    | MeasureMemory
    | MeasureFloor
    | MeasureNoise
    | Set
    | Pause
    | Resume
    | Step
    | Cancel
    | Quit
)

_COMMAND = msgspec.json.Decoder(AnyCommand)
_ENCODER = msgspec.json.Encoder()


def encode_command(command: AnyCommand) -> bytes:
    """The command as one JSON line, line break included.

    Raises:
        EngineError: ``bad_text`` if a message holds a lone surrogate, which UTF-8 cannot carry.
    """
    try:
        return _ENCODER.encode(command) + b"\n"
    except UnicodeEncodeError as error:
        raise EngineError(
            "bad_text",
            "A text for the engine holds bytes that are not UTF-8.",
            "Enter it again, or save the prompt as a UTF-8 file and use --prompt-file.",
            str(error),
        ) from error


def decode_command(line: bytes) -> AnyCommand:
    """Read one line.

    Raises:
        EngineError: ``bad_command`` for a line that is no command.
    """
    try:
        return _COMMAND.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise EngineError(
            "bad_command",
            "The engine was sent a command that it does not understand.",
            "Use the engine and the app of the same version.",
            f"{error}: {line[:200]!r}",
        ) from error

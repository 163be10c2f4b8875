import pytest

from engine.commands import (
    AnyCommand,
    Cancel,
    Generate,
    Load,
    MeasureFloor,
    MeasureMemory,
    Pause,
    Quit,
    Race,
    Resume,
    Set,
    Step,
    decode_command,
    encode_command,
)
from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings

COMMANDS: list[AnyCommand] = [
    Load(settings=LoadSettings(model="x", drafter="y")),
    Generate(
        messages=[{"role": "user", "content": "\n\u2028\x00 你"}], settings=DecodeSettings(stop=("\n",))
    ),
    Race(messages=[{"role": "user", "content": "?"}], lanes=[DecodeSettings(mode="ar"), DecodeSettings()]),
    MeasureMemory(),
    MeasureFloor(),
    Set(settings={"budget": 16, "mode": "chain"}),
    Pause(),
    Resume(),
    Step(),
    Cancel(),
    Quit(),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_a_command_survives_the_wire_on_one_line(command):
    line = encode_command(command)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_command(line) == command


def test_the_wire_format():
    assert encode_command(Set(settings={"budget": 16})) == b'{"cmd":"set","settings":{"budget":16}}\n'
    assert encode_command(Cancel()) == b'{"cmd":"cancel"}\n'


@pytest.mark.parametrize("line", [b"", b"{}", b'{"cmd":"dance"}', b'{"cmd":"load"}', b"\xff", b"[]"])
def test_anything_else_is_no_command(line):
    with pytest.raises(EngineError) as caught:
        decode_command(line)
    assert caught.value.kind == "bad_command"


def test_text_that_is_not_unicode_cannot_be_sent():
    with pytest.raises(EngineError, match="not UTF-8"):
        encode_command(Load(settings=LoadSettings(model="\udc80")))

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ddtree_tui import cli, torchrun
from ddtree_tui.engine_process import worker_command
from ddtree_tui.options import GenerateOptions
from engine.errors import EngineError


def options(*arguments: str) -> GenerateOptions:
    parsed = cli.parse(["generate", "hello", *arguments])
    assert isinstance(parsed, GenerateOptions)
    return parsed


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As ``torchrun`` sets it up for the first of three processes."""
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "3", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_a_process_alone_keeps_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    alone = options("--tp", "2")
    assert torchrun.take_part(alone) is alone
    assert not torchrun.is_follower()


@pytest.mark.usefixtures("rank")
def test_the_first_knows_how_many_there_are() -> None:
    assert torchrun.take_part(options()).load.tp == 3
    assert torchrun.take_part(options("--tp", "3")).load.tp == 3
    with pytest.raises(EngineError, match="3 processes") as refused:
        torchrun.take_part(options("--tp", "2"))
    assert refused.value.kind == "bad_setting"


def test_the_others_become_workers_and_say_nothing(
    rank: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rank.setenv("RANK", "1")
    became: list[tuple[str, list[str]]] = []
    rank.setattr(os, "execve", lambda path, command, environment: became.append((path, command)))
    torchrun.take_part(options("--log", "/dev/null"))
    [(path, command)] = became
    assert (path, command[0]) == (sys.executable, sys.executable)
    assert command[-6:] == ["--log", "/dev/null", "--ranks", "3", "--parent", str(os.getppid())]
    assert cli.main(["generate", ""]) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("rank")
def test_the_app_is_for_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "ddtree-tui --tp N" in capsys.readouterr().err


def test_the_workers_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    log = tmp_path / "log"
    alone = worker_command(log)
    assert "torch.distributed.run" not in alone
    assert alone[-2:] == ["--parent", str(os.getpid())]
    assert worker_command(log, ranks=1) == alone
    several = worker_command(log, ranks=4)
    at = several.index("--")
    assert several[1:at] == [
        "-P",
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "4",
        "-m",
    ]
    assert several[at + 1 :] == ["engine.worker", "--log", str(log), "--ranks", "4"]
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")  # they run already
    own = worker_command(log, ranks=4)
    assert "torch.distributed.run" not in own
    assert own[-4:] == ["--ranks", "4", "--parent", str(os.getpid())]


def test_contradictions(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (("--tp", "2", "--device-map", "auto"), ("--tp", "0")):
        with pytest.raises(EngineError) as refused:
            options(*arguments)
        assert refused.value.kind == "bad_setting"
    assert options("--tp", "1", "--device-map", "auto").load.tp == 1

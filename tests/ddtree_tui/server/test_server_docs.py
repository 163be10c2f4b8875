"""The examples of the server's page, as they are written, on the port of the tests."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from ddtree_tui import cli
from ddtree_tui.arguments import build_parser
from ddtree_tui.usage import option_names

PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


CURLS = [block for block in blocks("sh") if block.startswith("curl")]
PYTHONS = blocks("python")


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
@pytest.mark.parametrize("block", CURLS, ids=range(len(CURLS)))
def test_curl(server, block):
    done = subprocess.run(
        ["sh", "-e", "-c", block.replace(":30000", f":{server.port}")], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout
    assert b'"error":{' not in done.stdout
    if "12 + 30" in block:
        assert b"42" in done.stdout


@pytest.mark.parametrize("block", PYTHONS, ids=range(len(PYTHONS)))
def test_python(server, block, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(block.replace(":30000", f":{server.port}"), encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    assert len(printed.getvalue()) > 10
    if "12 + 30" in block:
        assert "42" in printed.getvalue()


def test_there_are_some():
    assert len(CURLS) >= 4
    assert len(PYTHONS) >= 3


def test_every_option_it_names_exists():
    others = {"--no-cache-dir", "--create-home", "--start-period", "--gpus"}  # of pip, useradd and docker
    others |= {"--per-request-spec-decode-metrics", "--enable-metrics"}  # of vLLM and SGLang
    known = {*option_names(build_parser())} | others
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert named
    assert named <= known


def test_its_commands_are_commands(monkeypatch):
    monkeypatch.setenv("DDTREE_API_KEY", "a-key")
    commands = re.findall(r"ddtree-tui serve( [^#\n`]*)?(?:#|\n)", "".join(blocks("sh") + blocks("ini")))
    assert len(commands) == 3
    for options in commands:
        words = [word for word in options.split() if word not in ("--log", "/var/log/ddtree/engine.log")]
        cli.parse(["serve", *words])

"""The whole program with the demo pair, in a real terminal: tmux's, looked at as a user sees it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.events import Round
from engine.presets import demo_folder
from engine.trace import read_trace

TMUX = shutil.which("tmux")
ROOT = Path(__file__).resolve().parents[2]
ESCAPE_SECONDS = 0.1
"""How long tmux waits after an escape character for more of a key."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="no tmux"),
    pytest.mark.skipif(not (demo_folder() / "target" / "config.json").exists(), reason="no demo pair"),
]


@dataclass
class Terminal:
    """A pane of a tmux server of its own, with a shell in it."""

    socket: Path

    def tmux(self, *arguments: str) -> str:
        command = [str(TMUX), "-S", str(self.socket), "-f", "/dev/null", *arguments]
        environment = dict(os.environ)  # not what readline has added to it in C: a size of the terminal
        ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment)
        return ran.stdout

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def ask(self, prompt: str) -> None:
        """Type a prompt; Enter as soon as it is shown, as a key with an action may overtake characters."""
        self.type(prompt)
        self.until(f"❯ {prompt}")
        self.press("Enter")

    def shown(self) -> str:
        return self.tmux("capture-pane", "-p")

    def state(self, name: str) -> str:
        """What tmux knows of the terminal."""
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def until(self, seen: str | Callable[[str], object], seconds: float = 60.0) -> str:
        """Wait until the screen shows a text, or what is wanted of it; the screen."""
        end = time.monotonic() + seconds
        while True:
            screen = self.shown()
            if seen in screen if isinstance(seen, str) else seen(screen):
                return screen
            assert time.monotonic() < end, f"{seen} was not shown:\n{screen}"
            time.sleep(0.1)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("TMUX", "NO_COLOR", "SSH_CONNECTION", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("PS1", "$ ")
    folder = tempfile.mkdtemp(prefix="tmux-")  # the path of a socket must be short
    terminal = Terminal(Path(folder) / "socket")
    terminal.tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(tmp_path), "/bin/sh")
    terminal.tmux("set-option", "-s", "escape-time", str(int(1000 * ESCAPE_SECONDS)))
    yield terminal
    terminal.tmux("kill-server")
    shutil.rmtree(folder)


def shown_round(screen: str) -> int:
    """The number of the round whose tree is shown."""
    match = re.search(r"\bround (\d+)", screen)
    return int(match[1]) if match else 0


def test_a_session_from_start_to_quit(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type("stty -a > before; clear; echo 'left as it was'\n")
    terminal.until("left as it was")
    terminal.type(f"{shlex.quote(sys.executable)} -m ddtree_tui --budget 32; echo exit code $?\n")
    terminal.until(lambda screen: re.search(r"\bready\b", screen.split("\n")[0]), 60)
    assert terminal.state("alternate_on") == "1"

    terminal.ask("Tell me a short story about a fox.")
    assert shown_round(terminal.until("ended by itself", 60)) > 2

    while not ("✓" in (tree := terminal.shown()) and "★" in tree):  # the last round ends without a bonus
        here = shown_round(tree)
        terminal.press("F3")
        terminal.until(lambda screen, here=here: shown_round(screen) == here - 1)
    accepted = shown_round(tree)
    terminal.press("F3")
    assert terminal.until(lambda screen: shown_round(screen) == accepted - 1) != tree
    terminal.press("F4")
    terminal.until(lambda screen: screen == tree)

    terminal.press("F8")
    terminal.until("budget, from the next round on")
    terminal.type("16")  # over the selected 32
    terminal.until(lambda screen: re.search(r"█ +16\b", screen))
    terminal.press("Enter")
    terminal.until(lambda screen: re.search(r"budget +16\b", screen))
    terminal.ask("And one about an owl.")
    terminal.until(lambda screen: "of 16 accepted" in screen and "ready" in screen.split("\n")[0], 60)

    terminal.press("C-s")
    terminal.until("Export")
    terminal.press("j")
    terminal.until("ddtree-run.jsonl")
    terminal.press("Enter")
    terminal.until("Written")
    rounds = [event for event in read_trace(tmp_path / "ddtree-run.jsonl").events if isinstance(event, Round)]
    assert rounds
    assert all(len(round_.nodes.ids) <= 16 for round_ in rounds)

    terminal.press("C-q")
    after = terminal.until(lambda screen: re.search(r"exit code \d", screen))
    assert "exit code 0\n" in after
    assert "left as it was" in after  # what was there before the app
    flags = ("alternate_on", "mouse_any_flag", "cursor_flag", "keypad_cursor_flag")
    assert [terminal.state(flag) for flag in flags] == ["0", "0", "1", "0"]
    terminal.type("stty -a > after; echo typing is shown\n")
    terminal.until(lambda screen: screen.count("typing is shown") == 2)
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()

"""However the app ends, the engine's process ends with it and the terminal is as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")
ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
CTRL_Q = b"\x11"

START = """
import sys
from ddtree_tui import cli, engine_process
worker, folder = sys.argv[1:3]
engine_process.worker_command = lambda log, **options: [
    sys.executable, worker, "slow", str(log), folder + "/pid"
]
if "crash" in sys.argv:
    from ddtree_tui.widgets.stats import Stats
    def broken(self, numbers):
        if numbers is not None and numbers.index > 5:
            raise ValueError("a defect")
    Stats.show = broken
sys.exit(cli.main(["--prompt", "12 + 30", "--log", folder + "/log"]))
"""


class App:
    """The app on a terminal of its own, with a scripted engine that answers for ever."""

    def __init__(self, folder: Path, *how: str) -> None:
        self.shown = b""
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(FAKE_WORKER), str(folder), *how],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        pid_file = folder / "pid"
        self.read_until(lambda: ENTER_SCREEN in self.shown and pid_file.exists() and pid_file.read_text())
        self.engine_pid = int(pid_file.read_text())

    def read(self) -> None:
        if select.select([self.terminal], [], [], 0.05)[0]:
            try:
                self.shown += os.read(self.terminal, 65536)
            except OSError:  # the other side is closed
                time.sleep(0.02)

    def read_until(self, condition, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.shown[-500:]
            self.read()

    def engine_ends(self, seconds: float = 20) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                state = Path(f"/proc/{self.engine_pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return True
            if state in "ZX":
                return True
            time.sleep(0.02)
        return False


@pytest.fixture
def app(tmp_path):
    app = App(tmp_path)
    app.read_until(lambda: "12 + 30" in app.shown.decode(errors="replace"))
    yield app
    if app.process.poll() is None:
        app.process.kill()
    app.process.wait()
    with contextlib.suppress(OSError):
        os.close(app.terminal)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_the_app_in_order(app, number, code):
    app.process.send_signal(number)
    app.read_until(lambda: app.process.poll() is not None)
    app.read()
    assert app.process.returncode == code
    assert LEAVE_SCREEN in app.shown
    assert app.engine_ends()


def test_its_own_key_ends_the_app_in_order(app):
    os.write(app.terminal, CTRL_Q)
    app.read_until(lambda: app.process.poll() is not None)
    app.read()
    assert app.process.returncode == 0
    assert LEAVE_SCREEN in app.shown
    assert app.engine_ends()


def test_closing_the_terminal_ends_both(app):
    os.close(app.terminal)
    app.process.wait(60)
    assert app.engine_ends()


def test_killing_the_app_ends_the_engine(app):
    app.process.kill()
    app.process.wait()
    assert app.engine_ends()


def test_a_defect_ends_the_app_in_order(tmp_path):
    app = App(tmp_path, "crash")
    app.read_until(lambda: app.process.poll() is not None)
    app.read()
    assert app.process.returncode != 0
    assert LEAVE_SCREEN in app.shown
    assert "the app has failed" in app.shown.rpartition(LEAVE_SCREEN)[2].decode()
    assert "ValueError: a defect" in (tmp_path / "log").read_text()
    assert app.engine_ends()
    os.close(app.terminal)


def test_a_second_one_beside_it_is_fine(app, tmp_path):
    (tmp_path / "second").mkdir()
    second = App(tmp_path / "second")
    second.read_until(lambda: "12 + 30" in second.shown.decode(errors="replace"))
    os.write(second.terminal, CTRL_Q)
    second.read_until(lambda: second.process.poll() is not None)
    assert second.process.returncode == 0
    assert app.process.poll() is None
    app.shown = b""
    app.read_until(lambda: app.shown)  # it goes on
    os.close(second.terminal)

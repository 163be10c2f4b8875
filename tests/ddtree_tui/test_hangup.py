import os
import pty
import subprocess
import sys
import time

import pytest

STUCK = """
import signal, time
from ddtree_tui.hangup import end_with_terminal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
end_with_terminal()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def stuck():
    """A program on a terminal that does not mind a hang-up; the other end of the terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", STUCK], stdin=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process, ours
    process.kill()
    process.communicate()


def test_a_program_whose_terminal_is_gone_is_ended(stuck):
    process, terminal = stuck
    os.close(terminal)
    assert process.wait(60) == 129


def test_a_program_whose_terminal_is_there_goes_on(stuck):
    process, terminal = stuck
    os.write(terminal, b"typing\n")
    time.sleep(4)
    assert process.poll() is None
    os.close(terminal)

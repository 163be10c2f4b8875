"""``ddtree-tui generate`` as its users see it: a process with its streams, on a scripted engine."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddtree_tui import exit_codes
from engine.event_lines import decode_event
from engine.events import Finished, Loaded, Round
from engine.trace import read_trace

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")

START = """
import sys
from ddtree_tui import cli, engine_process
worker, scenario = sys.argv[1:3]
engine_process.worker_command = lambda log, **options: [
    sys.executable, worker, scenario, str(log), str(log) + ".pid"
]
sys.exit(cli.main(["generate", "12 + 30", "--log", sys.argv[3], *sys.argv[4:]]))
"""


@pytest.fixture
def command(tmp_path):
    def build(scenario: str, *options: str) -> list[str]:
        log = str(tmp_path / "engine.log")
        return [sys.executable, "-c", START, str(FAKE_WORKER), scenario, log, *options]

    return build


@pytest.fixture
def generate(command):
    def run(scenario: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            command(scenario, *options), capture_output=True, timeout=60, stdin=subprocess.DEVNULL
        )

    return run


@pytest.fixture
def engine_pid(tmp_path):
    def read() -> int:
        return int((tmp_path / "engine.log.pid").read_text())

    return read


def start(command: list[str], **keywords) -> subprocess.Popen:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, **keywords)


def on_terminal(command: list[str]) -> tuple[str, int]:
    """Run ``command`` on a terminal of its own; what it showed, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return shown.decode(), process.wait(60)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_the_answer_and_nothing_else_is_on_standard_output(generate):
    done = generate("plain")
    assert done.returncode == 0
    assert done.stdout == b"12 + 30 = 42.\n"
    summary = done.stderr.decode()
    assert "7 tokens, 6 in 2 rounds" in summary
    assert "acceptance length 3.00" in summary
    assert "100.0 tokens/s" in summary


def test_quiet_is_quiet(generate):
    assert generate("thinking", "--thinking", "--quiet").stderr == b""


def test_what_detectors_noticed_is_told_at_the_end_in_a_line_each(generate):
    done = generate("noticed")
    lines = done.stderr.decode().splitlines()
    assert "7 tokens, 6 in 2 rounds" in lines[-3]
    assert lines[-2].startswith("[note: quantised-target: the target is quantised")
    assert lines[-1].startswith("[defect: wrong-leaf, round 1: the state committed is that of another node")
    assert "\x1b" not in lines[-1]
    assert done.stdout == b"12 + 30 = 42.\n"
    quiet = generate("noticed", "--quiet").stderr.decode().splitlines()
    assert [line.partition(",")[0] for line in quiet] == ["[defect: wrong-leaf"]
    told = [line for line in generate("noticed", "--json").stdout.splitlines() if b'"finding"' in line]
    assert len(told) == 2


def test_text_streams_as_it_comes(command):
    process = start(command("slow"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 100).startswith(b"12")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_thinking_goes_to_standard_error(generate):
    done = generate("thinking", "--thinking")
    assert done.stdout == b" 42.\n"
    assert done.stderr.startswith(b"12 + 30\n\n")


def test_thinking_goes_to_standard_output_on_request(generate):
    done = generate("thinking", "--thinking", "--show-thinking")
    assert done.stdout.decode() == "<think>\n12 + 30\n</think>\n\n 42.\n"


def test_text_held_back_for_a_stop_string_is_not_shown(generate):
    assert generate("stop_string", "--stop", "\n\nQ:").stdout == b" 42.\n"


def test_bytes_go_through_pipes_as_they_are(generate):
    assert generate("bytes").stdout.decode() == "[/b]\x1b[31m你\n"


def test_a_terminal_is_not_driven_by_the_model(command):
    shown, code = on_terminal(command("bytes"))
    assert code == 0
    assert "[/b]␛[31m你\r\n" in shown


def test_thinking_is_dimmed_on_a_terminal(command):
    shown, _ = on_terminal(command("thinking", "--thinking"))
    assert "\x1b[2m12\x1b[22m" in shown
    assert "Loading: weights" in shown


def test_json_lines_are_the_events_and_nothing_else(generate):
    done = generate("plain", "--json")
    events = [decode_event(line) for line in done.stdout.splitlines()]
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == [
        *["loading", "loaded", "tokens", "prefilled", "round", "round", "finished"]
    ]
    assert isinstance(events[-1], Finished)
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_trace_is_recorded(generate, tmp_path):
    path = tmp_path / "run.jsonl"
    assert generate("plain", "--trace", str(path)).returncode == 0
    events = read_trace(path).events
    assert isinstance(events[0], Loaded)
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, Round) for event in events) == 2


def test_json_output_is_a_trace_too(generate, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(generate("plain", "--json").stdout)
    assert isinstance(read_trace(path).events[-1], Finished)


def test_an_existing_trace_stays(generate, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("precious")
    done = generate("plain", "--trace", str(path))
    assert done.returncode == exit_codes.TRACE_FAILED
    assert b"exists already" in done.stderr
    assert done.stdout == b""
    assert path.read_text() == "precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_room_for_the_trace_does_not_lose_the_answer(generate):
    done = generate("plain", "--trace", "/dev/full")
    assert done.stdout == b"12 + 30 = 42.\n"
    assert done.stderr.count(b"no room left") == 1
    assert done.returncode == exit_codes.TRACE_FAILED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_room_for_the_output_is_told(command, tmp_path):
    trace = tmp_path / "run.jsonl"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("slow", "--trace", str(trace)), stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == exit_codes.ENGINE_FAILED
    assert b"output cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr
    assert isinstance(read_trace(trace).events[-1], Finished)


@pytest.mark.parametrize("json_lines", [False, True])
def test_a_reader_that_goes_away_ends_it_quietly_and_the_trace_is_whole(command, tmp_path, json_lines):
    trace = tmp_path / "run.jsonl"
    options = ["--trace", str(trace), *(["--json"] if json_lines else [])]
    process = start(command("slow", *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    while len(os.read(process.stdout.fileno(), 4096)) == 0 or not trace.exists():
        pass
    while b'"round"' not in trace.read_bytes():
        time.sleep(0.02)
    process.stdout.close()
    assert process.wait(60) == exit_codes.BROKEN_PIPE
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert read_trace(trace).events[-1].reason == "cancelled"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_cancels_between_rounds_and_the_end_is_reported(command, engine_pid, number, code):
    process = start(command("slow", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    while b'"round"' not in process.stdout.readline():
        pass
    pid = engine_pid()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert decode_event(out.splitlines()[-1]).reason == "cancelled"
    assert err == b""
    assert not is_running(pid)


def test_an_interrupt_while_loading_ends_at_once(command, engine_pid):
    process = start(command("loading_forever", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - begin < 30
    assert err == b""
    assert not is_running(engine_pid())


def test_models_that_cannot_be_loaded_are_code_3(generate, tmp_path):
    trace = tmp_path / "run.jsonl"
    done = generate("not_loaded", "--trace", str(trace))
    assert done.returncode == exit_codes.NOT_LOADED
    assert done.stderr == b"ddtree-tui: There is no model x. Choose another.\n"
    assert done.stdout == b""
    assert not trace.exists()


def test_a_failing_engine_is_code_1_and_keeps_the_text_so_far(generate, tmp_path):
    trace = tmp_path / "run.jsonl"
    done = generate("failing", "--trace", str(trace))
    assert done.returncode == exit_codes.ENGINE_FAILED
    assert done.stdout == b"12\n"
    assert b"not enough memory" in done.stderr
    assert read_trace(trace).events[-1].error == "out_of_memory"


def test_a_killed_engine_is_code_1_with_details_on_request(generate):
    done = generate("killed")
    assert done.returncode == exit_codes.ENGINE_FAILED
    assert b"SIGKILL" in done.stderr
    assert b"about to be killed" not in done.stderr
    assert b"about to be killed" in generate("killed", "--debug").stderr


def test_a_planted_fault_is_told_of(generate):
    lines = generate("plain", "--inject", "wrong-leaf", "--inject", "mask-id").stderr.decode().splitlines()
    assert any("FAULT PLANTED: wrong-leaf, mask-id. Expect garbled text." in line for line in lines)
    assert "FAULT PLANTED: wrong-leaf, mask-id" in lines[-1]
    refused = generate("plain", "--inject", "wrong-laef")
    assert b"Did you mean wrong-leaf?" in refused.stderr


def test_naive_verification_is_called_wrong(generate):
    for options in ([], ["--json"], ["--quiet"]):
        done = generate("plain", "--verify", "naive", *options)
        assert b"naive is wrong on hybrid targets" in done.stderr
    assert b"wrong on hybrid" in generate("plain", "--verify", "naive").stderr.splitlines()[-1]


def test_a_prompt_that_is_not_text_is_refused_before_anything_is_loaded(command, tmp_path):
    done = subprocess.run(
        [*(os.fsencode(part) for part in command("plain")), b"--system", b"\xff"],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == exit_codes.BAD_INPUT
    assert b"not UTF-8" in done.stderr
    assert not (tmp_path / "engine.log.pid").exists()


def test_a_closed_standard_output_is_no_crash(command):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("plain")], stderr=subprocess.PIPE, timeout=60
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0

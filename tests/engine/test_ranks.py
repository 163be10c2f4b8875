"""Two processes that hold a target together, on a CPU, exchanging through gloo."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import two_ranks
from tiny_folders import LAYERS, write_drafter, write_target
from tiny_models import tiny_config
from two_ranks import RUNS, TOKENS

from ddtree_tui.engine_process import EngineProcess
from engine import ranks as ranks_module
from engine.commands import Cancel, Generate, Load, Pause, Step
from engine.decode import generate
from engine.errors import EngineError
from engine.event_lines import decode_event
from engine.events import AnyEvent, Failed, Finished, Loaded, Prefilled, Round
from engine.ranks import check_shares, join
from engine.settings import DecodeSettings, LoadSettings, Message

pytest.importorskip("accelerate")
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
FAMILIES = ("llama", "qwen3", "qwen3_moe", "qwen3_5")
SECONDS = 240
QUESTION: list[Message] = [{"role": "user", "content": "What is 12 + 30?"}]


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), str(HERE), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {family: tmp_path_factory.mktemp("pairs") / family for family in FAMILIES}
    for family, folder in folders.items():
        # Both ways to have a head: its own, and the embedding.
        write_target(folder / "target", family, tie_word_embeddings=family != "llama")
        write_drafter(folder / "drafter")
    return folders


@pytest.fixture(scope="module")
def found(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return run_two(folders, tmp_path_factory.mktemp("ranks"), environment())


def run_two(folders: dict[str, Path], out: Path, variables: dict[str, str]) -> list[dict[str, Any]]:
    """What both ranks wrote down."""
    command = [*TORCHRUN, str(HERE / "two_ranks.py"), str(out), *map(str, folders.values())]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=variables, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_same_on_two_gpus(folders: dict[str, Path], tmp_path: Path) -> None:
    variables = {name: value for name, value in environment().items() if name != "CUDA_VISIBLE_DEVICES"}
    for rank in run_two(folders, tmp_path, variables):
        for family, folder in folders.items():
            pair = two_ranks.load(folder, device="cuda")
            assert rank["families"][family]["texts"] == [two_ranks.text(pair, **run) for run in RUNS]
        assert rank["drifting"] == rank["families"][FAMILIES[-1]]["texts"]
        assert rank["after"] == rank["drifting"][0]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_texts_are_those_of_one_process(
    found: list[dict[str, Any]], folders: dict[str, Path], family: str
) -> None:
    pair = two_ranks.load(folders[family], device="cpu")
    texts = [two_ranks.text(pair, **run) for run in RUNS]
    for rank in found:
        of_rank = rank["families"][family]
        assert of_rank["texts"] == texts
        assert of_rank["kv_heads"] == [1] * (1 if family == "qwen3_5" else LAYERS)  # of two
        assert of_rank["processes"] == 2
        assert not of_rank["capturable"]
        assert of_rank["bytes"] < 0.75 * pair.info.memory_bytes
    assert len({tuple(text) for text in texts}) > 1  # sampling is not greedy


def test_a_rank_that_would_go_another_way_goes_with_the_first(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert rank["drifting"] == rank["families"][FAMILIES[-1]]["texts"]


def test_only_the_first_rank_s_control_counts(found: list[dict[str, Any]]) -> None:
    assert found[0]["cancelled"] == found[1]["cancelled"] == {"budgets": [64, 3], "reason": "cancelled"}


def test_what_fails_in_one_rank_fails_in_all(found: list[dict[str, Any]]) -> None:
    fine, first, second, both = zip(*(rank["together"] for rank in found), strict=True)
    assert fine == ("fine", "fine")
    assert first == ("too_bad: Rank 0 failed.",) * 2
    assert second == ("rank_failed: Process 1 failed (ValueError).",) * 2
    assert both == ("too_bad: Rank 0 failed.",) * 2


def test_when_the_first_gives_up_the_others_do_and_go_on_with_it(found: list[dict[str, Any]]) -> None:
    assert [rank["aborted"] for rank in found] == ["gave up", "aborted"]
    assert [rank["after"] for rank in found] == [found[0]["families"][FAMILIES[-1]]["texts"][0]] * 2


# -- the worker ---------------------------------------------------------------------------------------------


class Engine:
    """Workers under ``torchrun``, as the app starts them. Found by ``/proc``."""

    def __init__(self, folder: Path, log: Path, command: list[str] | None = None) -> None:
        self.events: queue.Queue[AnyEvent] = queue.Queue()
        self.folder, self.log = folder, log
        self.process = EngineProcess(self.events.put, log, ranks=2, command=command)

    def load(self, **settings: Any) -> None:
        names = {"model": str(self.folder / "target"), "drafter": str(self.folder / "drafter"), "tp": 2}
        self.process.send(Load(settings=LoadSettings(**(names | {"device": "cpu"} | settings))))

    def until(self, kind: type[Any]) -> Any:
        while not isinstance(event := self.events.get(timeout=SECONDS), kind):
            assert not isinstance(event, Failed), event
        return event

    def ask(self, **settings: Any) -> None:
        decode = DecodeSettings(**({"max_new_tokens": TOKENS} | settings))
        self.process.send(Generate(messages=QUESTION, settings=decode, fresh=True))

    def workers(self) -> list[int]:
        """Ids of all processes with this log in their command line: ``torchrun`` and the ranks."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.log).encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def assert_gone(self, within: float) -> None:
        deadline = time.monotonic() + within
        while self.workers():
            assert time.monotonic() < deadline, "processes are left"
            time.sleep(0.1)


@pytest.fixture
def start(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:
    for name in ("PYTHONPATH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, environment()[name])
    started: list[Engine] = []

    def start(*faulty: str) -> Engine:
        log = tmp_path / "engine.log"
        script = [*TORCHRUN, "--", str(HERE / "faulty_worker.py"), *faulty, "--log", str(log), "--ranks", "2"]
        engine = Engine(folders["qwen3"], log, script if faulty else None)
        started.append(engine)
        engine.process.start()
        engine.load()
        engine.until(Loaded)
        return engine

    yield start
    for engine in started:
        engine.process.stop()
        engine.assert_gone(60)


def test_a_conversation_of_two_workers(start: Callable[..., Engine]) -> None:
    engine = start()
    assert len(engine.workers()) == 3  # torchrun and two ranks
    engine.ask(mode="tree")
    answer = engine.until(Finished)
    # Pausing leaves the other rank waiting; cancelling ends the answer in both.
    engine.ask(mode="tree", max_new_tokens=100)
    engine.process.send(Pause())
    engine.until(Prefilled)
    engine.process.send(Step())
    engine.until(Round)
    engine.process.send(Cancel())
    assert engine.until(Finished).reason == "cancelled"
    # What is refused is refused in both.
    engine.ask(block_size=99)
    assert engine.events.get(timeout=SECONDS).error == "bad_setting"
    engine.load(model="/no/such/folder")
    while not isinstance(failed := engine.events.get(timeout=SECONDS), Failed):
        pass
    assert failed.error == "model_not_found"
    engine.load()
    assert engine.until(Loaded).processes == 2
    engine.ask(mode="ar")
    assert engine.until(Finished).output_ids == answer.output_ids


@pytest.mark.parametrize(("kind", "rank"), [("raise", "1"), ("raise", "0"), ("kill", "1"), ("kill", "0")])
def test_a_rank_that_fails_ends_all(start: Callable[..., Engine], kind: str, rank: str) -> None:
    engine = start(kind, rank)
    engine.ask(mode="tree")
    failures = []
    while not failures or failures[-1] != "engine_died":
        event = engine.events.get(timeout=SECONDS)
        failures += [event.error] if isinstance(event, Failed) else []
    # The first rank says what it knows, unless it is ended before it knows anything. The other one is in the
    # middle of a round then, and does not hear that there will be no more of them.
    assert failures[:-1] in {"raise 0": [["internal"]], "kill 0": [[]]}.get(
        f"{kind} {rank}", [["rank_lost"], []]
    )
    engine.assert_gone(60)


def test_stopping_ends_a_rank_that_hangs(start: Callable[..., Engine]) -> None:
    engine = start("hang", "1")
    engine.ask(mode="tree")
    engine.until(Prefilled)
    time.sleep(1)
    engine.process.stop()
    engine.assert_gone(60)


# -- the command line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["--tp", "torchrun"])
def test_one_answer_of_two_processes(folders: dict[str, Path], tmp_path: Path, way: str) -> None:
    folder = folders["qwen3"]
    command = ["ddtree_tui", "generate", "Hello", "--json", "--device", "cpu", "--max-new-tokens", "9"]
    command += ["--model", str(folder / "target"), "--drafter", str(folder / "drafter")]
    command += ["--log", str(tmp_path / "log")]
    if way == "torchrun":
        command = [*TORCHRUN, "-m", "--", *command]  # it would take --log for its own
    else:
        command = [sys.executable, "-m", *command, "--tp", "2"]
    done = subprocess.run(
        command, capture_output=True, timeout=SECONDS, env=environment(), stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    events = [decode_event(line) for line in done.stdout.splitlines()]
    assert [event.processes for event in events if isinstance(event, Loaded)] == [2]
    finished = events[-1]
    assert isinstance(finished, Finished)
    pair = two_ranks.load(folder, device="cpu")
    expected = list(generate(pair, "Hello", max_new_tokens=9))[-1]
    assert isinstance(expected, Finished)
    assert finished.output_ids == expected.output_ids


# -- what is refused ----------------------------------------------------------------------------------------


def refusal(action: Callable[[], object]) -> EngineError:
    with pytest.raises(EngineError) as refused:
        action()
    return refused.value


def test_processes_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    error = refusal(lambda: join(2))
    assert error.kind == "not_under_torchrun"
    assert "torchrun --nproc-per-node 2" in error.hint
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert refusal(lambda: join(2)).kind == "not_under_torchrun"


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_module.torch.cuda, "is_available", lambda: False)
    assert ranks_module._own_device("auto").type == "cpu"
    assert refusal(lambda: ranks_module._own_device("cuda")).kind == "no_gpu"
    monkeypatch.setattr(ranks_module.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(ranks_module.torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert str(ranks_module._own_device("auto")) == "cuda:1"
    assert refusal(lambda: ranks_module._own_device("cpu")).kind == "bad_setting"
    assert refusal(lambda: ranks_module._own_device("cuda:0")).kind == "bad_setting"
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert refusal(lambda: ranks_module._own_device("auto")).kind == "no_gpu"


@pytest.mark.parametrize("family", ["llama", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_next", "qwen3_5_moe"])
def test_who_can_share_what(family: str) -> None:
    config = tiny_config(family)
    config.vocab_size = 64
    check_shares(config, 2)
    error = refusal(lambda: check_shares(config, 4))  # two heads of keys and values
    assert error.kind == "unsupported_tp"
    assert "num_key_value_heads is 2" in error.message


def test_a_family_without_a_plan() -> None:
    assert refusal(lambda: check_shares(tiny_config("gpt_oss"), 2)).kind == "unsupported_tp"
    nothing = SimpleNamespace(model_type="new", base_model_tp_plan=None)
    assert "type new" in refusal(lambda: check_shares(nothing, 2)).message

"""``python -m engine.train`` as a person would run it, on tiny random targets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_folders import write_target

from engine.decode import generate
from engine.events import Finished
from engine.load import load_pair
from engine.train import answers as answers_module
from engine.train.__main__ import main
from engine.train.arguments import read_plan
from engine.train.drafter_training import DrafterTraining
from engine.train.run import TrainRun


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_target(tmp_path_factory.mktemp("trained") / "llama", "llama")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "sums.jsonl"
    rows = [{"question": f"What is {n} + {n % 7}?", "answer": "no matter"} for n in range(14)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def arguments(target: Path, prompts: Path, out: Path, *more: str) -> list[str]:
    tiny = "--steps 6 --layers 2 --intermediate 48 --block-size 4 --tap-count 2 --batch-tokens 256 --blocks 3"
    answers = "--max-new-tokens 12 --rows 5 --heldout 3 --budgets 4 --workers 1 --curve-steps 2 --device cpu"
    where = ["--target", str(target), "--prompts", f"{prompts}:question", "--out", str(out)]
    return [*where, *tiny.split(), *answers.split(), "--timed", "2", *more]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "drafter" / "model.safetensors")


@pytest.mark.parametrize(
    ("family", "dtype"),
    [("llama", "float32"), ("llama", "bfloat16"), ("qwen3_5", "float32"), ("gpt_oss", "float32")],
)
def test_makes_a_drafter_that_decodes_beside_its_target(
    tmp_path: Path, prompts: Path, family: str, dtype: str
) -> None:
    target, out = write_target(tmp_path / family, family), tmp_path / "out"
    assert main(arguments(target, prompts, out, "--thinking", "both", "--dtype", dtype)) == 0

    report = json.loads((out / "drafter" / "report.json").read_text())
    curve = report["drafter"]["curve"]
    assert [point["step"] for point in curve] == [2, 4, 6]
    assert all(point["heldout_loss"] > 0 and 1 <= point["heldout_chain"] <= 4 for point in curve)
    # 11 prompts in both modes, each answered greedily and once sampled.
    assert report["answers"]["answers"] == 2 * 2 * 11
    assert report["measured"] == {"sums": 3, "sums, thinking": 3}
    assert set(report["acceptance"]) == {"chain", "tree(4)"}
    assert all(1 <= length <= 4 for groups in report["acceptance"].values() for length in groups.values())
    if dtype == "float32":
        speed = report["speed"]
        assert speed["chain"]["same_text_as_ar"] == speed["tree(4)"]["same_text_as_ar"] == 2
    card = (out / "drafter" / "README.md").read_text()
    assert f"{report['drafter']['parameters']:,}" in card
    assert f"{report['acceptance']['chain']['all']:.2f}" in card

    pair = load_pair(str(target), str(out / "drafter"), device="cpu")
    assert pair.drafter is not None
    assert pair.drafter.config.block_size == 4
    events = [list(generate(pair, "What is 3 + 4?", mode=mode, max_new_tokens=8)) for mode in ("ar", "tree")]
    plain, drafted = (found[-1] for found in events)
    assert isinstance(plain, Finished)
    assert isinstance(drafted, Finished)
    assert plain.output_ids == drafted.output_ids


def test_answers_are_the_targets_own_to_the_prompt_as_decoding_reads_it(
    tmp_path: Path, target: Path, prompts: Path
) -> None:
    run = TrainRun(read_plan(arguments(target, prompts, tmp_path / "out", "--samples", "0")))
    training, heldout, _ = run._answers
    training.write(run.target)
    heldout.write(run.target)
    pair = load_pair(str(target), device="cpu")
    replies = [*training.replies(), *heldout.replies()]
    assert len(replies) == 14
    by_prompt = {tuple(reply.prompt_ids): reply.ids for reply in replies}
    for n in range(14):
        question = f"What is {n} + {n % 7}?"
        prompt = tuple(pair.codec.encode_chat([{"role": "user", "content": question}], False).ids)
        last = list(generate(pair, question, mode="ar", max_new_tokens=12))[-1]
        assert isinstance(last, Finished)
        assert by_prompt[prompt] == last.output_ids


def _killed_at(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    calls = iter(range(1, 1000))

    def wrapped(*positional: Any, **named: Any) -> Any:
        if next(calls) == call:
            raise SystemExit("killed")
        return function(*positional, **named)

    return wrapped


def test_a_run_that_is_killed_goes_on_to_the_same_drafter(
    tmp_path: Path, target: Path, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(arguments(target, prompts, tmp_path / "whole", "--timed", "0")) == 0
    often = ["--timed", "0", "--checkpoint-seconds", "1e-9"]
    out = tmp_path / "killed"
    asked = arguments(target, prompts, out, *often)
    for owner, name, call in (
        (answers_module, "save_corpus", 3),
        (DrafterTraining, "_step", 4),
        (DrafterTraining, "_add_point", 2),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, _killed_at(getattr(owner, name), call))
            with pytest.raises(SystemExit, match="killed"):
                main(asked)
    assert main(asked) == 0
    whole, resumed = weights(tmp_path / "whole"), weights(out)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.slow
def test_a_killed_process_is_taken_up_by_the_next(tmp_path: Path, target: Path, prompts: Path) -> None:
    """Two real kills: once there is a shard of answers, once there is a checkpoint."""
    often = ["--timed", "0", "--steps", "60", "--checkpoint-seconds", "1e-9"]
    assert main(arguments(target, prompts, tmp_path / "whole", *often)) == 0
    out = tmp_path / "killed"
    asked = arguments(target, prompts, out, *often)
    seen = [
        _killed_when(asked, lambda: any((out / "work").glob("answers/*.npz"))),
        _killed_when(asked, (out / "work" / "drafter.safetensors").is_file),
    ]
    assert seen == [-signal.SIGKILL, -signal.SIGKILL]
    assert not (out / "drafter").exists()
    assert main(asked) == 0
    whole, resumed = weights(tmp_path / "whole"), weights(out)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def _killed_when(asked: list[str], seen: Callable[[], bool]) -> int:
    """The exit code of a process of its own that is killed as soon as that is seen, or has ended before."""
    command = [sys.executable, "-m", "engine.train", *asked]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while child.poll() is None and not seen():
            time.sleep(0.001)
    finally:
        child.kill()
    return child.wait(timeout=60)


def test_ctrl_c_saves_what_was_learned(
    tmp_path: Path, target: Path, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    asked = arguments(target, prompts, out, "--timed", "0")
    step, steps = DrafterTraining._step, iter(range(1, 100))

    def interrupted(self: DrafterTraining) -> torch.Tensor:
        if next(steps) == 3:
            signal.raise_signal(signal.SIGINT)
        return step(self)

    monkeypatch.setattr(DrafterTraining, "_step", interrupted)
    assert main(asked) == 130
    assert (out / "work" / "drafter.safetensors").is_file()
    assert not (out / "drafter").exists()
    assert main(asked) == 0
    assert next(steps) == 7  # six steps in all, none of them twice


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--steps", "inf"], "invalid"),
        (["--heldout", "14"], "cannot be held out"),
        (["--taps", "1,9"], "not all layers"),
        (["--heads", "4", "--key-value-heads", "3"], "do not divide"),
        (["--max-new-tokens", "5000"], "short enough"),
        (["--mask-token-id", "99999"], "mask_token_id"),
        (["--block-size", "1"], "at least 2"),
        (["--block-size", "300"], "at most 256"),
        (["--head-dim", "15"], "even"),
        (["--target", "/none/typo"], "/none/typo"),
        (["--thinking", "on", "--target", "none"], "none"),
        (["--max-length", "3"], "2 to 3 tokens"),
        (["--batch-tokens", "4"], "2 to 4 tokens"),
        (["--budgets", "0"], "1 to 1024"),
        (["--budgets", "16,2000"], "1 to 1024"),
        (["--measure", "none.jsonl"], "none.jsonl"),
    ],
)
def test_says_what_is_wrong(
    tmp_path: Path,
    target: Path,
    prompts: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    words: str,
) -> None:
    try:
        code = main(arguments(target, prompts, tmp_path / "out", *more))
    except SystemExit as usage:
        code = int(usage.code or 0)
    assert code == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()  # so that the corrected command can take the folder


def test_says_how_many_answers_were_too_long_to_train_on(
    tmp_path: Path, target: Path, prompts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = TrainRun(read_plan(arguments(target, prompts, tmp_path / "out", "--samples", "0")))
    training, _, _ = run._answers
    training.write(run.target)
    lengths = training.corpus().lengths.tolist()
    limit = sorted(lengths)[len(lengths) // 2]
    left_out = sum(length > limit for length in lengths)
    assert left_out
    more = ("--samples", "0", "--timed", "0", "--max-length", str(limit))
    assert main(arguments(target, prompts, tmp_path / "short", *more)) == 0
    words = f"{left_out:,} conversations are left out"
    assert words in capsys.readouterr().out
    report = json.loads((tmp_path / "short" / "drafter" / "report.json").read_text())
    assert report["drafter"]["left_out"] == left_out
    assert (
        f"over {limit:,} tokens | {left_out} |" in (tmp_path / "short" / "drafter" / "README.md").read_text()
    )


def test_another_run_in_the_same_folder_is_refused(
    tmp_path: Path, target: Path, prompts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(arguments(target, prompts, out, "--timed", "0")) == 0
    assert main(arguments(target, prompts, out, "--timed", "0", "--layers", "1")) == 2
    assert "drafter shape" in capsys.readouterr().err
    assert main(arguments(target, prompts, out, "--timed", "0")) == 0
    assert capsys.readouterr().out.count("done before") == 3


def test_answers_serve_another_drafter_until_one_is_begun(
    tmp_path: Path, target: Path, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = arguments(target, prompts, tmp_path / "out", "--timed", "0")
    with monkeypatch.context() as patched:
        patched.setattr(DrafterTraining, "_step", _killed_at(DrafterTraining._step, 1))
        with pytest.raises(SystemExit, match="killed"):
            main(asked)
    shards = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "work" / "answers").iterdir()}
    assert main([*asked, "--layers", "1", "--max-length", "200"]) == 0
    assert {path: path.stat().st_mtime_ns for path in shards} == shards
    assert main(asked) == 2

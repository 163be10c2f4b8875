"""The whole recipe with toy sizes, as a person would run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.demo.train import STAGES, main
from engine.drafter_load import load_drafter

SMALL = ["--tiny", "--workers", "1", "--device", "cpu"]


@pytest.mark.slow
def test_makes_a_pair_and_leaves_finished_stages_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path), "--stages", "data,tokenizer", *SMALL]) == 0
    assert main(["--out", str(tmp_path), "--stages", "target", *SMALL]) == 0
    assert main(["--out", str(tmp_path), *SMALL]) == 0
    capsys.readouterr()

    target = AutoModelForCausalLM.from_pretrained(tmp_path / "target", dtype=torch.float32)
    drafter = load_drafter(tmp_path / "drafter")
    rows = target.get_input_embeddings().weight.shape[0]
    drafter.config.check_target(
        hidden_size=target.config.hidden_size, num_layers=target.config.num_hidden_layers, vocab_size=rows
    )
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["target"]["steps"] >= 1
    assert report["replies"]["reply_tokens"] > 0
    assert set(report["acceptance"]["on"]) == {"chain", "tree(4)", "tree(16)"}
    for mode in ("off", "on"):
        assert report["answers"][mode]["questions"] == 6
        assert 1 <= report["acceptance"][mode]["chain"]["all"] <= 16
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"{report['target']['parameters']:,}" in card
    assert f"{report['acceptance']['on']['chain']['all']:.2f}" in card

    weights = (tmp_path / "target" / "model.safetensors").read_bytes()
    assert main(["--out", str(tmp_path), *SMALL]) == 0
    assert capsys.readouterr().out.count("done before") == len(STAGES)
    assert (tmp_path / "target" / "model.safetensors").read_bytes() == weights

    old = (tmp_path / "drafter" / "model.safetensors").read_bytes()
    again = ["--stages", "drafter", "--redo", "--drafter-rate", "0.01", "--drafter-layers", "1"]
    assert main(["--out", str(tmp_path), *again, *SMALL]) == 0
    assert (tmp_path / "drafter" / "model.safetensors").read_bytes() != old
    assert load_drafter(tmp_path / "drafter").config.num_hidden_layers == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stages", "nonsense"], "no stage nonsense"),
        (["--stages", "target"], "has not been done"),
        (["--stages", "report"], "has not been done"),
        (["--target-steps", "-1"], "target_steps"),
        (["--device", "cuda:7"], "CUDA"),
    ],
)
def test_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    if "cuda:7" in arguments and torch.cuda.is_available():
        pytest.skip("needs a machine without CUDA")
    extra = [] if "--device" in arguments else ["--device", "cpu"]
    assert main(["--out", str(tmp_path), "--tiny", "--workers", "1", *extra, *arguments]) == 2
    assert words in capsys.readouterr().err

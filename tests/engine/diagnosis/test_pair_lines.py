"""A pair is looked at without reading its weights, and what does not fit together is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from engine.codec import Codec
from engine.diagnosis.lines import Line
from engine.diagnosis.pair_lines import SAMPLES, pair_lines, round_trip, weights_line
from engine.settings import LoadSettings


def look(folder: Path) -> dict[str, Line]:
    found = [
        *pair_lines(LoadSettings(model=str(folder / "target"), drafter=str(folder / "drafter"), device="cpu"))
    ]
    return {line.name: line for line in found}


def test_a_pair_that_fits(tiny_pair_folder: Path) -> None:
    found = look(tiny_pair_folder)
    assert {line.status for line in found.values()} == {"ok"}
    assert "Name a colour." in found["template, thinking on"].text
    assert found["template, thinking off"].text.endswith("</think>\n\n")
    assert "inside <think>" in found["template, thinking on"].seen
    assert "BF16" in found["target's weights"].seen
    assert "mask id 511" in found["drafter's config"].seen
    assert all(line.part == "pair" for line in found.values())


def test_lines_go_on_behind_what_failed(broken_pair_folder: Path, edit_json: Callable[..., None]) -> None:
    edit_json(broken_pair_folder / "drafter" / "config.json", block_size=1)
    found = look(broken_pair_folder)
    assert found["drafter's config"].status == "fail"
    assert found["drafter's config"].todo
    assert found["target's weights"].status == "ok"
    assert "drafter's weights" not in found


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    (line,) = look(tmp_path).values()
    assert (line.name, line.status) == ("models", "fail")


def test_weights_against_the_config(broken_pair_folder: Path) -> None:
    path = broken_pair_folder / "target" / "model.safetensors"
    weights = load_file(path)
    name = next(name for name in weights if name.endswith("mlp.up_proj.weight"))
    weights[name] = weights[name][:-1].contiguous()
    weights["stray.weight"] = weights["model.norm.weight"].clone()
    del weights["model.norm.weight"]
    save_file(weights, path)
    line = look(broken_pair_folder)["target's weights"]
    assert line.status == "fail"
    for word in (name, "model.norm.weight", "stray.weight"):
        assert word in line.seen


def test_experts_may_be_packed_otherwise_than_stored() -> None:
    stored = {f"experts.{n}.up": ((4, 2), "BF16") for n in range(3)}
    assert weights_line("target's weights", stored, {"experts.up": (3, 4, 2)}).status == "ok"
    assert weights_line("target's weights", stored, {"experts.up": (3, 4, 3)}).status == "fail"
    quantised = {"layer.qweight": ((8, 2), "I32")}
    assert (
        weights_line("target's weights", quantised, {"layer.weight": (8, 16)}, quantised=True).status == "ok"
    )


def test_stop_tokens_beyond_the_embedding(broken_pair_folder: Path, edit_json: Callable[..., None]) -> None:
    edit_json(broken_pair_folder / "target" / "generation_config.json", eos_token_id=[402, 9999])
    assert look(broken_pair_folder)["stop tokens"].status == "fail"


def test_template_that_loses_the_system_message(broken_pair_folder: Path) -> None:
    template = broken_pair_folder / "target" / "chat_template.jinja"
    text = template.read_text(encoding="utf-8")
    kept = text.replace("for message in messages", "for message in messages if message.role != 'system'")
    assert kept != text
    template.write_text(kept, encoding="utf-8")
    line = look(broken_pair_folder)["template, thinking off"]
    assert line.status == "warn"
    assert "system" in line.seen


def test_bytes_come_back_from_real_tokenizers(shared_data: Path) -> None:
    for name in ("qwen3", "smollm2"):
        folder = shared_data / "tokenizers" / name
        if not (folder / "tokenizer.json").is_file():
            pytest.skip("tokenizers are packed")
        codec = Codec.from_folder(folder)
        assert [text for text in SAMPLES if not round_trip(codec, text)] == []

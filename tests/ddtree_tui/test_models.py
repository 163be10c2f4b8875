from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_tui.cli import main
from engine.model_size import size_pair
from engine.presets import PRESETS


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["models", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_every_preset_with_the_memory_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert max(map(len, lines)) <= 120
    for name, preset in PRESETS.items():
        (line,) = (line for line in lines if line.split()[:1] == [name])
        needed = size_pair(name).bytes(4096, 2)
        assert needed is not None
        assert f"{needed / 1e9:.1f} GB" in line or f"{needed / 1e6:.0f} MB" in line
        assert preset.note in line
        if preset.drafter_config is not None:
            assert f"  {preset.target} + {preset.drafter}" in lines


def test_a_context_that_the_model_cannot_have_has_no_size(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = (line for line in shown(capsys) if line.startswith("demo"))
    assert re.match(r"demo +\d+ MB +- ", line)


def test_one_pair_in_detail(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "--model", "qwen3.5-27b")
    text = "\n".join(lines)
    assert "26.90 billion parameters; layers: 48 linear attention, 16 full attention" in text
    rows = {line.split()[0]: re.findall(r"([\d.]+) GB", line) for line in lines if line.endswith(" GB")}
    assert {len(row) for row in rows.values()} == {4}  # weights, and three contexts
    for column in range(4):
        parts = [float(rows[role][column]) for role in ("target", "drafter")]
        assert float(rows["together"][column]) == pytest.approx(sum(parts), abs=0.11)


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"model_type": "mamba", "text_config": 3}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = "\n".join(shown(capsys, "--model", str(tmp_path)))
    assert "mamba, sizes not known from its config.json" in text
    assert "drafter" not in text


def test_what_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, said in ((str(tmp_path), "no config.json"), ("nothing/here", "no preset and no folder")):
        assert main(["models", "--model", model]) == 3
        assert said in capsys.readouterr().err


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from ddtree_tui.cli import main; main(['models']); "
        "print({'torch', 'transformers', 'numpy', 'textual', 'safetensors'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"

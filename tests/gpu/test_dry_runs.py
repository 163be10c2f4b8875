"""The scripts of this folder at tiny sizes on a CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import bench_experts
import bench_generate
import bench_rounds
import check_all
import check_parts
import profile_rounds
import pytest
import sweep_linears
import torch
from check_parts import Part, Row
from round_pairs import fill, random_pair

CPU = torch.device("cpu")


def test_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rounds.json"
    arguments = "--cpu --rounds 3 --context 32 96 --budgets 64 16 --soak 100 --out".split()
    monkeypatch.setattr(sys, "argv", ["bench_rounds.py", *arguments, str(out)])
    assert bench_rounds.main() == 0
    found = json.loads(out.read_text())["shapes"]["tiny"]
    assert set(found["contexts"]) == {"32", "96"}
    assert set(found["contexts"]["96"]) == {"ar", "chain", "tree(16)", "tree(64)"}
    assert {"ar / linears", "tree(64) / chain", "build+walk+commit share, tree(16)"} <= set(found["ratios"])
    assert "tree(64): 96 instead of 32 tokens / reading them" in found["ratios"]
    assert found["soak"]["rounds"] >= 100
    assert found["told_bytes"] > 100_000
    mixture = json.loads(out.read_text())["shapes"]["tiny-experts"]
    read = mixture["experts"]
    assert [read[name]["rows"] for name in ("ar", "chain", "tree(16)", "tree(64)")] == [1, 16, 17, 65]
    assert read["ar"]["touched"] == read["ar"]["touched_at_random"] == 8
    assert 8 < read["chain"]["touched"] <= read["tree(64)"]["touched"] <= 12
    assert read["chain"]["expert_bytes"] < read["chain"]["bytes"] < mixture["told_bytes"] * 2
    assert mixture["ratios"]["ar / reading its weights once"] > 0


def test_a_profile_of_both_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "profile.json"
    arguments = ["--cpu", "--context", "32", "--budget", "16", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["profile_rounds.py", *arguments])
    assert profile_rounds.main() == 0
    found = json.loads(out.read_text())["us"]
    assert set(found) == {"chain", "tree"}
    assert all({"draft", "build", "verify", "walk", "commit"} <= set(stages) for stages in found.values())
    assert "verify  all of it" in capsys.readouterr().out


def test_kernels_of_libraries_are_called_by_those_they_run_between() -> None:
    names = ["_rms_norm", "nvjet_1", "reduce", "_swiglu", "nvjet_2", "_rms_norm", "nvjet_1", "_swiglu"]
    ran = [profile_rounds.Ran(name, float(10 * at), 2.0) for at, name in enumerate(names * 5)]
    found = profile_rounds.lines(ran)
    places = {name: (round(line.calls, 6), round(line.us, 6), line.kernels) for name, line in found.items()}
    assert places["rms_norm > swiglu"] == (3, 6.0, ["nvjet_1", "reduce"])
    assert places["swiglu > rms_norm"] == (1, 2.0, ["nvjet_2"])
    assert places["swiglu"] == (2, 4.0, ["_swiglu"])


def test_every_way_to_run_linears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = sweep_linears.Group("some", (200, 50, 6), 32, 1)
    for way, calls in sweep_linears.ways(group, 65, "cpu", torch.float32):
        answer = calls[0]()
        parts = list(answer) if isinstance(answer, list | tuple) else [answer]
        assert sum(part.numel() for part in parts) >= 65 * 256, way
    out = tmp_path / "linears.json"
    monkeypatch.setattr(sys, "argv", ["sweep_linears.py", str(out), "--cpu"])
    assert sweep_linears.main() == 0
    found = json.loads(out.read_text())
    assert found["failures"] == []
    merged = {(t["kernel"], t["rows"]) for t in found["times"] if t["way"] == "merged"}
    assert ("gate_proj up_proj", 65) in merged


def test_experts_against_the_library(tmp_path: Path) -> None:
    out = tmp_path / "experts.json"
    assert bench_experts.main([str(out), "--cpu"]) == 0
    found = json.loads(out.read_text())
    assert found["failures"] == []
    ways = {
        f"{kind}: {way}" for kind in ("plain", "clamped") for way in ("ours", "grouped_mm", "plain torch")
    }
    assert ways <= {time["kernel"] for time in found["times"]}


def test_every_way_through_the_experts_gives_the_same() -> None:
    for mixture in bench_experts.TINY.values():
        modules = bench_experts.modules_of(mixture, "cpu")
        case = bench_experts.case(mixture, modules, 5, "cpu")
        answers = [calls[1]() for _, calls in bench_experts.ways(case, 5)]
        assert len(answers) == 4
        for answer in answers[1:]:
            torch.testing.assert_close(answer, answers[0], atol=1e-5, rtol=1e-5)


def test_rounds_go_on_from_the_pretended_text() -> None:
    pair = random_pair("tiny", 600, CPU, torch.float32)
    for context in (300, 40):
        fill(pair, context)
        assert bench_rounds.round_times(pair, context, 2, mode="tree", budget=16)["verify"] > 0
        assert pair.session.ids[:context] == pair.codec.encode_chat([], False).ids[:context]
        assert pair.session.cache.length >= context + 1


def test_tokens_per_second_against_transformers(tmp_path: Path) -> None:
    out = tmp_path / "generate.json"
    arguments = ["--cpu", "--prompts", "2", "--max-new-tokens", "20", "--out", str(out)]
    assert bench_generate.main(arguments) == 0
    found = json.loads(out.read_text())["pairs"]["tiny-dense"]
    assert set(found["ratios"]) >= {"ar / generate", "chain / generate, dflash"}
    for way in found["ways"].values():
        assert way["tokens"] == 40
        assert way["same_text"] == 2


def test_transformers_drafts_what_our_drafter_does() -> None:
    pair = random_pair("tiny-dense", 64, CPU, torch.float32)
    drafter = pair.drafter
    assert drafter is not None
    for weight in drafter.parameters():
        weight.data.mul_(3)
    features = torch.randn(20, drafter.fc.in_features)
    block = torch.randn(1, 16, drafter.config.hidden_size)
    context = drafter.new_context()
    drafter.extend(context, features)
    model = bench_generate.assistant(drafter)
    with torch.no_grad():
        theirs = model(
            noise_embeds=block,
            context_hidden_states=features[None],
            position_ids=torch.arange(36)[None],
        )
    torch.testing.assert_close(theirs.last_hidden_state, drafter(block, context))


def _part(folder: Path, name: str, code: str, *, seconds: int = 5, alone: bool = True) -> Part:
    result = folder / f"{name}.json"

    def rows(path: Path) -> Iterator[Row]:
        yield check_parts.at_most(name, json.loads(path.read_text()), 2)

    return Part(name, ["-c", code.format(result)], seconds, alone, result, rows)


def test_each_part_has_its_line_whatever_becomes_of_the_others(tmp_path: Path) -> None:
    write = "open('{}', 'a').write('1')"
    parts = [
        _part(tmp_path, "good", write, alone=False),
        _part(tmp_path, "crashes", "raise SystemExit('no such kernel')", alone=False),
        _part(tmp_path, "hangs", "import time; time.sleep(60)", seconds=1),
        _part(tmp_path, "long", write, seconds=100),
        _part(tmp_path, "last", write),
    ]
    check_all.run(parts, tmp_path, 12, beside=2)
    rows = [row for part in parts for row in check_all.rows_of(part, tmp_path)]
    seen = [(row.check, row.ok) for row in rows]
    assert seen == [("good", True), ("crashes", False), ("hangs", False), ("long", False), ("last", True)]
    assert "no such kernel" in rows[1].seen
    assert "no time" in rows[2].seen
    assert "left out" in rows[3].seen
    assert check_all.table(rows).splitlines()[-1] == "2 as wanted, 3 not"
    # What is complete is not run again.
    check_all.run(parts[:1], tmp_path, 12, beside=2)
    assert (tmp_path / "good.json").read_text() == "1"


def test_the_table_is_written_from_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cpu", "--out", str(tmp_path), "--part", "kernel-checks", "kernels"]
    assert check_all.main(arguments) == 1  # the kernels' tests are skipped without a GPU
    printed = capsys.readouterr().out
    assert "NOT OK" in printed
    found = json.loads((tmp_path / "table.json").read_text())
    assert [row["ok"] for row in found["rows"]] == [False, True]
    assert "bench_kernels.py" in json.loads((tmp_path / "kernel-checks.run.json").read_text())["command"]

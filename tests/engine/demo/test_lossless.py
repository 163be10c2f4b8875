"""The demo pair's modes against transformers' own ``generate``, on 20 held-out prompts.

``python -m engine.demo.lossless --prompts 200 --naive --out FILE`` is the whole measurement.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.demo import lossless
from engine.demo.conversation import prompt_messages
from engine.demo.tasks import heldout_examples
from engine.divergence import first_difference
from engine.load import load_pair
from engine.pair import Pair

PROMPTS = 20
LIMIT = 64


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("demo", device="cpu", dtype="float32")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(PROMPTS))
def test_all_modes_write_the_targets_text(pair: Pair, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if number % 5:  # the largest budget takes the longest by far
        monkeypatch.delitem(lossless.GREEDY, "tree(256)")
    example = heldout_examples(PROMPTS, seed=4)[number]
    thinking = number % 2 == 1
    messages: Any = prompt_messages(example, thinking)
    result = lossless.compare(pair, messages, thinking, number, lossless.Comparison(LIMIT))
    assert result["tokens"] > 2
    assert set(result["first_difference"].values()) == {None}, result
    assert result["divergences"] == {}
    assert result["rounds"]["ar"] == (result["tokens"] - 1, result["tokens"] - 1)
    assert result["rounds"]["tree(64)"][1] < result["tokens"] - 1


def test_naive_verification_garbles_the_demo_target(pair: Pair) -> None:
    """Which shows that the test above can fail."""
    question: Any = [{"role": "user", "content": "Tell me a story about a fox."}]
    common = {"max_new_tokens": 60}
    right = lossless._decode(pair, question, {**common, "mode": "ar"})
    wrong = lossless._decode(pair, question, {**common, "mode": "tree", "budget": 64, "verify": "naive"})
    assert first_difference(right, wrong) is not None


def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(pair: Any, messages: Any, thinking: bool, seed: int, what: Any) -> dict[str, Any]:
        compared.append((seed, thinking))
        if len(compared) == 4:
            raise KeyboardInterrupt
        return {
            "tokens": 3,
            "sampled_tokens": 3,
            "first_difference": {"ar": None, "chain": 2 if seed else None},
        }

    monkeypatch.setattr(lossless, "compare", compare)
    pair = SimpleNamespace(codec=SimpleNamespace(supports_thinking=True), info=SimpleNamespace(device="cpu"))
    monkeypatch.setattr(lossless, "load_pair", lambda *_, **__: pair)
    out = tmp_path / "results.jsonl"
    with pytest.raises(KeyboardInterrupt):
        lossless.main(["--prompts", "3", "--out", str(out)])
    assert lossless.main(["--prompts", "3", "--out", str(out)]) == 1
    assert compared == [(0, False), (0, True), (1, False), (1, True), (1, True), (2, False), (2, True)]
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 6


def test_bfloat16_lists_every_difference_and_judges_it_by_the_noise_of_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lossless, "BUDGETS", (16,))
    for way in ("tree(1)", "tree(64)", "tree(256)"):
        monkeypatch.delitem(lossless.GREEDY, way)
    options = ["--prompts", "2", "--max-new-tokens", "40", "--dtype", "bfloat16", "--noise-positions", "30"]
    report = tmp_path / "report.json"
    code = lossless.main([*options, "--out", str(tmp_path / "texts.jsonl"), "--report", str(report)])
    found = json.loads(report.read_text())
    assert found["reference"] == "ar"
    assert found["identical"]["ar"] == found["texts"] == 4
    assert set(found["noise"]) == {"16", "17"}
    assert all(noise["positions"] >= 30 for noise in found["noise"].values())
    assert 0 < found["largest_noise"] < 2
    assert code == int(any(one["verdict"] == "defect" for one in found["divergences"]))


def test_questions_from_files_are_shared_out(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = [json.dumps({"prompt": f"{name}{number}"}) for number in range(9)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    asked = lossless.questions(5, [tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert [question.name for question in asked] == ["a 0", "a 1", "b 0", "b 1", "b 2"]
    assert asked[0].turns(True) == [{"role": "user", "content": "a0"}]

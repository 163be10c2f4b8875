from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from runs import checked, told
from tiny_models import tiny_pair

from engine.control import Control
from engine.events import Checking
from engine.oracle import calibration, tolerance
from engine.oracle.tolerance import EXACT, known
from engine.pair import Pair


@pytest.fixture(autouse=True)
def _short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "TOKENS", 40)
    monkeypatch.setattr(calibration, "PROMPTS", ("abcdefgh", "zyxw"))


def pair_in(dtype: torch.dtype, family: str = "qwen3_5", **fields: Any) -> Pair:
    host = tiny_pair(family, dtype=dtype, stop_ids=())
    return told(Pair(host.target, host.drafter, host.codec, host.info, **fields))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wide_dtypes_on_a_cpu_need_no_measurement(dtype: torch.dtype) -> None:
    assert known(pair_in(dtype)) is EXACT


@pytest.mark.parametrize("on_device", [False, True])
def test_measures_shorter_ones_before_judging(on_device: bool) -> None:
    pair = pair_in(torch.bfloat16, on_device=on_device)
    assert known(pair) is None
    for settings in ({"mode": "tree", "budget": 12}, {"temperature": 0.9, "budget": 5}, {"mode": "ar"}):
        found, events = checked(pair, **settings)
        assert found.verdict in ("identical", "ties"), found.layer
        stages = {event.stage for event in events if isinstance(event, Checking)}
        assert ("Measuring rounding on this device" in stages) == (settings.get("budget") == 12)
    measured = known(pair)
    assert measured is not None
    assert EXACT.noise < found.noise == measured.noise < 2
    assert torch.finfo(torch.bfloat16).eps <= measured.of(0, "state") < 0.2
    assert measured.of(3, "keys") < 1


def test_noise_hides_no_branches() -> None:
    pair = pair_in(torch.bfloat16)
    found, _ = checked(pair, verify="naive", budget=12)
    assert found.verdict == "defect"
    assert found.layer is not None
    assert found.layer.kind == "linear_attention"
    assert found.layer.error > 3 * found.layer.tolerance


def test_keeps_what_was_measured_for_the_next_process() -> None:
    pair = pair_in(torch.bfloat16, "llama")
    checked(pair)
    measured = known(pair)
    tolerance._KNOWN.clear()
    assert known(pair) == measured
    other = pair_in(torch.bfloat16, "llama")
    assert known(told(other, "another")) is None
    tolerance._KNOWN.clear()


def test_a_broken_file_is_measured_again(tmp_path: Path) -> None:
    pair = pair_in(torch.bfloat16, "llama")
    checked(pair)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(b'{"noise": "much"}')
    tolerance._KNOWN.clear()
    assert known(pair) is None


def test_cancelled_it_keeps_nothing() -> None:
    pair, control = pair_in(torch.bfloat16), Control()
    control.cancel()
    assert [event.done for event in calibration.calibrate(pair, control)] == [0]
    assert known(pair) is None

"""What the difference of texts is judged by: known, measured, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_models import tiny_pair

from engine import lead_noise
from engine.control import Control
from engine.events import Checking, Finished, Noise, StageTimes
from engine.lead_noise import before_the_end, measured
from engine.oracle.tolerance import Tolerance

BUSY = Checking(stage="Measuring", done=0, total=1)


def test_in_float32_on_a_cpu_nothing_is_measured_and_nothing_explained() -> None:
    assert list(measured(tiny_pair("qwen3_5"), Control())) == [Noise(lead=0.0)]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, Tolerance]:
    """A pair whose noise is to be measured, and where it is kept."""
    found: dict[str, Tolerance] = {}
    monkeypatch.setattr(lead_noise, "known", lambda pair: found.get("pair"))
    return found


def pair_in(processes: int = 1) -> Any:
    return SimpleNamespace(target=SimpleNamespace(ranks=None if processes == 1 else object()))


def test_it_is_measured_once(kept: dict[str, Tolerance], monkeypatch: pytest.MonkeyPatch) -> None:
    def calibrate(pair: object, control: Control) -> Iterator[Checking]:
        yield BUSY
        kept["pair"] = Tolerance(noise=0.375, every=1e-2)

    monkeypatch.setattr(lead_noise, "calibrate", calibrate)
    assert list(measured(pair_in(), Control())) == [BUSY, Noise(lead=0.375)]
    assert list(measured(pair_in(), Control())) == [Noise(lead=0.375)]


def test_where_it_cannot_be_measured_that_is_said(
    kept: dict[str, Tolerance], monkeypatch: pytest.MonkeyPatch
) -> None:
    def calibrate(pair: object, control: Control) -> Iterator[Checking]:
        yield BUSY
        if not control.cancelled:
            raise torch.OutOfMemoryError

    monkeypatch.setattr(lead_noise, "calibrate", calibrate)
    cancelled = Control()
    cancelled.cancel()
    for control in (Control(), cancelled):
        assert list(measured(pair_in(), control)) == [BUSY, Noise(lead=None)]
    assert list(measured(pair_in(processes=2), Control())) == [Noise(lead=None)]


def finished(ids: list[int]) -> Finished:
    return Finished(
        reason="stop", output_ids=ids, text="", thinking_text="", rounds=1, tokens=len(ids),
        mean_acceptance_length=1.0, acceptance_histogram=[], tokens_per_second=0.0, ttft_s=0.0,
        ms=StageTimes(), drafted=0, accepted=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([[1, 2], [1, 2], [1, 2]], False),
        ([[1, 2], [1, 2], [1, 3]], True),
        ([[1, 2], [1, 3], None], True),
        ([[1, 2], None, None], False),
    ],
)
def test_a_race_hears_of_it_before_its_end_if_texts_differ(texts: list[list[int] | None], told: bool) -> None:
    race: list[Any] = [
        (number, finished(ids) if ids is not None else RuntimeError("no numbers"))
        for number, ids in enumerate(texts)
    ]
    found = list(before_the_end(race, len(race), [BUSY, Noise(lead=0.5)]))
    assert found == [*race[:-1], *([BUSY, Noise(lead=0.5)] if told else []), race[-1]]

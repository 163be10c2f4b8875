"""What the first answer must be like, so that others follow."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from make_recording import loaded
from msgspec.structs import replace

from ddtree_tui.server.self_check import check_engine
from engine.commands import Generate
from engine.errors import EngineError
from engine.events import AnyEvent, Checked, Failed, Finding, Finished, StageTimes
from engine.settings import DecodeSettings

TEXT = [5, 6, 7, 8]


def finished(ids: Sequence[int]) -> Finished:
    return Finished(
        reason="length",
        output_ids=[*ids],
        text="",
        thinking_text="",
        rounds=1,
        tokens=len(ids),
        mean_acceptance_length=1.0,
        acceptance_histogram=[],
        tokens_per_second=1.0,
        ttft_s=0.1,
        ms=StageTimes(),
        drafted=0,
        accepted=0,
    )


def checked(defects: int = 0) -> Checked:
    return Checked(
        oracle="full",
        verdict="defect" if defects else "identical",
        positions=4,
        compared=4,
        ties=0,
        defects=defects,
        noise=0.0,
        seconds=0.1,
    )


FINDING = Finding(cause="mask-id", severity="defect", seen="It is 7.", why="It is wrong.", todo="Mend it.")


async def check(drafted: list[AnyEvent], plain: Sequence[int] = TEXT) -> list[Generate]:
    """The commands that the engine was given, if it passed."""
    asked: list[Generate] = []

    async def decode(command: Generate) -> list[AnyEvent]:
        asked.append(command)
        return drafted if command.settings.mode == "tree" else [finished(plain)]

    await check_engine(decode, DecodeSettings(temperature=0.7, stop=("x",)), loaded())
    return asked


@pytest.mark.parametrize("oracle", [[checked()], []], ids=["oracle", "none"])
async def test_an_answer_like_the_target_s_own_passes(oracle: list[AnyEvent]) -> None:
    drafted, plain = await check([finished(TEXT), *oracle])
    assert (drafted.settings.oracle, drafted.settings.temperature, drafted.settings.stop) == ("full", 0.0, ())
    assert (plain.settings.oracle, plain.settings.mode) == ("off", "ar")
    assert drafted.fresh
    assert plain.fresh


@pytest.mark.parametrize("plain", [TEXT, [5, 6, 9, 8]], ids=["same", "other"])
async def test_several_processes_have_no_oracle_and_are_compared_with_no_drafting(plain: list[int]) -> None:
    asked: list[Generate] = []

    async def decode(command: Generate) -> list[AnyEvent]:
        asked.append(command)
        if command.settings.oracle != "off":
            return [Failed(error="bad_setting", message="The oracle needs the target in one process.")]
        return [finished(TEXT if command.settings.mode == "tree" else plain)]

    divided = replace(loaded(), processes=2)
    if plain == TEXT:
        await check_engine(decode, DecodeSettings(), divided)
    else:
        with pytest.raises(EngineError, match="from token 2 on"):
            await check_engine(decode, DecodeSettings(), divided)
    assert [command.settings.mode for command in asked] == ["tree", "ar"]


@pytest.mark.parametrize(
    ("drafted", "plain", "kind", "said"),
    [
        ([finished(TEXT), FINDING, checked()], TEXT, "check_failed", "mask-id: It is 7."),
        ([finished(TEXT), checked(3)], TEXT, "check_failed", "3 of 4 tokens are not the target's own"),
        ([finished(TEXT), checked()], [5, 6, 9, 8], "check_failed", "from token 2 on"),
        ([finished(TEXT)], TEXT[:3], "check_failed", "from token 3 on"),
        ([Failed(error="not_finite", message="No numbers.")], TEXT, "not_finite", "No numbers."),
    ],
)
async def test_others_do_not(drafted: list[AnyEvent], plain: list[int], kind: str, said: str) -> None:
    with pytest.raises(EngineError) as failed:
        await check(drafted, plain)
    assert failed.value.kind == kind
    assert said in failed.value.message


async def test_a_fault_that_was_planted_is_called_so() -> None:
    async def decode(command: Generate) -> list[AnyEvent]:
        return [finished(TEXT), FINDING, checked()]

    with pytest.raises(EngineError) as failed:
        await check_engine(decode, DecodeSettings(inject=("mask-id",)), loaded())
    assert "planted: mask-id. Found: mask-id: It is 7." in failed.value.message
    assert failed.value.hint == "Start the server without --inject."

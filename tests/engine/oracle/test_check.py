from __future__ import annotations

from typing import Any

import pytest
from tiny_models import tiny_pair

from engine.decode import generate
from engine.divergence import Choice, choices
from engine.errors import EngineError
from engine.events import UNKNOWN_ID, Checked, Divergence, Prefilled, Tokens
from engine.oracle.check import check
from engine.race import race
from engine.settings import DecodeSettings

PROMPT = "abcdefgh"


def answered(pair: Any, **settings: Any) -> tuple[list[int], list[Choice], DecodeSettings]:
    events = list(generate(pair, PROMPT, **{"max_new_tokens": 24, "budget": 12, **settings}))
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    return prefilled.prompt_ids, choices(events)[1], prefilled.settings


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.8, "top_p": 0.9}])
def test_an_answer_that_is_over(sequential: bool, settings: dict[str, Any]) -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    answer = answered(pair, **settings)
    *_, found = check(pair, *answer, sequential=sequential)
    assert isinstance(found, Checked)
    assert (found.verdict, found.compared, found.sequential) == ("identical", 24, sequential)
    assert found.layers == 3 * 2 + 2  # the caches still hold it
    pair.session.reset()
    *_, found = check(pair, *answer)
    assert isinstance(found, Checked)
    assert (found.verdict, found.layers) == ("identical", 0)


def test_a_text_that_naive_verification_wrote() -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    events = list(check(pair, *answered(pair, verify="naive", max_new_tokens=60)))
    found = events[-1]
    assert isinstance(found, Checked)
    assert found.verdict == "defect"
    spelled = {int(key) for event in events if isinstance(event, Tokens) for key in event.pieces}
    told = [event for event in events if isinstance(event, Divergence)]
    assert told
    assert {token_id for event in told for token_id in (event.id, event.target_id)} <= spelled


def test_one_changed_token_is_found_where_it_is() -> None:
    pair = tiny_pair("llama", stop_ids=())
    prompt, chosen, settings = answered(pair)
    place = 17
    wrong = Choice((chosen[place].id + 1) % 50, 5, 2, 0.4)
    *_, found = check(pair, prompt, [*chosen[:place], wrong, *chosen[place + 1 :]], settings)
    assert isinstance(found, Checked)
    assert found.first is not None
    assert (found.first.position, found.first.round, found.first.node) == (len(prompt) + place, 5, 2)
    assert found.first.target_id == chosen[place].id


@pytest.mark.parametrize(
    ("prompt", "chosen", "message"),
    [
        ([], [Choice(1)], "no answer"),
        ([1], [], "no answer"),
        ([1, 61], [Choice(2)], "token 61"),
        ([1], [Choice(UNKNOWN_ID)], "every token"),
    ],
)
def test_refuses_what_is_no_text_of_the_target(prompt: list[int], chosen: list[Choice], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        list(check(tiny_pair("llama"), prompt, chosen, DecodeSettings()))


def test_refuses_a_text_longer_than_the_context() -> None:
    with pytest.raises(EngineError) as raised:
        list(check(tiny_pair("llama"), [1] * 500, [Choice(1)] * 20, DecodeSettings()))
    assert raised.value.kind == "prompt_too_long"


def test_lanes_of_a_race_are_checked_too() -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    lanes = [DecodeSettings(max_new_tokens=20, mode=mode, oracle="full") for mode in ("ar", "tree")]
    found = {lane: event for lane, event in race(pair, PROMPT, lanes) if isinstance(event, Checked)}
    assert {lane: event.verdict for lane, event in found.items()} == {0: "identical", 1: "identical"}

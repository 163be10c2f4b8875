"""What a prompt shows by its text and ids alone, and against the templates of real models."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.codec import Codec
from engine.detectors.from_events import findings
from engine.detectors.template import WHOLE, check_template, joined_border, wrong_border, wrong_tail
from engine.events import Loaded, ModelInfo, Prefilled, Tokens
from engine.faults.prompt import cut_otherwise
from engine.pair import Pair
from engine.settings import DecodeSettings, Message

ASKED: list[Message] = [
    {"role": "system", "content": "Answer briefly.\n\n  Be kind. "},
    {"role": "user", "content": " Why is the sky blue? "},
]
BEGUN = "<|im_start|>system\nAnswer briefly.\n\n  Be kind.<|im_end|>\n<|im_start|>user\nWhy is the sky blue?"
TURN = "<|im_end|>\n<|im_start|>assistant\n"


def named(text: str, *, ids: list[int] | None = None, thinking: bool = False, **more: Any) -> list[str]:
    event = Prefilled(
        prompt_ids=ids or [7, 8, 9],
        prompt_text=text,
        messages=more.get("messages", ASKED),
        thinking=thinking,
        settings=DecodeSettings(thinking=thinking),
        stop_ids=[],
        seconds=0.0,
        first_id=1,
    )
    before = [_loaded(more["knows_thinking"])] if "knows_thinking" in more else []
    return [each.cause for each in findings([*before, Tokens(pieces={"7": "<s>"}, special=[7]), event])]


def _loaded(thinking: bool) -> Loaded:
    return Loaded(
        target=ModelInfo(name="t", path="t", architecture="t", parameters=1, dtype="float32"),
        drafter=None,
        device="cpu",
        versions={},
        block_size=None,
        mask_token_id=None,
        target_layer_ids=[],
        memory_bytes=0,
        seconds=0.0,
        context_length=100,
        vocab_size=100,
        thinking=thinking,
    )


def test_a_prompt_as_it_should_be() -> None:
    assert named(BEGUN + TURN) == []
    assert named(BEGUN + TURN + "<think>\n\n</think>\n\n") == []
    assert named(BEGUN + TURN + "<think>\n", thinking=True) == []


def test_faults_that_the_events_show() -> None:
    assert named(BEGUN + TURN, ids=[7, 7, 8]) == ["two-bos"]
    assert named(BEGUN + TURN, ids=[8, 8, 9]) == []  # two ordinary tokens
    assert named(BEGUN + "<|im_end|>\n") == ["no-generation-prompt"]
    assert named(BEGUN[51:] + TURN) == ["system-lost"]
    assert named(BEGUN.replace("Be kind.", "") + TURN) == ["system-lost"]
    assert named(BEGUN + TURN + "<think>\n") == ["thinking-left-on"]


def test_a_target_that_always_thinks_was_not_told_otherwise() -> None:
    assert named(BEGUN + TURN + "<think>\n", knows_thinking=False) == []
    assert named(BEGUN + TURN + "<think>\n", knows_thinking=True) == ["thinking-left-on"]


def test_tags_that_the_user_wrote_are_text() -> None:
    asked: list[Message] = [{"role": "user", "content": "What is <think> for?"}]
    assert named("<|im_start|>user\nWhat is <think> for?" + TURN, messages=asked) == []


def test_an_answer_that_is_gone_on_with_needs_no_turn() -> None:
    asked: list[Message] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well,"}]
    assert (
        named("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nWell,<|im_end|>", messages=asked) == []
    )


@pytest.fixture(scope="module")
def qwen_folder(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qwen3_5")
    source = shared_data / "tokenizers" / "qwen3_5"
    with gzip.open(source / "tokenizer.json.gz") as packed, (folder / "tokenizer.json").open("wb") as file:
        shutil.copyfileobj(packed, file)
    shutil.copy(source / "tokenizer_config.json", folder)
    return folder


@pytest.fixture(scope="module")
def plain_qwen(qwen_folder: Path) -> Codec:
    return Codec.from_folder(qwen_folder)


def with_template(codec: Codec, shared_data: Path, size: str) -> Codec:
    template = shared_data / "templates" / "qwen3.5" / "upstream" / f"{size}.jinja"
    codec.tokenizer.chat_template = template.read_text(encoding="utf-8")
    return Codec(codec.tokenizer)


@pytest.mark.parametrize("size", ["0.8B", "2B", "4B", "9B", "27B", "35B-A3B"])
def test_real_templates(plain_qwen: Codec, shared_data: Path, size: str) -> None:
    qwen = with_template(plain_qwen, shared_data, size)
    assert not [*check_template(qwen)]
    for thinking in (False, True):
        prompt = qwen.encode_chat(ASKED, thinking)
        assert named(prompt.text, thinking=thinking) == []
        assert not [*wrong_tail(qwen, ASKED, prompt.text, thinking=thinking)]
        assert not [*wrong_border(qwen, prompt.text, prompt.ids)]
        output = qwen.tokenizer.encode("The sky scatters light.", add_special_tokens=False)
        assert not [*joined_border(qwen, prompt.text, prompt.ids, output)]
        other = qwen.encode_chat(ASKED, not thinking).text
        cause = "no-thinking-tags" if thinking else "thinking-left-on"
        assert [each.cause for each in wrong_tail(qwen, ASKED, other, thinking=thinking)] == [cause]
    # What a client that sends strings gets: in these templates "false" is not false.
    string = qwen.tokenizer.apply_chat_template(
        json.loads(json.dumps(ASKED)), tokenize=False, add_generation_prompt=True, enable_thinking="false"
    )
    left_on = [each.cause for each in wrong_tail(qwen, ASKED, str(string), thinking=False)]
    small = size in ("0.8B", "2B")  # these think only when told so by a true boolean
    assert left_on == ([] if small else ["thinking-left-on"])


def test_two_line_breaks_where_training_had_one_token(plain_qwen: Codec, shared_data: Path) -> None:
    qwen = with_template(plain_qwen, shared_data, "4B")
    prompt = qwen.encode_chat(ASKED, False)
    (single,) = qwen.tokenizer.encode("\n\n", add_special_tokens=False)
    (half,) = qwen.tokenizer.encode("\n", add_special_tokens=False)
    assert prompt.ids[-1] == single
    found = [*wrong_border(qwen, prompt.text, [*prompt.ids[:-1], half, half])]
    assert [finding.cause for finding in found] == ["prompt-border"]
    assert found[0].severity == "defect"


def test_a_border_that_a_whole_text_would_not_have(plain_qwen: Codec, shared_data: Path) -> None:
    qwen = with_template(plain_qwen, shared_data, "4B")
    prompt = qwen.encode_chat(ASKED, False)
    output = qwen.tokenizer.encode("\n\nBecause", add_special_tokens=False)
    found = [*joined_border(qwen, prompt.text, prompt.ids, output)]
    assert [(finding.cause, finding.severity) for finding in found] == [("prompt-border", "note")]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("in_front", [0, 1])
def test_another_cut_is_found_in_long_prompts_and_behind_a_second_bos(
    demo_pair: Pair, long: bool, in_front: int
) -> None:
    codec = demo_pair.codec
    before: list[Message] = [{"role": "user", "content": "a long text " * 700}, *ASKED[-1:]]
    prompt = codec.encode_chat(before if long else ASKED)
    assert (len(prompt.text) > WHOLE) is long
    front = prompt.ids[:1] * in_front
    assert not [*wrong_border(codec, prompt.text, [*front, *prompt.ids])]
    (finding,) = wrong_border(codec, prompt.text, [*front, *cut_otherwise(codec, prompt.ids)])
    assert finding.cause == "prompt-border"
    assert not [*wrong_border(codec, prompt.text, [*front, *prompt.ids[:-1], prompt.ids[0]])]

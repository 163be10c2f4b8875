from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from engine.demo.chat import render_history, render_prompt, reply_text
from engine.settings import Message

USER: Message = {"role": "user", "content": "What is 12 + 30?"}


def test_generation_prompts_with_thinking_off_and_on() -> None:
    head = "<|im_start|>user\nWhat is 12 + 30?<|im_end|>\n<|im_start|>assistant\n<think>\n"
    assert render_prompt([USER], thinking=False) == head + "\n</think>\n\n"
    assert render_prompt([USER], thinking=True) == head


def test_a_system_message_comes_through() -> None:
    text = render_prompt([{"role": "system", "content": " Be kind. "}, USER], thinking=False)
    assert text.startswith("<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n")


@pytest.mark.parametrize("thinking", [False, True])
def test_the_next_prompt_extends_the_text_so_far(thinking: bool) -> None:
    answer: Message = {"role": "assistant", "content": "That makes 42."}
    if thinking:
        answer["reasoning_content"] = "Ones: 2+0=2.\nTens: 1+3=4."
    so_far = render_prompt([USER], thinking) + reply_text("That makes 42.", answer.get("reasoning_content"))
    later = render_prompt([USER, answer, {"role": "user", "content": "Thanks!"}], thinking)
    assert later.startswith(so_far + "<|im_end|>\n<|im_start|>user\nThanks!")
    assert render_history([USER, answer]) == so_far + "<|im_end|>\n"


def test_a_reply_that_still_holds_its_thoughts_is_taken_apart() -> None:
    whole: Message = {"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\nIt is 42."}
    apart: Message = {"role": "assistant", "content": "It is 42.", "reasoning_content": "Let me see."}
    assert render_history([USER, whole]) == render_history([USER, apart])


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(jinja2.TemplateError, match="tool"):
        render_prompt([{"role": "tool", "content": "1"}], thinking=False)  # type: ignore[typeddict-item]


def test_transformers_renders_and_tokenises_the_same(
    demo_tokenizer_folder: Path, demo_tokenizer: Tokenizer
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(demo_tokenizer_folder)
    messages: list[Message] = [
        {"role": "system", "content": "You are helpful."},
        USER,
        {"role": "assistant", "content": "It is 42.", "reasoning_content": "2+0=2, 1+3=4."},
        {"role": "user", "content": "Now add 5."},
    ]
    for flags, thinking in (
        ({"enable_thinking": True}, True),
        ({"enable_thinking": False}, False),
        ({}, False),
        ({"enable_thinking": "false"}, False),
    ):
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **flags)
        assert text == render_prompt(messages, thinking)
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True, **flags)[
            "input_ids"
        ]
        assert ids == demo_tokenizer.encode(text, add_special_tokens=False).ids
    assert tokenizer.apply_chat_template(messages, tokenize=False) == render_history(messages)

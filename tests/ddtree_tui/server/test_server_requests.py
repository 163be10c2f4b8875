"""What requests are read as, and what is said about those that will not do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ddtree_tui.server.booleans import Boolean
from ddtree_tui.server.chat_request import ChatRequest
from ddtree_tui.server.completion_request import CompletionRequest
from ddtree_tui.server.options import ServeOptions
from engine.settings import AUTO_BUDGET, DecodeSettings, LoadSettings

BOOLEAN = TypeAdapter(Boolean)
MESSAGES = [{"role": "user", "content": "hello"}]


def chat(**fields) -> ChatRequest:
    return ChatRequest.model_validate({"model": "demo", "messages": MESSAGES} | fields)


def refused(**fields) -> str:
    with pytest.raises(ValidationError) as caught:
        chat(**fields)
    (error,) = caught.value.errors()
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"


@pytest.mark.parametrize("spelled", [True, "true", "True", "TRUE", " true ", "1", 1, "yes", "Yes"])
def test_true(spelled):
    assert BOOLEAN.validate_python(spelled) is True
    assert chat(enable_thinking=spelled).thinking is True


@pytest.mark.parametrize("spelled", [False, "false", "False", "0", 0, "no", "NO"])
def test_false(spelled):
    assert BOOLEAN.validate_python(spelled) is False
    assert chat(chat_template_kwargs={"enable_thinking": spelled}).thinking is False


def test_null_says_nothing():
    assert BOOLEAN.validate_python(None) is None
    assert chat(enable_thinking=None).thinking is None


SPELLINGS = {"true", "false", "1", "0", "yes", "no"}
OTHERS = (
    st.text().filter(lambda text: text.strip().lower() not in SPELLINGS)
    | st.integers().filter(lambda number: number not in (0, 1))
    | st.floats()
    | st.lists(st.booleans())
    | st.dictionaries(st.text(), st.booleans())
)


@given(OTHERS)
def test_nothing_else_is_a_boolean(value):
    with pytest.raises(ValidationError, match="is a boolean"):
        BOOLEAN.validate_python(value)


@pytest.mark.parametrize(
    "field", ["enable_thinking", "stream", "logprobs", "ddtree_trace", "chat_template_kwargs.enable_thinking"]
)
def test_what_is_no_boolean_is_named(field):
    outer, _, inner = field.partition(".")
    said = refused(**{outer: {inner: "maybe"} if inner else "maybe"})
    assert said.startswith(f"{field}: ")


def test_parts_of_text_are_one_text():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    request = chat(messages=[{"role": "developer", "content": parts}, *MESSAGES])
    assert request.conversation() == [{"role": "system", "content": "ab"}, *MESSAGES]
    said = refused(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])
    assert "image_url" in said


def test_an_answer_can_be_sent_back():
    turn = {"role": "assistant", "content": "42", "reasoning_content": "12 + 30", "tool_calls": None}
    request = chat(
        messages=[*MESSAGES, turn | {"refusal": None, "annotations": [], "audio": None}, *MESSAGES]
    )
    assert request.conversation()[1] == {
        "role": "assistant",
        "content": "42",
        "reasoning_content": "12 + 30",
    }


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"max_tokens": 3, "max_completion_tokens": 4}, "contradict each other"),
        ({"enable_thinking": "yes", "chat_template_kwargs": {"enable_thinking": "no"}}, "contradicts"),
        ({"stream_options": {"include_usage": True}}, "needs 'stream'"),
        ({"top_logprobs": 3}, "needs 'logprobs'"),
        ({"top_logprobs": 21, "logprobs": True}, "less than or equal to 20"),
        ({"temperature": "0.7"}, "valid number"),
        ({"temperature": float("nan")}, "finite"),
        ({"temperature": 1e-9}, "at least 0.000001"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"tree_budget": 2000}, "1024"),
        ({"tree_budget": 0}, 'from 1 to 1024, or "auto"'),
        ({"tree_budget": "64"}, 'or "auto"'),
        ({"tree_budget": True}, 'or "auto"'),
        ({"mode": "fast"}, "'ar', 'chain' or 'tree'"),
        ({"stop": [""]}, "none of them empty"),
        ({"stop": ["x"] * 17}, "at most 16"),
        ({"n": True}, "not supported"),
        ({"tools": [{}]}, "not supported"),
        ({"chat_template_kwargs": {"foo": 1}}, "Extra inputs"),
        ({"stream_options": {"continuous_usage_stats": True}, "stream": True}, "Extra inputs"),
    ],
)
def test_refused(fields, said):
    assert said in refused(**fields)


def test_values_that_ask_for_nothing_are_fine():
    request = chat(
        n=1,
        frequency_penalty=0.0,
        presence_penalty=0,
        logit_bias={},
        tools=[],
        tool_choice="none",
        response_format={"type": "text"},
        modalities=["text"],
        user=None,
    )
    assert request.warnings("tree") == []


def test_a_budget_without_a_tree_is_warned_of():
    assert chat(tree_budget=4).warnings("tree") == []
    (warning,) = chat(tree_budget=4).warnings("chain")
    assert "'tree_budget' has no effect in mode 'chain'" in warning


def test_settings_are_the_servers_where_the_request_says_nothing():
    options = ServeOptions(
        LoadSettings(),
        DecodeSettings(budget=16, temperature=0.5, thinking=True, seed=3),
        "demo",
        log_path=None,
    )
    settings = chat().settings(options, 100)
    assert (settings.budget, settings.temperature, settings.thinking) == (16, 0.5, True)
    assert settings.max_new_tokens == 100
    assert chat().settings(options, 100).seed != 3  # drawn: nobody fixed it
    said = chat(
        tree_budget=4, temperature=1, top_p=1, top_k=5, min_p=0, seed=9, max_tokens=7, stop="x", mode="chain"
    ).settings(options, 100, thinking=False)
    assert said == DecodeSettings(
        mode="chain",
        budget=4,
        temperature=1.0,
        top_k=5,
        seed=9,
        max_new_tokens=7,
        stop=("x",),
    )


@pytest.mark.parametrize(
    ("served", "asked", "expected"),
    [
        ({"budget": 16}, None, (16, False)),
        ({"budget": 16}, 32, (32, False)),
        ({"budget": 16}, "auto", (AUTO_BUDGET, True)),
        ({"budget": 100, "auto_budget": True}, None, (100, True)),
        ({"budget": 100, "auto_budget": True}, 32, (32, False)),
        ({"budget": 100, "auto_budget": True}, "auto", (100, True)),
    ],
)
def test_the_budget_may_be_the_engines_to_choose(served, asked, expected):
    options = ServeOptions(LoadSettings(), DecodeSettings(**served), "demo", log_path=None)
    settings = chat(tree_budget=asked).settings(options, 100)
    assert (settings.budget, settings.auto_budget) == expected


def test_a_text_completion_takes_one_text():
    for prompt in ("a", ["a"]):
        assert CompletionRequest.model_validate({"model": "m", "prompt": prompt}).prompt == "a"
    for prompt in ("", [], ["a", "b"], [1, 2], [[1]], None):
        with pytest.raises(ValidationError, match="is one string"):
            CompletionRequest.model_validate({"model": "m", "prompt": prompt})
    assert (
        CompletionRequest.model_validate({"model": "m", "prompt": "a", "logprobs": False}).alternatives
        is None
    )
    assert CompletionRequest.model_validate({"model": "m", "prompt": "a", "logprobs": 0}).alternatives == 0

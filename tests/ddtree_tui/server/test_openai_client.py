"""OpenAI's own client against the demo pair, with what it sends and expects."""

from __future__ import annotations

import openai
import pytest

QUESTION = [{"role": "user", "content": "What is 12 + 30?"}]
STORY = [{"role": "user", "content": "Tell me a story about a fox."}]


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def chat(client):
    def ask(messages=QUESTION, **fields):
        return client.chat.completions.create(model="demo", messages=messages, **fields)

    return ask


def test_chat(chat):
    answer = chat()
    (choice,) = answer.choices
    assert "42" in choice.message.content
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert choice.message.reasoning_content is None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.model == "demo"
    assert answer.warnings == []


def test_what_it_tells_of_the_decoding(chat):
    answer = chat(STORY, max_tokens=40, extra_body={"tree_budget": 16})
    block, metrics = answer.ddtree, answer.metrics["speculative_decoding"]
    assert (block["mode"], block["block_size"], block["tree_budget"]) == ("tree", 16, 16)
    rounds = block["decode_rounds"]
    assert block["output_tokens"] == answer.usage.completion_tokens == 40
    assert block["mean_acceptance_length"] == pytest.approx(39 / rounds)
    assert sum(block["acceptance_histogram"]) == rounds
    assert block["ms"]["total"] >= block["ms"]["verify"] > 0
    assert block["tokens_per_second"] == pytest.approx(39 / block["ms"]["total"] * 1000)
    assert metrics["num_spec_steps"] == rounds == len(metrics["per_step_accepted"])
    assert metrics["num_draft_tokens"] == sum(metrics["per_step_drafted"]) <= 16 * rounds
    accepted = metrics["num_accepted_draft_tokens"]
    assert accepted == sum(metrics["per_step_accepted"])
    assert accepted == sum(n * count for n, count in enumerate(metrics["acceptance_histogram"]))
    assert metrics["mean_acceptance_length"] == pytest.approx(1 + accepted / rounds)
    assert metrics["draft_acceptance_rate"] == pytest.approx(accepted / metrics["num_draft_tokens"])
    chosen = chat(STORY, max_tokens=40, extra_body={"tree_budget": "auto"})
    assert chosen.ddtree["auto_budget"]
    assert chosen.choices[0].message.content == answer.choices[0].message.content
    plain = chat(STORY, max_tokens=40, extra_body={"mode": "ar"})
    assert plain.choices[0].message.content == answer.choices[0].message.content
    assert plain.metrics["speculative_decoding"] is None
    assert plain.ddtree["decode_rounds"] == 39


def test_stream(chat):
    whole = chat()
    chunks = [*chat(stream=True)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert chunks[-1].ddtree["decode_rounds"] == whole.ddtree["decode_rounds"]
    assert all(chunk.usage is None for chunk in chunks)


def test_stream_with_usage(chat):
    *chunks, last = chat(stream=True, stream_options={"include_usage": True})
    assert last.choices == []
    assert last.usage.prompt_tokens == chat().usage.prompt_tokens
    assert last.ddtree["output_tokens"] == last.usage.completion_tokens
    assert all(chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings(chat, stream):
    whole = chat(STORY, max_tokens=40).choices[0].message.content
    word = whole.split()[5]
    answer = chat(STORY, max_tokens=40, stop=[word], stream=stream)
    if stream:
        chunks = [*answer]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        reason = chunks[-1].choices[0].finish_reason
    else:
        text, reason = answer.choices[0].message.content, answer.choices[0].finish_reason
    assert text == whole[: whole.index(word)]
    assert reason == "stop"


def test_length(chat):
    answer = chat(STORY, max_completion_tokens=7)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 7


def test_seed(chat):
    def sampled(**fields):
        answer = chat(STORY, temperature=1.0, top_p=0.95, max_tokens=10, **fields)
        return answer.choices[0].message.content, answer.ddtree["seed"]

    assert sampled(seed=7) == sampled(seed=7)
    assert sampled(seed=7)[0] != sampled(seed=8)[0]
    text, drawn = sampled()
    assert sampled(seed=drawn)[0] == text


def test_logprobs(chat):
    def logprobs(**fields):
        return chat(STORY, max_tokens=12, logprobs=True, top_logprobs=3, **fields)

    answer = logprobs().choices[0]
    told = answer.logprobs.content
    assert b"".join(bytes(each.bytes) for each in told).decode() == answer.message.content
    for each in told:
        assert each.logprob <= 0
        assert len(each.top_logprobs) == 3
        assert each.top_logprobs[0].token == each.token  # greedy
        assert each.top_logprobs[0].logprob == pytest.approx(each.logprob, abs=1e-3)
    streamed = [
        each
        for chunk in logprobs(stream=True)
        if chunk.choices[0].logprobs
        for each in chunk.choices[0].logprobs.content
    ]
    assert streamed == told
    plain = chat(STORY, max_tokens=12, logprobs=True, extra_body={"mode": "ar"}).choices[0].logprobs.content
    assert [each.logprob for each in plain] == pytest.approx([each.logprob for each in told], abs=2e-3)
    assert plain[0].top_logprobs == []
    for mode in ("ar", "tree"):
        many = chat(STORY, max_tokens=4, logprobs=True, top_logprobs=20, extra_body={"mode": mode})
        for each in many.choices[0].logprobs.content:
            best = [other.logprob for other in each.top_logprobs]
            assert len(best) == 20
            assert best == sorted(best, reverse=True)


def test_thinking(chat):
    on = chat(extra_body={"enable_thinking": True}).choices[0].message
    assert "12 and 30" in on.reasoning_content
    assert "42" in on.content
    assert "<think>" not in on.content
    for off in (
        {"enable_thinking": "false"},
        {"enable_thinking": "no"},
        {"chat_template_kwargs": {"enable_thinking": "0"}},
        {"enable_thinking": None},
    ):
        assert chat(extra_body=off).choices[0].message.reasoning_content is None
    answer = chat(extra_body={"chat_template_kwargs": {"enable_thinking": "1"}}, stream=True)
    deltas = [chunk.choices[0].delta for chunk in answer]
    assert (
        "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == on.reasoning_content
    )
    assert "".join(delta.content or "" for delta in deltas) == on.content


def test_a_conversation_goes_on_from_the_caches(chat):
    first = chat()
    chat(STORY, max_tokens=4)  # somebody else's
    messages = [*QUESTION, first.choices[0].message, {"role": "user", "content": "And 5 more?"}]
    second = chat(messages)
    assert second.choices[0].message.content
    assert second.usage.prompt_tokens_details.cached_tokens > first.usage.prompt_tokens / 2


def test_text_completion(client):
    prompt = "<|im_start|>user\nWhat is 12 + 30?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    whole = client.completions.create(model="demo", prompt=prompt, max_tokens=30, logprobs=2)
    (choice,) = whole.choices
    assert "42" in choice.text
    assert "".join(choice.logprobs.tokens) == choice.text
    assert choice.logprobs.text_offset[0] == 0
    assert len(choice.logprobs.top_logprobs[0]) == 2
    streamed = [*client.completions.create(model="demo", prompt=prompt, max_tokens=30, stream=True)]
    assert "".join(chunk.choices[0].text for chunk in streamed) == choice.text
    assert streamed[-1].choices[0].finish_reason == "stop"


def test_models(client):
    (model,) = client.models.list().data
    assert model.id == "demo"
    assert client.models.retrieve("demo").max_model_len == 4096


@pytest.mark.parametrize(
    ("fields", "kind", "param"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "model"),
        ({"temperature": -1}, openai.BadRequestError, "temperature"),
        ({"n": 2}, openai.BadRequestError, "n"),
        ({"frequency_penalty": 0.5}, openai.BadRequestError, "frequency_penalty"),
        ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "response_format"),
        ({"tools": [{"type": "function"}]}, openai.BadRequestError, "tools"),
        ({"extra_body": {"enable_thinking": "maybe"}}, openai.BadRequestError, "enable_thinking"),
        ({"extra_body": {"foo": 1}}, openai.BadRequestError, "foo"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, openai.BadRequestError, "messages"),
        ({"max_tokens": 5000}, openai.BadRequestError, "max_tokens"),
        ({"messages": [{"role": "user", "content": "word " * 9000}]}, openai.BadRequestError, "messages"),
    ],
)
def test_errors(client, fields, kind, param):
    fields = {"model": "demo", "messages": QUESTION} | fields
    with pytest.raises(kind) as refused:
        client.chat.completions.create(**fields)
    assert refused.value.param == param
    assert refused.value.code


def test_what_has_no_effect_is_told(chat):
    answer = chat(user="somebody", store=False, metadata={"a": "b"})
    assert [warning.split("'")[1] for warning in answer.warnings] == ["user", "store", "metadata"]

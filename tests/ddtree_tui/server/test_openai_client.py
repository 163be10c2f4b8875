"""OpenAI's own client against the demo pair, with what it sends and expects."""

from __future__ import annotations

import openai
import pytest

QUESTION = [{"role": "user", "content": "What is 12 + 30?"}]


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
        yield client


def test_chat(client):
    answer = client.chat.completions.create(model="demo", messages=QUESTION)
    (choice,) = answer.choices
    assert "42" in choice.message.content
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.model == "demo"
    assert answer.warnings == []


def test_stream(client):
    whole = client.chat.completions.create(model="demo", messages=QUESTION)
    chunks = [*client.chat.completions.create(model="demo", messages=QUESTION, stream=True)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert chunks[-1].ddtree["decode_rounds"] == whole.ddtree["decode_rounds"]
    assert all(chunk.usage is None for chunk in chunks)

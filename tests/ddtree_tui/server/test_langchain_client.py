"""LangChain's client for OpenAI's interface, another one that nobody here wrote."""

from __future__ import annotations

import openai
import pytest

langchain_openai = pytest.importorskip("langchain_openai")

QUESTION = "What is 12 + 30?"


@pytest.fixture(scope="module")
def model(server):
    def build(**fields):
        return langchain_openai.ChatOpenAI(
            base_url=server.url + "/v1", api_key="none", model="demo", max_retries=0, **fields
        )

    return build


def test_chat(model):
    message = model().invoke([("system", "You are terse."), ("human", QUESTION)])
    assert "42" in message.content
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.usage_metadata["total_tokens"] > message.usage_metadata["output_tokens"] > 0


def test_stream(model):
    chunks = [*model(stream_usage=True).stream(QUESTION)]
    whole = sum(chunks[1:], chunks[0])
    assert whole.content == model().invoke(QUESTION).content
    assert whole.usage_metadata["input_tokens"] > 0


def test_stop_and_seed(model):
    whole = model().invoke(QUESTION).content
    assert model().invoke(QUESTION, stop=["42"]).content == whole[: whole.index("42")]
    sampling = model(temperature=1.0, seed=5, max_tokens=10)
    assert sampling.invoke("Tell me a story.").content == sampling.invoke("Tell me a story.").content


def test_logprobs(model):
    message = model(logprobs=True, top_logprobs=2).invoke(QUESTION)
    told = message.response_metadata["logprobs"]["content"]
    assert "".join(each["token"] for each in told) == message.content
    assert all(len(each["top_logprobs"]) == 2 for each in told)


def test_thinking(model):
    on, off = (model(extra_body={"chat_template_kwargs": {"enable_thinking": on}}) for on in ("yes", "false"))
    thought = on.invoke(QUESTION).usage_metadata["output_token_details"]["reasoning"]
    assert thought > 10
    assert off.invoke(QUESTION).usage_metadata["output_token_details"]["reasoning"] == 0


def test_errors(model):
    with pytest.raises(openai.BadRequestError, match="presence_penalty"):
        model(presence_penalty=1.0).invoke(QUESTION)
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        model().invoke(QUESTION, model="other")

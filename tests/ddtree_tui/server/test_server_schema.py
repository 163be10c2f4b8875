"""Requests made up from the server's own OpenAPI schema: no 5xx, and every answer as it says."""

from __future__ import annotations

import json
import os
import warnings

import pytest
from hypothesis import HealthCheck, given, settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    schemathesis = pytest.importorskip("schemathesis")

from ddtree_tui.server.responses import ChatChunk, TextAnswer

EXAMPLES = int(os.environ.get("DDTREE_SCHEMA_EXAMPLES", "12"))
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True
)
ENDLESS = "/v1/ddtree/events"
OPERATIONS = (
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/completions"),
    ("GET", "/health"),
    ("GET", "/metrics"),
    ("GET", "/v1/ddtree/requests"),
    ("GET", "/v1/ddtree/requests/{request}/events"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{name}"),
)


@pytest.fixture(scope="module")
def schema(server):
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_as_described(schema, method, path):
    statuses = set()

    @given(case=schema[path][method].as_strategy())
    @SETTINGS
    def run(case):
        if isinstance(case.body, dict):
            case.body |= {"model": "demo", "max_tokens": 4, "max_completion_tokens": None}
            if path == "/v1/completions":
                del case.body["max_completion_tokens"]
        # The schema cannot say what fits the context, or which fields go together.
        answer = case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])
        statuses.add(answer.status_code)

    run()
    assert 200 in statuses or "{" in path


@pytest.mark.parametrize(("method", "path"), OPERATIONS[:2])
def test_what_is_not_as_described_is_refused(schema, method, path):
    @given(case=schema[path][method].as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    @SETTINGS
    def run(case):
        case.call_and_validate()

    run()


def test_chunks_are_as_described(server):
    body = {"model": "demo", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 4}
    messages = {"messages": [{"role": "user", "content": "hello"}], "logprobs": True, "ddtree_trace": True}
    chunks = [*server.stream("/v1/chat/completions", body | messages)]
    assert chunks.pop() == "[DONE]"
    for chunk in chunks:
        ChatChunk.model_validate(chunk)
    chunks = [*server.stream("/v1/completions", body | {"prompt": "hello", "logprobs": 1})]
    assert chunks.pop() == "[DONE]"
    for chunk in chunks:
        TextAnswer.model_validate(chunk)


def test_the_schema_names_everything(server):
    described = json.loads(server.get("/openapi.json")[1])
    assert {*described["paths"]} == {path for _, path in OPERATIONS} | {ENDLESS}
    fields = described["components"]["schemas"]["ChatRequest"]["properties"]
    assert {"tree_budget", "mode", "top_k", "min_p", "enable_thinking", "ddtree_trace"} <= {*fields}

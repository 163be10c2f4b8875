"""Errors of a server are for whoever writes requests, not for who sits in front of the app."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ddtree_tui.server.chat_request import ChatRequest
from ddtree_tui.server.errors import _invalid, of_engine
from engine.errors import EngineError


@pytest.mark.parametrize("kind", ["bad_text", "empty_prompt", "prompt_too_long"])
def test_hints_are_the_server_s_own(kind: str) -> None:
    told = of_engine(EngineError(kind, "It is wrong.", "Use --prompt-file or type a question."))
    assert told.message.startswith("It is wrong. ")
    assert "--prompt-file" not in told.message
    assert told.status == 400


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({}, "The parameter 'messages[0]' has no 'role'."),
        (
            {"role": "tool?", "content": "x"},
            "The parameter 'messages[0]' has an unknown role; there are system,",
        ),
    ],
)
def test_a_message_of_nobody(message: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError) as found:
        ChatRequest.model_validate({"model": "demo", "messages": [message]})
    errors = [{**error, "loc": ("body", *error["loc"])} for error in found.value.errors()]
    assert _invalid(errors).message.startswith(said)

"""The same prompt, settings and seed give the same ids through the server, without the app and in the app."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from playing import ask, playing

from engine.commands import Generate
from engine.event_lines import decode_event
from engine.events import Finished, Prefilled
from engine.settings import DecodeSettings

PROMPT = "Tell me a story about a fox and a lantern."
SAMPLING = {"temperature": 0.8, "top_p": 0.9, "seed": 7}
TOKENS = 40


@pytest.fixture(scope="module")
def served(server) -> tuple[Prefilled, Finished]:
    """The beginning and the end of the answer, which is the same streamed and whole."""
    fields = SAMPLING | {"max_tokens": TOKENS, "ddtree_trace": True}
    status, answer = server.chat(PROMPT, **fields)
    assert status == 200
    events = [decode_event(json.dumps(event)) for event in answer["ddtree"]["trace"]]
    finished = events[-1]
    assert len(finished.output_ids) == TOKENS
    assert answer["choices"][0]["message"]["content"] == finished.text
    body = {"model": "demo", "messages": [{"role": "user", "content": PROMPT}], "stream": True} | fields
    chunks = [*server.stream("/v1/chat/completions", body)][:-1]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == finished.text
    streamed = [event for chunk in chunks for event in chunk.get("ddtree_events") or []][-1]
    assert streamed["output_ids"] == finished.output_ids
    return next(event for event in events if isinstance(event, Prefilled)), finished


@pytest.mark.slow
def test_without_the_app(served):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SAMPLING.items()]
    command = [sys.executable, "-m", "ddtree_tui", "generate", PROMPT, "--json", *options]
    done = subprocess.run([*command, "--max-new-tokens", str(TOKENS)], capture_output=True, timeout=240)
    finished = decode_event(done.stdout.splitlines()[-1])
    assert isinstance(finished, Finished)
    assert (finished.output_ids, finished.text) == (served[1].output_ids, served[1].text)


async def test_in_the_app(served):
    """It asks the engine for the same, word for word; what comes of it depends on nothing else."""
    async with playing(settings=DecodeSettings(**SAMPLING, max_new_tokens=TOKENS)) as play:
        await ask(play, PROMPT)
        (asked,) = play.engine.sent_of(Generate)
    assert (asked.messages, asked.settings) == (served[0].messages, served[0].settings)
    assert not asked.plain

"""The same prompt, settings and seed give the same ids through the server, without the app and in the app."""

from __future__ import annotations

import subprocess
import sys

import pytest
from playing import playing

from ddtree_tui.engine_link import EngineLink
from ddtree_tui.run import Phase
from engine.events import Finished, decode_event
from engine.settings import DecodeSettings, LoadSettings

PROMPT = "Tell me a story about a fox and a lantern."
SAMPLING = {"temperature": 0.8, "top_p": 0.9, "seed": 7}
TOKENS = 40


@pytest.fixture(scope="module")
def served(server) -> tuple[list[int], str]:
    """Ids and text."""
    fields = SAMPLING | {"max_tokens": TOKENS, "ddtree_trace": True}
    status, answer = server.chat(PROMPT, **fields)
    assert status == 200
    finished = answer["ddtree"]["trace"][-1]
    text = answer["choices"][0]["message"]["content"]
    body = {"model": "demo", "messages": [{"role": "user", "content": PROMPT}], "stream": True} | fields
    chunks = [*server.stream("/v1/chat/completions", body)][:-1]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == text
    streamed = [event for chunk in chunks for event in chunk.get("ddtree_events") or []][-1]
    assert streamed["output_ids"] == finished["output_ids"]
    assert len(finished["output_ids"]) == TOKENS
    return finished["output_ids"], text


@pytest.mark.slow
def test_without_the_app(served):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SAMPLING.items()]
    command = [sys.executable, "-m", "ddtree_tui", "generate", PROMPT, "--json", *options]
    done = subprocess.run(
        [*command, "--max-new-tokens", str(TOKENS), "--mode", "ar"], capture_output=True, timeout=120
    )
    finished = decode_event(done.stdout.splitlines()[-1])
    assert isinstance(finished, Finished)
    assert (finished.output_ids, finished.text) == served


@pytest.mark.slow
async def test_in_the_app(served, tmp_path):
    settings = DecodeSettings(**SAMPLING, max_new_tokens=TOKENS)
    async with playing(engine=EngineLink(LoadSettings(), tmp_path / "log"), settings=settings) as play:
        await play.until(lambda: play.controller.session.phase is not Phase.LOADING, 120)
        await play.type(PROMPT)
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 0 and not play.controller.busy, 120)
        finished = play.controller.session.answers[0].finished
    assert (finished.output_ids, finished.text) == served

"""The command that makes a run again is read back as what the run was."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_recording import Recording, loaded

from ddtree_tui import cli
from ddtree_tui.command_line import continues_a_conversation, reproducing_command
from ddtree_tui.options import GenerateOptions
from engine.errors import EngineError
from engine.events import Prefilled
from engine.settings import DecodeSettings, LoadSettings, Message

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda text: text.strip() and text != "-"
)


def prefilled(settings: DecodeSettings, messages: list[Message]) -> Prefilled:
    event = next(iter(Recording(0).answer("x", settings=settings, rounds=1)))
    assert isinstance(event, Prefilled)
    return msgspec.structs.replace(event, settings=settings, messages=messages)


def parsed(command: str) -> GenerateOptions:
    program, *arguments = shlex.split(command)
    assert program == "ddtree-tui"
    options = cli.parse(arguments)
    assert isinstance(options, GenerateOptions)
    return options


@given(
    st.builds(
        DecodeSettings,
        mode=st.sampled_from(["ar", "chain", "tree"]),
        budget=st.integers(1, 1024),
        auto_budget=st.booleans(),
        verify=st.sampled_from(["solve", "sequential", "naive"]),
        block_size=st.none() | st.integers(2, 16),
        thinking=st.booleans(),
        temperature=st.just(0.0) | st.floats(0.01, 5),
        top_p=st.floats(0.01, 1),
        top_k=st.integers(0, 1000),
        min_p=st.floats(0, 0.99),
        seed=st.integers(0, 2**63 - 1),
        max_new_tokens=st.integers(1, 10**6),
        stop=st.lists(TEXT, max_size=2).map(tuple),
        detail=st.booleans(),
    ),
    st.builds(
        LoadSettings,
        model=TEXT,
        drafter=st.none() | TEXT,
        device=st.sampled_from(["auto", "cpu", "cuda:1"]),
        dtype=st.sampled_from(["auto", "float32"]),
        context=st.none() | st.integers(1, 10**6),
        device_map=st.none() | st.just("auto"),
    ),
    TEXT,
    st.none() | TEXT,
)
def test_what_was_run_is_what_the_command_says(
    settings: DecodeSettings, load: LoadSettings, prompt: str, system: str | None
) -> None:
    messages: list[Message] = [{"role": "user", "content": prompt}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    options = parsed(reproducing_command(prefilled(settings, messages), loaded(), load))
    assert options.decode == settings
    assert options.load == load
    assert options.messages == messages


def test_from_a_recording_the_pair_is_the_one_it_reports() -> None:
    event = prefilled(DecodeSettings(budget=8), [{"role": "user", "content": "What is 12 + 30?"}])
    command = reproducing_command(event, loaded(), None)
    assert command == ("ddtree-tui generate --device=cpu --dtype=float32 --budget=8 -- 'What is 12 + 30?'")
    assert not continues_a_conversation(event)
    pair = loaded()
    folder = msgspec.structs.replace(pair.target, name="target", path="/models/target")
    drafter = msgspec.structs.replace(pair.drafter, name="some/drafter", path="/cache/drafter")  # type: ignore[type-var]
    load = parsed(
        reproducing_command(event, msgspec.structs.replace(pair, target=folder, drafter=drafter), None)
    ).load
    assert (load.model, load.drafter) == ("/models/target", "some/drafter")


def test_how_a_recorded_pair_was_placed_is_asked_for_again() -> None:
    event = prefilled(DecodeSettings(), [{"role": "user", "content": "a"}])

    def load(**changes: object) -> LoadSettings:
        return parsed(reproducing_command(event, msgspec.structs.replace(loaded(), **changes), None)).load

    assert load(device="cuda:1 (NVIDIA H200)").device == "cuda:1"
    spread = load(device="cuda:0 (NVIDIA H200)", layers_on={"cuda:0": 2, "cuda:1": 2})
    assert (spread.device, spread.device_map) == ("auto", "auto")
    divided = load(device="2 x cuda:0 (NVIDIA H200)", processes=2)
    assert (divided.device, divided.tp) == ("auto", 2)
    for name, option in (("int8", "int8"), ("gptq", None)):
        assert load(target=msgspec.structs.replace(loaded().target, quantization=name)).quantize == option


def test_a_later_turn_takes_the_turns_before_from_a_file(tmp_path: Path) -> None:
    messages: list[Message] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    event = prefilled(DecodeSettings(), messages)
    assert continues_a_conversation(event)
    file = tmp_path / "a conversation.json"
    file.write_text(json.dumps(messages), encoding="utf-8")
    options = parsed(reproducing_command(event, None, LoadSettings(), file))
    assert options.messages == messages


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "holds no conversation"),
        ('[{"role": "user", "content": "a", "b": ' + "[" * 100_000, "holds no conversation"),
        ('[{"role": "nobody", "content": "x"}]', "holds no conversation"),
        ("[]", "does not end with something the user says"),
        ('[{"role": "assistant", "content": "x"}]', "does not end with something the user says"),
        ('[{"role": "user", "content": " "}]', "does not end with something the user says"),
    ],
)
def test_what_is_no_conversation_is_refused(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text(content)
    with pytest.raises(EngineError, match=words):
        cli.parse(["generate", f"--messages={file}"])


def test_a_conversation_has_no_prompt_beside_it(tmp_path: Path) -> None:
    for more in ("hello", "--system=x"):
        with pytest.raises(EngineError, match="two prompts"):
            cli.parse(["generate", f"--messages={tmp_path / 'x'}", more])

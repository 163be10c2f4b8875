"""A GGUF becomes a model folder: the same model, complete or not there at all."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.codec import Codec
from engine.errors import EngineError
from engine.load import load_pair
from engine.smollm2 import convert as convert_module
from engine.smollm2.convert import converted_target

FILES = {
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
}
PROCESS = """
import sys, time
from pathlib import Path
from engine.smollm2 import convert

gguf, cache, stop = sys.argv[1:]
if stop == "stop":
    def write(model, folder, real=convert._write_weights):
        real(model, folder)
        print("written", flush=True)
        time.sleep(300)
    convert._write_weights = write
import torch, transformers  # so that two processes begin together
print("ready", flush=True)
sys.stdin.readline()
print(convert.converted_target(Path(gguf), Path(cache), lambda stage: print(stage, flush=True)), flush=True)
"""


@contextlib.contextmanager
def process(gguf: Path, cache: Path, stop: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process of its own that converts when it is told to; dead afterwards."""
    command = [sys.executable, "-c", PROCESS, str(gguf), str(cache), stop]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def begin(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def no_report(stage: str) -> None:
    raise AssertionError(stage)


def test_the_folder_is_the_model_of_the_file(tiny_gguf: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    stages: list[str] = []
    folder = converted_target(tiny_gguf, tmp_path, stages.append)
    assert stages == ["Converting tiny.gguf (once)"]
    assert {path.name for path in folder.iterdir()} == FILES
    assert converted_target(tiny_gguf, tmp_path, no_report) == folder

    read = AutoModelForCausalLM.from_pretrained(
        str(tiny_gguf.parent), gguf_file=tiny_gguf.name, dtype=torch.float32
    )
    pair = load_pair(str(folder), device="cpu")
    theirs = read.state_dict()
    for name, weight in pair.target.model.state_dict().items():
        assert torch.equal(weight, theirs[name].bfloat16().float()), name
    config = json.loads((folder / "config.json").read_text())
    assert (config["rms_norm_eps"], config["eos_token_id"]) == (1e-5, 2)
    assert pair.codec.stop_ids == {2}


def test_digits_stand_alone_even_where_a_merge_joins_them(tiny_gguf: Path, tmp_path: Path) -> None:
    folder = converted_target(tiny_gguf, tmp_path, lambda stage: None)
    assert "12" in json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    codec = Codec.from_folder(folder)
    prompt = codec.encode_chat([{"role": "user", "content": "hello 1212"}], False)
    spelled = [codec.decode_bytes([token_id]).decode() for token_id in prompt.ids]
    assert "hello" in spelled
    assert spelled.count("1") == spelled.count("2") == 2
    assert "12" not in spelled


def test_of_two_processes_that_want_it_one_converts(tiny_gguf: Path, tmp_path: Path) -> None:
    with process(tiny_gguf, tmp_path) as first, process(tiny_gguf, tmp_path) as second:
        both = (first, second)
        assert [line(child) for child in both] == ["ready", "ready"]
        for child in both:
            begin(child)
        said = [child.communicate(timeout=240)[0].splitlines() for child in both]
        assert [child.returncode for child in both] == [0, 0]
    assert sorted(map(len, said)) == [1, 2]
    assert said[0][-1] == said[1][-1]
    assert {path.name for path in Path(said[0][-1]).iterdir()} == FILES


def test_a_kill_leaves_nothing_half_made(tiny_gguf: Path, tmp_path: Path) -> None:
    with process(tiny_gguf, tmp_path, "stop") as child:
        assert line(child) == "ready"
        begin(child)
        assert line(child).startswith("Converting")
        assert line(child) == "written"
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait(timeout=60) == -signal.SIGKILL
    (place,) = tmp_path.iterdir()
    assert {path.name for path in place.iterdir()} == {"lock", "SmolLM2-135M-Instruct.part"}
    folder = converted_target(tiny_gguf, tmp_path, lambda stage: None)
    assert {path.name for path in folder.iterdir()} == FILES
    assert {path.name for path in place.iterdir()} == {"lock", folder.name}


def test_what_fails_leaves_nothing_either(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: object, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"beginning")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(convert_module, "_write_weights", full)
    with pytest.raises(EngineError) as caught:
        converted_target(tiny_gguf, tmp_path, lambda stage: None)
    assert caught.value.kind == "cache_unwritable"
    assert "No space left on device" in caught.value.message
    (place,) = tmp_path.iterdir()
    assert [path.name for path in place.iterdir()] == ["lock"]


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no model at all" * 100])
def test_what_is_no_gguf(content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "some.gguf").write_bytes(content)
    with pytest.raises(EngineError) as caught:
        converted_target(tmp_path / "some.gguf", tmp_path / "cache", lambda stage: None)
    assert caught.value.kind == "gguf_unreadable"


@pytest.mark.parametrize("package", ["gguf", "accelerate"])
def test_says_which_packages_are_missing(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    if package == "gguf":
        monkeypatch.setitem(sys.modules, package, None)
    else:
        monkeypatch.setattr("transformers.modeling_utils.is_accelerate_available", lambda: False)
    with pytest.raises(EngineError) as caught:
        converted_target(tiny_gguf, tmp_path, lambda stage: None)
    assert caught.value.kind == "gguf_packages"
    assert "ddtree-tui[smollm2]" in caught.value.hint

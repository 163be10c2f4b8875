from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import COMMIT, Hub, serve

from engine.errors import EngineError
from engine.hub import fetch_weights, locate
from engine.load import load_pair


@pytest.fixture
def hub(tiny_pair_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the tiny pair, and an empty cache."""
    from huggingface_hub import constants

    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "target"))
    (folder / "modeling_evil.py").write_text("raise SystemExit")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "second.safetensors").write_bytes(b"a duplicate in another format")
    repositories: dict[str, Path | str] = {
        "someone/target": folder,
        "someone/drafter": tiny_pair_folder / "drafter",
        "someone/gated": "GatedRepo",
    }
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serve(repositories) as served:
        point_at(served.url, monkeypatch)
        yield served


def point_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def silent(_: str) -> None:
    pass


def test_a_folder_is_used_where_it_lies(tiny_pair_folder: Path) -> None:
    source = locate(str(tiny_pair_folder / "target"), report=silent)
    assert (source.folder, source.name, source.hub_id) == (tiny_pair_folder / "target", "target", None)


def test_a_hub_model_comes_in_two_steps(hub: Hub) -> None:
    source = locate("someone/target", report=silent)
    assert (source.name, source.hub_id, source.revision) == ("someone/target", "someone/target", COMMIT)
    assert "config.json" in hub.fetched
    assert "tokenizer.json" in hub.fetched
    assert "chat_template.jinja" in hub.fetched
    assert not [name for name in hub.fetched if name.endswith((".safetensors", ".bin", ".py"))]
    fetch_weights(source, ("model.safetensors",), silent)
    assert (source.folder / "model.safetensors").is_file()
    # Neither code, nor pickles, nor weights that are not asked for.
    assert not [name for name in hub.fetched if name.endswith((".bin", ".py"))]
    assert "second.safetensors" not in hub.fetched


def test_what_is_there_is_not_fetched_again(hub: Hub) -> None:
    for _ in range(2):
        source = locate("someone/target", report=silent)
        fetch_weights(source, ("model.safetensors",), silent)
    assert len(hub.fetched) == len(set(hub.fetched))


def test_the_cache_serves_without_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    source = locate("someone/target", report=silent)
    fetch_weights(source, ("model.safetensors",), silent)
    point_at("http://127.0.0.1:9", monkeypatch)
    again = locate("someone/target", report=silent)
    fetch_weights(again, ("model.safetensors",), silent)
    assert again == source


def test_downloads_say_how_far_they_are(hub: Hub, tiny_pair_folder: Path, tmp_path: Path) -> None:
    big = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "big"))
    (big / "model.safetensors").write_bytes(bytes(30_000_000))
    hub.repositories["someone/big"] = big
    said: list[str] = []
    source = locate("someone/big", report=said.append)
    fetch_weights(source, ("model.safetensors",), said.append)
    assert said[0] == "Downloading someone/big"
    assert any(line.endswith("of 0.03 GB)") for line in said)


NAMES = ["someone/missing", "no-such-preset", "./no/such", "a b/c", "", "~nobody/x", "x" * 5000, "a\0b/c"]


@pytest.mark.parametrize("name", NAMES)
def test_no_such_model(hub: Hub, name: str) -> None:
    with pytest.raises(EngineError) as refused:
        locate(name, report=silent)
    assert refused.value.kind == "model_not_found"
    assert "demo" in refused.value.hint


def test_a_file_is_no_model(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "weights.safetensors").touch()
    with pytest.raises(EngineError) as refused:
        locate(str(tmp_path / "weights.safetensors"), report=silent)
    assert refused.value.kind == "model_not_found"


def test_a_gated_model(hub: Hub) -> None:
    with pytest.raises(EngineError) as refused:
        locate("someone/gated", report=silent)
    assert refused.value.kind == "model_gated"
    assert "https://huggingface.co/someone/gated" in refused.value.hint


def test_no_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    point_at("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(EngineError) as refused:
        locate("someone/target", report=silent)
    assert refused.value.kind == "hub_unreachable"


def test_offline_by_setting(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EngineError) as refused:
        locate("someone/target", report=silent)
    assert refused.value.kind == "hub_unreachable"
    assert hub.fetched == []


def test_a_cache_that_cannot_be_written(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("huggingface_hub.file_download._download_to_tmp_and_move", full)
    with pytest.raises(EngineError) as refused:
        locate("someone/target", report=silent)
    assert refused.value.kind == "cache_unwritable"
    assert os.strerror(errno.ENOSPC) in refused.value.message


def test_a_pair_from_the_hub(hub: Hub) -> None:
    pair = load_pair("someone/target", "someone/drafter", device="cpu")
    assert (pair.info.target.name, pair.info.target.revision) == ("someone/target", COMMIT)
    assert pair.info.drafter is not None
    assert pair.info.drafter.revision == COMMIT


def test_weights_of_a_pair_that_does_not_fit_are_never_fetched(
    hub: Hub, tiny_pair_folder: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(tiny_pair_folder / "drafter", tmp_path / "other"))
    config = (other / "config.json").read_text()
    (other / "config.json").write_text(config.replace('"vocab_size": 512', '"vocab_size": 600'))
    hub.repositories["someone/other"] = other
    with pytest.raises(EngineError) as refused:
        load_pair("someone/target", "someone/other", device="cpu")
    assert refused.value.kind == "drafter_mismatch"
    assert not [name for name in hub.fetched if name.endswith(".safetensors")]

"""Folders with checkpoints, and where the developer's real data lies."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_folders import write_drafter, write_json, write_target


@pytest.fixture(scope="session")
def tiny_pair_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3.5 pair in ``target`` and ``drafter``; read it, do not write into it."""
    folder = tmp_path_factory.mktemp("tiny_pair")
    write_target(folder / "target")
    write_drafter(folder / "drafter")
    return folder


@pytest.fixture
def broken_pair_folder(tiny_pair_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny pair to break."""
    return Path(shutil.copytree(tiny_pair_folder, tmp_path / "pair"))


@pytest.fixture(scope="session")
def edit_json() -> Callable[..., None]:
    """``edit_json(path, key=value, ...)`` replaces keys of a JSON file; a value ``...`` deletes the key."""

    def edit(path: Path, **changes: Any) -> None:
        value = json.loads(path.read_text(encoding="utf-8")) | changes
        write_json(path, {key: item for key, item in value.items() if item is not ...})

    return edit


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real tokenizers and templates, where the developer has them."""
    folder = os.environ.get("DDTREE_SHARED")
    place = Path(folder) if folder else Path(__file__).resolve().parents[3] / "shared"
    if not (place / "data").is_dir():
        pytest.skip("no shared data (set DDTREE_SHARED)")
    return place / "data"


@pytest.fixture(scope="session")
def demo_pair() -> Any:
    """The demo pair on the CPU; whoever decodes resets its session first."""
    from engine.load import load_pair

    return load_pair("demo", device="cpu")

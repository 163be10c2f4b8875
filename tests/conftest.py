"""What holds for the whole suite."""

import importlib
import importlib.util
import os
import tempfile

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported; see ddtree_tui.engine_process
for name in [name for name in os.environ if name.startswith("DDTREE_TUI_")]:
    del os.environ[name]
for folder in ("CONFIG", "STATE", "CACHE"):  # nobody's own configuration, logs or recordings
    os.environ[f"XDG_{folder}_HOME"] = f"{tempfile.gettempdir()}/ddtree-tui-tests/{folder.lower()}"
if importlib.util.find_spec("torch"):  # the app's own tests run without
    importlib.import_module("engine.cpu")  # before any test imports transformers' models


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``gpu`` where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))

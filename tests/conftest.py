"""What holds for the whole suite."""

import gc
import importlib
import importlib.util
import os
import tempfile

import pytest

gc.set_threshold(50_000, 20, 20)
if "PYTEST_XDIST_WORKER" in os.environ:  # the others have the other processors
    os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported; see ddtree_tui.engine_process
for name in [name for name in os.environ if name.startswith("DDTREE_TUI_")]:
    del os.environ[name]
for folder in ("CONFIG", "STATE", "CACHE"):  # nobody's own configuration, logs or recordings
    os.environ[f"XDG_{folder}_HOME"] = f"{tempfile.gettempdir()}/ddtree-tui-tests/{folder.lower()}"
if importlib.util.find_spec("torch"):  # the app's own tests run without
    importlib.import_module("engine.cpu")  # before any test imports transformers' models
if importlib.util.find_spec("hypothesis"):
    from hypothesis import settings

    # The same examples in every run, and no limits of time: others may have the machine. New examples are
    # tried with --hypothesis-profile default.
    settings.load_profile("ci")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests of the app and of processes also wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``gpu`` where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def pytest_collection_finish() -> None:
    """What is there by now stays: all modules, torch among them, and all tests. Looking through them for
    garbage again and again was half of what tests of the app took."""
    gc.freeze()


@pytest.hookimpl(trylast=True)  # behind the end of the file's fixtures
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A file's models lie in cycles: away with them before the next file's are loaded."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()

"""Files of ``torch.save``, written by torch itself and read without it."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import OUTPUT, PROMPT, benchmark, read_or_refused

from ddtree_tui.importers.known_names import Tensor
from ddtree_tui.importers.pickle_data import read_pickle
from ddtree_tui.importers.reference import read_reference
from ddtree_tui.importers.torch_file import is_old_file, is_zip, read_old_file, read_zip
from engine.errors import EngineError

torch = pytest.importorskip("torch")


def tensors() -> dict[str, Any]:
    base = torch.arange(24)
    return {
        "plain": base,
        "view": base[4:16].reshape(3, 4).t(),
        "expanded": torch.tensor([7]).expand(2, 3),
        "scalar": torch.tensor(3),
        "empty": torch.zeros(0),
        "half": torch.tensor([0.5, -2.0], dtype=torch.bfloat16),
        "float16": torch.tensor([0.5, -2.0], dtype=torch.float16),
        "flags": torch.tensor([True, False]),
        "dtype": torch.bfloat16,
        "size": base.shape,
        "device": torch.device("cpu"),
    }


def saved(value: Any, *, old: bool = False) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=not old)
    return file.getvalue()


def read_saved(data: bytes) -> Any:
    return read_zip(data) if is_zip(data) else read_old_file(data)


@pytest.mark.parametrize("way", ["zip", "old", "pickle"])
def test_tensors_come_out_as_numbers(way: str) -> None:
    value = tensors()
    if way == "pickle":
        found = read_pickle(pickle.dumps(value, 4))
    else:
        data = saved(value, old=way == "old")
        assert is_zip(data) != is_old_file(data)
        found = read_saved(data)
    for name, tensor in value.items():
        if isinstance(tensor, torch.Tensor):
            assert found[name] == Tensor(tuple(tensor.shape), tensor.flatten().tolist()), name
    assert (found["dtype"], found["size"], found["device"]) == ("torch.bfloat16", (24,), "cpu")


def test_a_benchmark_is_read_as_its_trees() -> None:
    run = benchmark()
    for entry in run["responses"][0].values():
        entry.output_ids = torch.tensor([[*PROMPT, *OUTPUT]])
    for old in (False, True):
        imported = read_reference(read_saved(saved(run, old=old)))
        assert [len(answer.rounds) for answer in imported.answers] == [4, 2, 2]


@pytest.mark.parametrize("old", [False, True])
def test_every_truncation_of_a_file_is_refused(old: bool) -> None:
    data = saved({"round_trees": [], "output_ids": torch.arange(3)}, old=old)
    for length in range(1, len(data), 7):
        with pytest.raises(EngineError):
            read_saved(data[:length])


ZIP = saved({"ids": torch.arange(40), "n": SimpleNamespace(a=torch.ones(3))})
OLD = saved({"ids": torch.arange(40), "n": SimpleNamespace(a=torch.ones(3))}, old=True)


@given(st.booleans(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_read_or_refused(old: bool, changes: list[tuple[int, int]]) -> None:
    data = bytearray(OLD if old else ZIP)
    for place, byte in changes:
        data[place % len(data)] = byte
    with read_or_refused():
        read_saved(bytes(data)) if is_zip(data) or is_old_file(bytes(data)) else read_pickle(bytes(data))


def repacked(name: str, change: bytes, **options: Any) -> bytes:
    """The zip with one of its parts replaced."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(ZIP)) as before, zipfile.ZipFile(file, "w", **options) as after:
        for info in before.infolist():
            data = before.read(info)
            after.writestr(info.filename, change if info.filename.endswith(name) else data)
    return file.getvalue()


def test_a_tensor_without_all_of_its_bytes_is_refused() -> None:
    with pytest.raises(EngineError, match="cannot be read"):
        read_zip(repacked("/data/0", b"\0" * 8))


def test_a_compressed_zip_is_not_unpacked() -> None:
    bomb = repacked("/data/0", b"\0" * 10**7, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**5
    with pytest.raises(EngineError, match="something else than torch"):
        read_zip(bomb)


def test_a_zip_of_something_else_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    with pytest.raises(EngineError, match=r"no data\.pkl"):
        read_zip(file.getvalue())


def test_files_inside_files_are_not_followed() -> None:
    inner = pickle.dumps(torch.arange(3), 2)
    assert read_pickle(inner).values == [0, 1, 2]
    call = b"ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(OLD)) + OLD + b"\x85R."
    with pytest.raises(EngineError):
        read_pickle(b"\x80\x03" + call)  # holds no tensor's bytes but a run
    nested = OLD.replace(b"\x80\x02}", b"\x80\x03" + call[:-1] + b"0}", 1)
    with pytest.raises(EngineError):
        read_old_file(nested)

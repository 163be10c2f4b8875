"""The data in pickles, and that nothing else in them ever comes to anything."""

from __future__ import annotations

import argparse
import collections
import copyreg
import io
import os
import pickle
import pickletools
import struct
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import benchmark, read_or_refused

from ddtree_tui.importers import known_names, pickle_data
from ddtree_tui.importers.known_names import NumpyArray
from ddtree_tui.importers.pickle_data import read_pickle
from ddtree_tui.importers.read import read_import
from ddtree_tui.importers.reference import read_reference
from engine.errors import EngineError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=5)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=8) | st.integers(-(2**31), 2**31), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@given(PLAIN, st.integers(2, 5))
@settings(max_examples=80, deadline=None)
def test_plain_data_comes_out_as_it_went_in(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [0, 1])
def test_old_protocols_hold_plain_data_too(protocol: int) -> None:
    value = {"a": [1, 2.5, "ü\n", None, True, -(2**40)], "b": (1, (2, 3)), 7: "x"}
    assert read_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(2, 6))
def test_known_objects_come_out_as_data(protocol: int) -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    shared = [1, 2]
    value = {
        "namespace": types.SimpleNamespace(a=1, b=types.SimpleNamespace(c=[2])),
        "args": argparse.Namespace(model="m"),
        "ordered": collections.OrderedDict(x=1, y=2),
        "rows": array,
        "columns": np.asfortranarray(array),
        "big": np.array([1, 258], dtype=">i2"),
        "float": np.float64(2.5),
        "int": np.int64(7),
        "bytes": bytearray(b"ab"),
        "shared": [shared, shared],
    }
    found = read_pickle(pickle.dumps(value, protocol))
    assert found["namespace"] == {"a": 1, "b": {"c": [2]}}
    assert found["args"] == {"model": "m"}
    assert found["ordered"] == {"x": 1, "y": 2}
    for name in ("rows", "columns"):
        assert found[name] == NumpyArray((2, 3), [0, 1, 2, 3, 4, 5])
    assert found["big"].values == [1, 258]
    assert (found["float"], found["int"], found["bytes"]) == (2.5, 7, b"ab")
    assert found["shared"] == [[1, 2], [1, 2]]


class Reduces:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


class SetsState:
    """Pickles as an object with a state, which ``__setstate__`` would get."""

    def __init__(self) -> None:
        self.harmless = 1

    def __setstate__(self, state: Any) -> None:
        raise AssertionError("a state was set")


def stack_global(module: str, name: str, arguments: bytes = b"\x85") -> bytes:
    """A call by STACK_GLOBAL, the name put together on the stack."""
    text = b"\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode()
    return b"\x80\x04" + text + b"\x93\x8c\x06canary" + arguments + b"R."


def hostile_pickles(canary: Path) -> dict[str, bytes]:
    """What would make the file ``canary``, or break the reader, each in a way of its own."""
    touch = f"touch {canary}"
    write = f"open({str(canary)!r}, 'w')"
    found = {
        f"{function.__module__}.{function.__name__} at protocol {protocol}": pickle.dumps(
            Reduces(function, argument), protocol
        )
        for protocol in (0, 2, 4, 5)
        for function, argument in ((os.system, touch), (eval, write), (exec, write))
    }
    copyreg.add_extension("os", "system", 0xF0)
    try:
        extension = pickle.dumps(Reduces(os.system, touch), 2)
    finally:
        copyreg.remove_extension("os", "system", 0xF0)
    quoted = touch.encode()
    return found | {
        "deep inside data": pickle.dumps({"responses": [{"round_trees": [Reduces(os.system, touch)]}]}),
        "path with a method": pickle.dumps(Reduces(os.mkdir, str(canary))),
        "getattr of a known name": pickle.dumps(Reduces(getattr, types.SimpleNamespace, "__init__")),
        "state": pickle.dumps(SetsState()),
        "state on a dict": b"\x80\x02}}b.",
        "state on a list": b"\x80\x02]K\x01b.",
        "dtype as a function of its own": b"\x80\x02cnumpy\ndtype\ncos\nsystem\n\x85R.",
        "known name with a path": b"\x80\x04\x8c\x05types\x8c\x18SimpleNamespace.__init__\x93.",
        "stack global": stack_global("os", "system"),
        "stack global of posix": stack_global("posix", "system"),
        "stack global of a list": b"\x80\x04]]\x93.",
        "stack global of numbers": b"\x80\x04K\x01K\x02\x93.",
        "global with spaces": b"cos system\nx\n.",
        "inst": b"(S'" + quoted + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'" + quoted + b"'\no.",
        "newobj": b"\x80\x02cos\nsystem\nX" + struct.pack("<I", len(quoted)) + quoted + b"\x85\x81.",
        "newobj ex": b"\x80\x04\x8c\x02os\x8c\x06system\x93)}\x92.",
        "newobj of a string": b"\x80\x02X\x01\x00\x00\x00a)\x81.",
        "reduce of a string": b"\x80\x02X\x01\x00\x00\x00a)R.",
        "extension": extension,
        "extension 2": b"\x80\x02\x83\xf0\x00.",
        "extension 4": b"\x80\x02\x84\xf0\x00\x00\x00.",
        "persistent id": b"Pmodule\n.",
        "binary persistent id": b"\x80\x02X\x01\x00\x00\x00aQ.",
        "out-of-band buffer": b"\x80\x05\x97.",
        "set": pickle.dumps({1, 2}),
        "tuple as key": pickle.dumps({(1, 2): 3}),
        "import by torch": pickle.dumps(Reduces(__import__, "antigravity")),
    }


def test_nothing_in_a_hostile_pickle_is_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name, data in hostile_pickles(canary).items():
        path = tmp_path / "hostile.pkl"
        path.write_bytes(data)
        with pytest.raises(EngineError) as caught:
            read_import(path)
        assert caught.value.kind == "import", name
        assert caught.value.message.count(".") >= 1, name
        assert len(caught.value.message) < 300 + len(str(path)), name
        assert not canary.exists(), name


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    for data, named in (
        (stack_global("os", "system"), "os.system"),
        (pickle.dumps(Reduces(eval, "1")), "builtins.eval"),
        (pickle.dumps(SetsState()), "SetsState"),
        (stack_global("o\x1bs", "sys[b]tem"), "o␛s.sys[b]tem"),
    ):
        with pytest.raises(EngineError) as caught:
            read_pickle(data)
        assert named in caught.value.message
        assert "nothing in it was run" in caught.value.hint


def test_a_zip_of_torch_is_as_careful(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name, data in hostile_pickles(canary).items():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("archive/data.pkl", data)
        path = tmp_path / "hostile.pt"
        path.write_bytes(packed.getvalue())
        with pytest.raises(EngineError):
            read_import(path)
        assert not canary.exists(), name


LONG = b"\x80\x02\x8b" + struct.pack("<i", 2**20) + b"\x7f" * 2**20 + b"."


@pytest.mark.parametrize(
    "data",
    [
        LONG,
        b"\x80\x02\x8b" + struct.pack("<i", -5) + b".",
        b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b".",
        b"I" + b"9" * 5000 + b"\n.",
        b"\x80\x04\x95" + struct.pack("<Q", 2**60) + b"K\x01.",
        b"\x80\x04\x95" + struct.pack("<Q", 1) + b"K\x01.",
        b"\x80\x04\x95" + struct.pack("<Q", 12) + b"\x95" + struct.pack("<Q", 1) + b"K\x01.",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"abc.",
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
        b"\x80\x02" + b"(" * 5000 + b".",
        b"\x80\x09K\x01.",
        b"\x80\x02K\x01K\x02.",
        b"\x80\x02K\x01",
        b"\x80\x02.",
        b"\x80\x02h\x07.",
        b"\x80\x02K\x01a.",
        b"\x80\x02(K\x01u.",
        b"\x80\x02}(K\x01u.",
        b"\x80\x02e.",
        b"\x80\x020.",
        b"\x80\x02\x85.",
        b"\xff",
        b"",
        b"   ",
    ],
    ids=lambda data: repr(data[:16]),
)
def test_a_broken_pickle_is_refused_in_a_sentence(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.pkl"
    path.write_bytes(data)
    with pytest.raises(EngineError) as caught:
        read_import(path, "reference")
    assert caught.value.kind == "import"
    assert caught.value.message.endswith(".")


def test_a_value_that_holds_itself_is_no_record() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(EngineError):
        list(read_reference(read_pickle(pickle.dumps(value))).answers)
    holds: dict[str, Any] = {}
    holds["responses"] = [holds]
    with pytest.raises(EngineError):
        list(read_reference(read_pickle(pickle.dumps(holds))).answers)


def test_bombs_are_refused_before_they_go_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_data, "MAX_STEPS", 1000)
    with pytest.raises(EngineError, match="instructions"):
        read_pickle(b"\x80\x02" + b"]" * 2000 + b".")
    monkeypatch.setattr(known_names, "MAX_ELEMENTS", 1000)
    array = np.zeros(600, dtype=np.int8)
    assert read_pickle(pickle.dumps(array)).shape == (600,)
    with pytest.raises(EngineError, match="numbers"):
        read_pickle(pickle.dumps([array, array.copy()]))
    # The same bytes asked for again and again by a call that is no more than a reference to them.
    call = (
        b"c_codecs\nencode\nq\x00X"
        + struct.pack("<I", 600)
        + b"a" * 600
        + b"q\x01X\x06\x00\x00\x00latin1q\x02"
    )
    again = b"h\x00h\x01h\x02\x86R"
    assert read_pickle(b"\x80\x02" + call + b"0" * 3 + again + b".") == b"a" * 600
    with pytest.raises(EngineError, match="numbers"):
        read_pickle(b"\x80\x02" + call + b"0" * 3 + again * 2 + b"\x86.")


def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_data, "MAX_SECONDS", -1.0)
    with pytest.raises(EngineError, match="seconds"):
        read_pickle(pickle.dumps(types.SimpleNamespace()))


WHOLE = pickle.dumps(benchmark(), 4)


def test_every_truncation_is_refused() -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(EngineError):
            list(read_reference(read_pickle(WHOLE[:length])).answers)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_a_damaged_pickle_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    with read_or_refused():
        list(read_reference(read_pickle(bytes(data))).answers)


OPCODES = [ord(opcode.code) for opcode in pickletools.opcodes]


@given(
    st.lists(
        st.sampled_from(OPCODES).map(lambda code: bytes([code]))
        | st.sampled_from(
            [b"cos\nsystem\n", b"ctypes\nSimpleNamespace\n", b"cnumpy\ndtype\n", b"K\x05", b"\x8c\x01a"]
        )
        | st.binary(min_size=1, max_size=4),
        max_size=40,
    )
)
@settings(max_examples=400, deadline=None)
def test_any_program_ends_in_a_value_or_a_refusal(program: list[bytes]) -> None:
    with read_or_refused():
        read_pickle(b"".join(program) + b".")


def test_no_module_of_the_importers_can_unpickle() -> None:
    folder = Path(pickle_data.__file__).parent
    for path in folder.glob("*.py"):
        text = path.read_text()
        for word in (
            "import pickle\n",
            "pickle.load",
            "Unpickler",
            "import_module",
            "__import__",
            "find_class",
        ):
            assert word not in text, (path.name, word)

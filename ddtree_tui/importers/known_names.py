"""The few functions that pickles of runs name, each as what it would have made of data. None is ever called.

``SimpleNamespace`` and ``OrderedDict`` become dicts; arrays of numpy and tensors of torch become lists of
numbers; dtypes, devices and storages stay things that only these understand. Every other name is unknown.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ddtree_tui.importers.refusal import damaged, hostile, too_large

MAX_ELEMENTS = 16_000_000
"""Of all arrays, tensors and copies together that a file's calls make."""
INNER_FILE = ("torch.storage", "_load_from_bytes")
"""What reads a file of ``torch.save`` inside a pickle; inside such a file it has no business."""


class Quota:
    """What the calls of a file may still make: few bytes can ask for the same large array again and again."""

    def __init__(self) -> None:
        self._left = MAX_ELEMENTS

    def take(self, count: int) -> None:
        """Use up some elements.

        Raises:
            EngineError: ``import`` if there are not so many left.
        """
        self._left -= count
        if self._left < 0:
            raise too_large(f"makes more than {MAX_ELEMENTS:,} numbers")


class Thing:
    """A value that a pickle has made and that is neither text, number nor container."""


class Namespace(dict[str, Any]):
    """What ``SimpleNamespace`` and ``argparse.Namespace`` hold; BUILD fills it."""


@dataclass(frozen=True)
class Name(Thing):
    """A known name, not yet called. ``make``: what calling it gives, from data alone."""

    name: str
    make: Callable[[tuple[Any, ...]], Any]


@dataclass
class NumpyType(Thing):
    """A numpy dtype: the kind and bytes of an element (``i8``), and its byte order."""

    code: str
    order: str = "<"


@dataclass
class NumpyArray(Thing):
    """A numpy array; BUILD fills it. ``values``: its elements, row by row."""

    shape: tuple[int, ...] = ()
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Storage(Thing):
    """The elements under tensors of torch."""

    values: Sequence[Any]


@dataclass(frozen=True)
class StorageType(Thing):
    """``torch.LongStorage`` and its like: what ``struct`` calls the elements; bfloat16 is ``bf``."""

    code: str


@dataclass(frozen=True)
class Tensor(Thing):
    """A tensor of torch: its shape, and its elements row by row."""

    shape: tuple[int, ...]
    values: list[Any]


_NUMBERS = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip
"""numpy's names of types -> what ``struct`` calls them."""
_STORAGES = {
    "Long": "q", "Int": "i", "Short": "h", "Char": "b", "Byte": "B", "Bool": "?",
    "Float": "f", "Double": "d", "Half": "e", "BFloat16": "bf",
}  # fmt: skip
_TORCH_TYPES = frozenset("float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool strided".split())


def known_name(module: str, name: str) -> Any:
    """What a name of a pickle stands for; None for one that is not known."""
    if module == "__builtin__":
        module = "builtins"
    elif module.startswith("numpy._core."):
        module = module.replace("_core", "core", 1)
    if module == "torch" and name in _TORCH_TYPES:
        return f"torch.{name}"
    if module == "torch" and name.endswith("Storage") and name[:-7] in _STORAGES:
        return StorageType(_STORAGES[name[:-7]])
    return _NAMES.get((module, name))


def called(function: Any, arguments: tuple[Any, ...], quota: Quota) -> Any:
    """What REDUCE and NEWOBJ make: only of a known name, only data.

    Raises:
        EngineError: ``import`` for anything else.
    """
    if not isinstance(function, Name):
        raise hostile("calls something that is no known function")
    try:
        made = function.make(arguments)
    except (ValueError, TypeError, LookupError, AttributeError, struct.error, OverflowError) as error:
        raise damaged(f"has a {function.name} that cannot be read") from error
    quota.take(_size(made))
    return made


def filled(thing: Any, state: Any, quota: Quota) -> None:
    """What BUILD does: put a state into a namespace, an array or a dtype.

    Raises:
        EngineError: ``import`` for anything else.
    """
    match thing, state:
        case Namespace(), dict():
            quota.take(len(state))
            thing.update(state)
        case NumpyType(), (int(), str() as order, *_):
            thing.order = ">" if order == ">" else "<"
        case NumpyArray(), (int(), tuple() as shape, NumpyType() as kind, fortran, bytes() | str() as data):
            raw = data if isinstance(data, bytes) else data.encode("latin-1", "replace")
            quota.take(len(raw))
            thing.shape = _shape(shape)
            thing.values = _laid_out(_numbers(raw, kind), thing.shape, fortran=fortran is True)
        case _:
            raise hostile("sets the state of an object (BUILD), which no data needs")


def _size(made: Any) -> int:
    match made:
        case Tensor() | NumpyArray() | Storage():
            return len(made.values)
        case bytes() | dict():
            return len(made)
    return 1


def elements(code: str, raw: bytes, order: str = "<") -> list[Any]:
    """The numbers in raw bytes. ``code``: as ``struct`` calls them, or ``bf`` for bfloat16."""
    if code == "bf":  # the upper half of a float32
        halves = elements("H", raw, order)
        return [struct.unpack(">f", struct.pack(">HH", half, 0))[0] for half in halves]
    count = len(raw) // struct.calcsize(f"<{code}")
    if count > MAX_ELEMENTS:
        raise too_large(f"has an array of {count:,} elements")
    return list(struct.unpack_from(f"{order}{count}{code}", raw))


def _numbers(raw: bytes, kind: NumpyType) -> list[Any]:
    if kind.code not in _NUMBERS:
        raise hostile("has an array of something else than numbers")
    return elements(_NUMBERS[kind.code], raw, kind.order)


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple | list) or not all(type(size) is int and size >= 0 for size in shape):
        raise damaged("has an array whose shape is none")
    if len(shape) > 16 or math.prod(shape) > MAX_ELEMENTS:
        raise too_large("has an array of too many elements")
    return tuple(shape)


def _laid_out(values: list[Any], shape: tuple[int, ...], *, fortran: bool) -> list[Any]:
    if math.prod(shape) != len(values):
        raise damaged("has an array whose bytes are not those of its shape")
    if not fortran or len(shape) < 2:
        return values
    strides = [math.prod(shape[:axis]) for axis in range(len(shape))]
    return _strided(values, 0, shape, strides)


def _strided(values: Sequence[Any], offset: int, shape: Sequence[int], strides: Sequence[int]) -> list[Any]:
    """Elements row by row: index (i, j, ...) is at ``offset`` + i s_0 + j s_1 + ..."""
    places = [offset]
    for size, stride in zip(shape, strides, strict=True):
        places = [place + step * stride for place in places for step in range(size)]
    return [values[place] for place in places]


def _namespace(arguments: tuple[Any, ...]) -> Namespace:
    if arguments:
        raise TypeError
    return Namespace()


def _ordered(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    (pairs,) = arguments or ([],)
    if not all(isinstance(key, str | int) for key, _ in pairs):
        raise TypeError
    return dict(pairs)


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    match arguments:
        case (str() as text, "latin-1" | "latin1"):
            return text.encode("latin-1")
    raise TypeError


def _bytes(arguments: tuple[Any, ...]) -> bytes:
    match arguments:
        case ():
            return b""
        case (bytes() as data,):
            return data
    return _encoded(arguments)


def _device(arguments: tuple[Any, ...]) -> str:
    match arguments:
        case (str() as kind,) | (str() as kind, int()):
            return kind
    raise TypeError


def _numpy_type(arguments: tuple[Any, ...]) -> NumpyType:
    code = arguments[0]
    if not isinstance(code, str):
        raise TypeError
    return NumpyType(code.lstrip("<>=|"), ">" if code.startswith(">") else "<")


def _numpy_scalar(arguments: tuple[Any, ...]) -> Any:
    kind, raw = arguments
    if not isinstance(kind, NumpyType):
        raise TypeError
    (value,) = _numbers(raw if isinstance(raw, bytes) else raw.encode("latin-1"), kind)
    return value


def _numpy_buffer(arguments: tuple[Any, ...]) -> NumpyArray:
    raw, kind, shape, order = arguments
    if not isinstance(raw, bytes) or not isinstance(kind, NumpyType):
        raise TypeError
    shape = _shape(shape)
    return NumpyArray(shape, _laid_out(_numbers(raw, kind), shape, fortran=order == "F"))


def _tensor(arguments: tuple[Any, ...]) -> Tensor:
    storage, offset, shape, strides = arguments[:4]
    shape = _shape(shape)
    if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
        raise TypeError
    if len(strides) != len(shape) or not all(type(stride) is int and stride >= 0 for stride in strides):
        raise TypeError
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if 0 in shape:
        return Tensor(shape, [])
    if last >= len(storage.values):
        raise ValueError
    return Tensor(shape, _strided(storage.values, offset, shape, strides))


def _storage_in_bytes(arguments: tuple[Any, ...]) -> Any:
    from ddtree_tui.importers.torch_file import read_old_file

    (raw,) = arguments
    if not isinstance(raw, bytes):
        raise TypeError
    return read_old_file(raw, inner=True)


_NAMES: dict[tuple[str, str], Name] = {
    (module, name): Name(name, make)
    for module, name, make in (
        ("types", "SimpleNamespace", _namespace),
        ("argparse", "Namespace", _namespace),
        ("collections", "OrderedDict", _ordered),
        ("_codecs", "encode", _encoded),
        ("builtins", "bytes", _bytes),
        ("builtins", "bytearray", _bytes),
        ("numpy", "dtype", _numpy_type),
        ("numpy", "ndarray", lambda _: NumpyArray()),
        ("numpy.core.multiarray", "_reconstruct", lambda _: NumpyArray()),
        ("numpy.core.multiarray", "scalar", _numpy_scalar),
        ("numpy.core.numeric", "_frombuffer", _numpy_buffer),
        ("torch._utils", "_rebuild_tensor_v2", _tensor),
        (*INNER_FILE, _storage_in_bytes),
        ("torch", "Size", lambda arguments: _shape(arguments[0])),
        ("torch", "device", _device),
    )
}

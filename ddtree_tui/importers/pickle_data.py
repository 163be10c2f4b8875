"""The data in a pickle, read as data: nothing in it is imported, called or executed.

A pickle is a program for a small stack machine, and some of its instructions call any function by name. This
is another machine: ``pickletools.genops`` splits the program into its instructions, and of these only those
that build plain values are carried out. A function by name is one of the few in ``known_names``, each
described there as data, or the file is refused; so is everything else that could reach code: the extension
registry, classes, ``__setstate__``, persistent ids outside torch's own files, buffers from elsewhere.

Limits hold for what a pickle can pile up with few bytes: instructions, the memo, open marks, seconds.
"""

from __future__ import annotations

import io
import pickletools
import struct
import time
from collections.abc import Callable
from typing import Any

from ddtree_tui.escape import escape
from ddtree_tui.importers.known_names import INNER_FILE, Quota, called, filled, known_name
from ddtree_tui.importers.refusal import damaged, hostile, too_large

MAX_STEPS = 20_000_000
"""Instructions: 60 answers of 100 rounds with 1024 nodes each."""
MAX_MARKS = 1000
MAX_SECONDS = 300.0
MAX_PROTOCOL = 5
_MAX_BITS = 64
_CHECKED_EVERY = 1 << 16
_MARK = object()
_KEYS = (str, bytes, int, float, bool, type(None))

Persistent = Callable[[Any], Any]
"""What a persistent id stands for; raises what ``hostile`` makes."""


def read_pickle(data: bytes, persistent: Persistent | None = None, *, quota: Quota | None = None) -> Any:
    """The value in a pickle: dicts, lists, tuples, numbers, strings, bytes, and ``known_names.Thing``.

    Args:
        persistent: of torch's own files, what their persistent ids stand for.

    Raises:
        EngineError: ``import`` for what is broken, too large, or asks for anything but data.
    """
    return read_pickle_from(io.BytesIO(data), persistent, quota=quota)


def read_pickle_from(
    file: io.BytesIO, persistent: Persistent | None = None, *, quota: Quota | None = None, inner: bool = False
) -> Any:
    """As ``read_pickle``; leaves the file behind the pickle, where another may begin.

    Args:
        quota: shared with what the same file holds beside the pickle.
        inner: it lies in another pickle.
    """
    return _Machine(file, persistent, quota or Quota(), inner).run()


class _Machine:
    """The stack machine. ``_STEPS`` says what each instruction does."""

    def __init__(self, file: io.BytesIO, persistent: Persistent | None, quota: Quota, inner: bool) -> None:
        self._file = file
        self._quota, self._inner = quota, inner
        self._deadline = time.monotonic() + MAX_SECONDS
        self._size = file.getbuffer().nbytes
        self._persistent = persistent
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._frame_end: int | None = None

    def run(self) -> Any:
        """Carry the program out, up to its STOP."""
        steps = 0
        try:
            for opcode, argument, _ in pickletools.genops(self._file):
                steps += 1
                if steps > MAX_STEPS:
                    raise too_large(f"has more than {MAX_STEPS:,} pickle instructions")
                if steps % _CHECKED_EVERY == 0:
                    self._check_time()
                self._check_frame(opcode.name)
                if opcode.name == "STOP":
                    return self._end()
                step = _STEPS.get(opcode.name)
                if step is None:
                    raise hostile(_FORBIDDEN.get(opcode.name, f"uses the pickle instruction {opcode.name}"))
                step(self, argument)
        except (ValueError, struct.error, OverflowError, IndexError) as error:
            raise damaged("is no whole pickle") from error
        raise damaged("is no whole pickle")

    def _end(self) -> Any:
        if len(self._stack) != 1 or self._marks:
            raise damaged("is no whole pickle: it ends with values left over")
        return self._pop()

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise too_large(f"takes longer than {MAX_SECONDS:.0f} seconds to read")

    def _check_frame(self, name: str) -> None:
        """Frames are promises about length; a program that breaks one is not what was written."""
        if self._frame_end is not None:
            here = self._file.tell()
            if here > self._frame_end or name == "FRAME":
                raise damaged("is no whole pickle: a frame ends elsewhere than it says")
            if here == self._frame_end:
                self._frame_end = None

    # The stack

    def _pop(self) -> Any:
        if not self._stack or (self._marks and len(self._stack) <= self._marks[-1]):
            raise damaged("is no whole pickle: a value is missing")
        return self._stack.pop()

    def _top(self) -> Any:
        value = self._pop()
        self._stack.append(value)
        return value

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise damaged("is no whole pickle: a mark is missing")
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    # What instructions do

    def protocol(self, version: int) -> None:
        if version > MAX_PROTOCOL:
            raise damaged(f"is a pickle of protocol {version}; {MAX_PROTOCOL} is the newest known")

    def frame(self, length: int) -> None:
        here = self._file.tell()
        if length > self._size - here:
            raise damaged("is no whole pickle: a frame is longer than the file")
        self._frame_end = here + length if length else None

    def number(self, value: int) -> None:
        if value.bit_length() > _MAX_BITS:
            raise too_large("holds a whole number of more than 64 bits")
        self._push(value)

    def mark(self, _: None) -> None:
        if len(self._marks) >= MAX_MARKS:
            raise too_large(f"nests values more than {MAX_MARKS} deep")
        self._marks.append(len(self._stack))

    def pop(self, _: None) -> None:
        if self._marks and len(self._stack) == self._marks[-1]:
            self._marks.pop()
        else:
            self._pop()

    def put(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._top()

    def get(self, index: int) -> None:
        if index not in self._memo:
            raise damaged("is no whole pickle: it refers to a value that is not there")
        self._push(self._memo[index])

    def make_tuple(self, count: int | None) -> None:
        values = self._since_mark() if count is None else [self._pop() for _ in range(count)][::-1]
        self._push(tuple(values))

    def make_dict(self, _: None) -> None:
        values: dict[Any, Any] = {}
        _set_items(values, self._since_mark())
        self._push(values)

    def append(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise hostile("appends to something that is no list")
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not dict:
            raise hostile("sets the items of something that is no dict")
        _set_items(target, values)

    def name(self, written: str) -> None:
        module, _, name = written.partition(" ")
        self._name(module, name)

    def name_from_stack(self, _: None) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(module, str) or not isinstance(name, str):
            raise hostile("names a function by something that is no text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        known = known_name(module, name)
        if known is None or (self._inner and (module, name) == INNER_FILE):
            raise hostile(f"asks for {escape(f'{module}.{name}')[:80]}, which is no data")
        self._push(known)

    def call(self, _: None) -> None:
        arguments, function = self._pop(), self._pop()
        if not isinstance(arguments, tuple):
            raise hostile("calls something in a way that no writer of data does")
        self._check_time()
        self._push(called(function, arguments, self._quota))

    def build(self, _: None) -> None:
        state = self._pop()
        filled(self._top(), state, self._quota)

    def persistent(self, _: None) -> None:
        identity = self._pop()
        if self._persistent is None:
            raise hostile("refers to objects outside of itself (a persistent id)")
        self._push(self._persistent(identity))


def _set_items(target: dict[Any, Any], values: list[Any]) -> None:
    if len(values) % 2:
        raise damaged("is no whole pickle: a key has no value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        if type(key) not in _KEYS:  # what is hashed could be nested without end
            raise hostile("has a dict whose keys are no text or numbers")
        target[key] = value


Step = Callable[[_Machine, Any], None]
_push = _Machine._push
_STEPS: dict[str, Step] = {
    "PROTO": _Machine.protocol,
    "FRAME": _Machine.frame,
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"), _Machine.number),
    **dict.fromkeys(("FLOAT", "BINFLOAT"), _push),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _push),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"), _push),
    **dict.fromkeys(("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"), _push),
    "BYTEARRAY8": lambda machine, data: machine._push(bytes(data)),
    "NONE": lambda machine, _: machine._push(None),
    "NEWTRUE": lambda machine, _: machine._push(True),
    "NEWFALSE": lambda machine, _: machine._push(False),
    "EMPTY_LIST": lambda machine, _: machine._push([]),
    "EMPTY_TUPLE": lambda machine, _: machine._push(()),
    "EMPTY_DICT": lambda machine, _: machine._push({}),
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": lambda machine, _: machine._since_mark().clear(),
    "DUP": lambda machine, _: machine._push(machine._top()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    "TUPLE": _Machine.make_tuple,
    "TUPLE1": lambda machine, _: machine.make_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_tuple(3),
    "LIST": lambda machine, _: machine._push(machine._since_mark()),
    "DICT": _Machine.make_dict,
    "APPEND": lambda machine, _: machine.append([machine._pop()]),
    "APPENDS": lambda machine, _: machine.append(machine._since_mark()),
    "SETITEM": lambda machine, _: machine.set_items([machine._pop(), machine._pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine._since_mark()),
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name_from_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.build,
    "BINPERSID": _Machine.persistent,
}
_FORBIDDEN = {
    "INST": "makes an object of a class",
    "OBJ": "makes an object of a class",
    "NEWOBJ_EX": "makes an object of a class",
    "EXT1": "uses the extension registry",
    "EXT2": "uses the extension registry",
    "EXT4": "uses the extension registry",
    "PERSID": "refers to objects outside of itself (a persistent id)",
    "NEXT_BUFFER": "refers to buffers outside of itself",
    "READONLY_BUFFER": "refers to buffers outside of itself",
    "EMPTY_SET": "holds a set, which no record of a run does",
    "ADDITEMS": "holds a set, which no record of a run does",
    "FROZENSET": "holds a set, which no record of a run does",
}

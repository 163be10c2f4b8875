"""Files of ``torch.save``, read without torch: a zip of a pickle and its tensors' bytes, or, before torch 1.6
and inside plain pickles of tensors, pickles and bytes one after the other.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

from ddtree_tui.importers.known_names import Quota, Storage, StorageType, elements
from ddtree_tui.importers.pickle_data import Persistent, read_pickle, read_pickle_from
from ddtree_tui.importers.refusal import damaged, hostile, too_large

MAX_MEMBER_BYTES = 512 * 2**20
"""Of a part of the zip, unpacked."""
MAX_STORAGES = 100_000
_ZIP = b"PK\x03\x04"
_OLD_MAGIC = 0x1950A86A20F9469CFC6C.to_bytes(10, "little")
"""The number that old files begin with, as a pickle writes it."""


def is_zip(head: bytes) -> bool:
    """Whether a file that begins like this is a zip, as of ``torch.save``."""
    return head.startswith(_ZIP)


def is_old_file(head: bytes) -> bool:
    """Whether a file that begins like this is an old one of ``torch.save``."""
    return head[:32].find(_OLD_MAGIC) in (4, 5, 13, 14)


def read_zip(data: bytes) -> Any:
    """The value in a zip of ``torch.save``.

    Raises:
        EngineError: ``import`` for one that is broken, too large, or asks for anything but data.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            main = next((name for name in names if name.split("/")[1:] == ["data.pkl"]), None)
            if main is None:
                raise damaged("is a zip, but not one of torch.save: it has no data.pkl")
            folder = main.removesuffix("data.pkl")
            order = _byte_order(archive, folder)
            quota = Quota()
            return read_pickle(_member(archive, main), _storages(archive, folder, order, quota), quota=quota)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise damaged("is no whole zip") from error


def read_old_file(data: bytes, *, inner: bool = False) -> Any:
    """The value in an old file of ``torch.save``: magic number, version, system, then the value, the keys of
    its storages, and each storage as a count of elements and their bytes.

    Tensors refer to storages that come behind them, so the value is read twice: for what it needs, and with
    that. ``inner``: it lies in another pickle, and holds a storage.

    Raises:
        EngineError: as ``read_zip``.
    """
    file = io.BytesIO(data)
    file.seek(_behind_magic(data))
    read_pickle_from(file, inner=True)
    read_pickle_from(file, inner=True)
    start = file.tell()
    needed: dict[str, str] = {}
    whole = isinstance(_value(file, needed, {}), Storage)
    if inner and not whole:
        raise hostile("holds a file inside that is no tensor's")
    keys = read_pickle_from(file, inner=True)
    storages = {key: _old_storage(data, file, needed.get(key, "")) for key in _texts(keys)}
    file.seek(start)
    return _value(file, {}, storages)


def _behind_magic(data: bytes) -> int:
    """Where the magic number's pickle ends: ``LONG1 10 <number> STOP`` behind the protocol."""
    place = data[:32].find(_OLD_MAGIC) + len(_OLD_MAGIC)
    if not is_old_file(data) or data[place : place + 1] != b".":
        raise damaged("is no file of torch.save")
    return place + 1


def _value(file: io.BytesIO, needed: dict[str, str], storages: dict[str, Storage]) -> Any:
    def persistent(identity: Any) -> Storage:
        match identity:
            case ("storage", StorageType() as kind, str() as key, str(), int() as count, *_):
                needed[key] = kind.code
                if key in storages:
                    return storages[key]
                return Storage(range(count))  # any numbers will do the first time
        raise hostile("refers to objects outside of itself (a persistent id)")

    return read_pickle_from(file, persistent, inner=True)


def _old_storage(data: bytes, file: io.BytesIO, code: str) -> Storage:
    if not code:
        raise damaged("has a tensor's bytes that belong to no tensor")
    count = struct.unpack("<q", _taken(data, file, 8))[0]
    size = 2 if code == "bf" else struct.calcsize(f"<{code}")
    if not 0 <= count <= len(data):
        raise damaged("has a tensor longer than the file")
    return Storage(elements(code, _taken(data, file, count * size)))


def _taken(data: bytes, file: io.BytesIO, count: int) -> bytes:
    taken = file.read(count) if count <= len(data) else b""
    if len(taken) != count:
        raise damaged("ends inside a tensor")
    return taken


def _texts(keys: Any) -> list[str]:
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise damaged("has a list of tensors that is none")
    if len(keys) > MAX_STORAGES:
        raise too_large(f"has {len(keys):,} tensors")
    return keys


def _byte_order(archive: zipfile.ZipFile, folder: str) -> str:
    if f"{folder}byteorder" not in archive.namelist():
        return "<"
    return ">" if _member(archive, f"{folder}byteorder") == b"big" else "<"


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of the zip, never more of it than it says it has."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:  # torch.save compresses nothing
        raise damaged("is a zip that something else than torch.save has packed")
    if info.file_size > MAX_MEMBER_BYTES:
        raise too_large(f"unpacks to {info.file_size:,} bytes")
    with archive.open(info) as member:
        return member.read(info.file_size)


def _storages(archive: zipfile.ZipFile, folder: str, order: str, quota: Quota) -> Persistent:
    known: dict[str, Storage] = {}
    names = frozenset(archive.namelist())

    def persistent(identity: Any) -> Storage:
        match identity:
            case ("storage", StorageType() as kind, str() as key, *_):
                member = f"{folder}data/{key}"
                if member not in names:
                    raise damaged("has a tensor without its bytes")
                if member not in known:
                    quota.take(archive.getinfo(member).file_size)
                    known[member] = Storage(elements(kind.code, _member(archive, member), order))
                return known[member]
        raise hostile("refers to objects outside of itself (a persistent id)")

    return persistent

"""A model folder's config and what its weight files hold, read without loading any weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from engine.errors import EngineError
from engine.json_file import bad_json, read_json

Role = Literal["target", "drafter"]
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")
_BYTES = {"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2}
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Checkpoint:
    """A folder with ``config.json`` and safetensors weights, in one file or in shards with an index.

    Attributes:
        role: which model of the pair it is, for messages.
        config: the parsed ``config.json``.
    """

    role: Role
    folder: Path
    config: dict[str, Any]

    @classmethod
    def open(cls, role: Role, folder: Path) -> Checkpoint:
        """Read the folder's ``config.json``.

        Raises:
            EngineError: ``no_config``, ``bad_json``.
        """
        path = folder / "config.json"
        if not path.is_file():
            raise EngineError(
                "no_config",
                f"The {role} folder {folder} has no config.json, so it holds no model.",
                "Give the folder that contains config.json and the safetensors files.",
            )
        return cls(role, folder, read_json(path))

    @property
    def quantization(self) -> str | None:
        """The method by which the weights are quantised, as ``config.json`` has it; None for plain ones."""
        config = self.quantization_config
        if not config:
            return None
        return str(config.get("quant_method")) if isinstance(config, dict) else "unknown"

    @property
    def quantization_config(self) -> Any:
        """What ``config.json`` says about it, for the whole or for the part that writes text."""
        inner = self.config.get("text_config")
        nested = inner.get("quantization_config") if isinstance(inner, dict) else None
        return self.config.get("quantization_config") or nested

    @cached_property
    def weight_names(self) -> tuple[str, ...]:
        """File names of the weights, which need not be here yet.

        Raises:
            EngineError: ``bad_json`` for an index that is none.
        """
        path = self.folder / INDEX
        if not path.is_file():
            return (SINGLE,)
        names = read_json(path).get("weight_map")
        if not isinstance(names, dict) or not all(_is_file_name(name) for name in names.values()):
            raise bad_json(path, "no weight_map of file names")
        return tuple(sorted(set(names.values())))

    def check_files(self) -> None:
        """Refuse a folder whose safetensors files are not all here.

        Raises:
            EngineError: ``pickled_weights``, ``no_weights``, ``missing_shard``.
        """
        missing = [name for name in self.weight_names if not (self.folder / name).is_file()]
        if not missing:
            return
        if self.weight_names != (SINGLE,):
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise EngineError(
                "missing_shard",
                f"The {self.role} folder {self.folder} lacks {missing[0]}{more}, which its index names.",
                "Download the model again; the files that are complete are kept.",
                ", ".join(missing),
            )
        if any(path for pattern in _PICKLES for path in self.folder.glob(pattern)):
            raise EngineError(
                "pickled_weights",
                f"The {self.role} in {self.folder} has pickled weights only, which could run code.",
                "Convert them to safetensors, or choose a revision that has safetensors.",
            )
        raise EngineError(
            "no_weights",
            f"The {self.role} folder {self.folder} has no {SINGLE} and no index of shards.",
            "Download the model again, or give the folder that contains its weights.",
        )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor.

        Raises:
            EngineError: as ``tensors``.
        """
        return {name: shape for name, (shape, _) in self.tensors.items()}

    @cached_property
    def tensors(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Name, shape and dtype (as safetensors calls it) of every tensor, from the files' headers.

        Raises:
            EngineError: ``bad_weights`` for a file that is cut short or no safetensors.
        """
        tensors: dict[str, tuple[tuple[int, ...], str]] = {}
        for name in self.weight_names:
            try:
                with safe_open(self.folder / name, framework="numpy") as shard:
                    for key in shard.keys():  # noqa: SIM118 - no mapping
                        piece = shard.get_slice(key)
                        tensors[key] = tuple(piece.get_shape()), piece.get_dtype()
            except (SafetensorError, OSError) as error:
                raise EngineError(
                    "bad_weights",
                    f"The {self.role}'s weights in {self.folder / name} cannot be read.",
                    "Download the file again: it may have been cut short.",
                    repr(error),
                ) from error
        return tensors

    def count_parameters(self, skip: tuple[str, ...] = ()) -> int:
        """Values in the weight files, tensors whose names begin with one of ``skip`` left out."""
        return sum(math.prod(shape) for name, shape in self.shapes.items() if not name.startswith(skip))

    def count_stored(self, skip: tuple[str, ...] = ()) -> tuple[int, int]:
        """Of the same tensors, the values of those of plain floats, and the bytes of all others."""
        values = stored = 0
        for name, (shape, dtype) in self.tensors.items():
            if name.startswith(skip):
                continue
            if dtype in _FLOATS:
                values += math.prod(shape)
            else:
                stored += math.prod(shape) * _BYTES.get(dtype, 1)
        return values, stored


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name and name.endswith(".safetensors")

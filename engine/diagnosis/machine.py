"""The machine and its packages as they are found; ``engine.diagnosis.environment`` says what that means.

Nothing here imports torch, but ``ask_torch``.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.metadata
import os
import shutil
import sys
import sysconfig
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = (
    "torch",
    "transformers",
    "triton",
    "flash-linear-attention",
    "causal-conv1d",
    "safetensors",
    "tokenizers",
    "huggingface-hub",
    "jinja2",
    "numpy",
    "networkx",
    "msgspec",
    "platformdirs",
    "rich",
    "textual",
    "accelerate",
    "torchao",
    "bitsandbytes",
    "gguf",
)


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """``kernels``: whether this torch has kernels for it, compiled or to be compiled by the driver."""

    name: str
    capability: tuple[int, int]
    free_bytes: int
    total_bytes: int
    kernels: bool


@dataclass(frozen=True, kw_only=True)
class Torch:
    """What torch says of itself. ``error``: why it cannot be imported or cannot reach its GPUs."""

    version: str = ""
    cuda: str | None = None
    threads: int = 0
    gpus: tuple[Gpu, ...] = ()
    error: str = ""
    extensions: dict[str, str] = field(default_factory=dict)
    """Compiled packages that were imported beside it: an empty text, or why that failed."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Attributes:
    requires: distribution -> the versions this project takes, as ``>=2.11,<2.14``.
    installed: distribution -> its version; those that are not there are missing.
    triton_of_torch: the version of Triton that the installed torch asks for, as ``==3.6.0``; None for none.
    driver: NVIDIA's driver, None without one. ``driver_cuda``: the newest CUDA it supports.
    cores: processors this process may use, a container's share counted.
    disk: folder -> free bytes.
    """

    python: tuple[int, int, int]
    requires: dict[str, str]
    installed: dict[str, str]
    triton_of_torch: str | None = None
    driver: str | None = None
    driver_cuda: tuple[int, int] | None = None
    compiler: str | None = None
    headers: bool = True
    cores: float = 1.0
    memory_total: int = 0
    memory_free: int = 0
    disk: dict[str, int] = field(default_factory=dict)


def look_around(folders: dict[str, Path]) -> Machine:
    """Everything that can be told without torch. ``folders``: where there must be room, by what for."""
    return Machine(
        python=sys.version_info[:3],
        requires=requirements(),
        installed=_installed(),
        triton_of_torch=_triton_of_torch(),
        driver=_driver(),
        driver_cuda=_driver_cuda(),
        compiler=next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None),
        headers=(Path(sysconfig.get_path("include")) / "Python.h").is_file(),
        cores=_cores(),
        memory_total=_memory("MemTotal"),
        memory_free=_memory("MemAvailable"),
        disk={name: shutil.disk_usage(_existing(folder)).free for name, folder in folders.items()},
    )


def ask_torch(extensions: tuple[str, ...]) -> Torch:
    """Import torch and ask for its GPUs; where it has some, import ``extensions`` too, which were compiled
    against one version of it."""
    try:
        import torch
    except Exception as error:  # a broken library says so in any way
        return Torch(error=f"{type(error).__name__}: {error}")
    gpus: list[Gpu] = []
    trouble = ""
    try:
        if torch.cuda.is_available():
            for number in range(torch.cuda.device_count()):
                free, total = torch.cuda.mem_get_info(number)
                gpus.append(
                    Gpu(
                        name=torch.cuda.get_device_name(number),
                        capability=torch.cuda.get_device_capability(number),
                        free_bytes=free,
                        total_bytes=total,
                        kernels=_has_kernels(
                            torch.cuda.get_arch_list(), torch.cuda.get_device_capability(number)
                        ),
                    )
                )
            torch.zeros(1, device="cuda").add_(1).item()
    except RuntimeError as failure:
        trouble = str(failure).splitlines()[0]
    return Torch(
        version=torch.__version__,
        cuda=torch.version.cuda,
        threads=torch.get_num_threads(),
        gpus=tuple(gpus),
        error=trouble,
        extensions={name: _import(name) for name in extensions} if gpus else {},
    )


def requirements() -> dict[str, str]:
    """What this project takes of each package: as installed, or from the sources' ``pyproject.toml``.

    Extras count too: what is optional must fit as well where it is there.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    found: dict[str, str] = {}
    for text in _requirement_texts():
        with contextlib.suppress(InvalidRequirement):
            requirement = Requirement(text)
            if requirement.specifier and 'extra == "test"' not in text:
                versions = sorted(map(str, requirement.specifier), reverse=True)  # lowest first
                found.setdefault(requirement.name.lower(), ",".join(versions))
    return found


def _requirement_texts() -> list[str]:
    sources = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if sources.is_file():
        with contextlib.suppress(OSError, tomllib.TOMLDecodeError):
            project = tomllib.loads(sources.read_text(encoding="utf-8")).get("project", {})
            if project.get("name") == "ddtree-tui":
                extras = project.get("optional-dependencies", {})
                optional = [text for name, texts in extras.items() if name != "test" for text in texts]
                return [*project.get("dependencies", []), *optional]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.requires("ddtree-tui") or []
    return []


def _installed() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _triton_of_torch() -> str | None:
    from packaging.requirements import Requirement

    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for text in importlib.metadata.requires("torch") or []:
            requirement = Requirement(text)
            if requirement.name == "triton" and (requirement.marker is None or requirement.marker.evaluate()):
                return str(requirement.specifier)
    return None


def _driver() -> str | None:
    """As the kernel module says: ``NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...``."""
    try:
        first = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return None
    return next((word for word in first.split() if word[0].isdigit() and "." in word), "unknown")


def _driver_cuda() -> tuple[int, int] | None:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    return version.value // 1000, version.value % 1000 // 10


def _has_kernels(architectures: list[str], capability: tuple[int, int]) -> bool:
    """``sm_90``: machine code, of any GPU of that generation from that one on; ``compute_90``: the driver
    compiles it for any later GPU."""
    for name in architectures:
        kind, _, digits = name.partition("_")
        number = int("".join(filter(str.isdigit, digits)) or 0)
        major, minor = divmod(number, 10)
        if kind == "compute" and (major, minor) <= capability:
            return True
        if kind == "sm" and major == capability[0] and minor <= capability[1]:
            return True
    return False


def _import(name: str) -> str:
    try:
        importlib.import_module(name)
    except Exception as error:  # undefined symbols, missing libraries, versions refused by an assert
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def _cores() -> float:
    try:
        allowed = float(len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS
        allowed = float(os.cpu_count() or 1)
    with contextlib.suppress(OSError, ValueError, IndexError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()[:2]
        if quota != "max":
            return min(allowed, int(quota) / int(period))
    return allowed


def _memory(field_name: str) -> int:
    """Bytes; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field_name}:"):
                return int(line.split()[1]) * 1024
    if field_name == "MemTotal":
        with contextlib.suppress(ValueError, OSError):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))

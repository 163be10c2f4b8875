"""What a machine and its packages mean for decoding, a line each. Pure, imports no torch.

What is known not to work together stands here, each with where it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from engine.diagnosis.lines import Line, Status
from engine.diagnosis.machine import Machine, Torch
from engine.settings import LoadSettings

TRIED_TRANSFORMERS = SpecifierSet(">=5.17,<5.25")
"""What the tests ran with; 5.24 renamed an argument of every layer."""
REFUSED_TRITON = SpecifierSet(">=3.4,<=3.7.0")
"""With which flash-linear-attention 0.6 refuses its backward pass of the gated delta rule on Hopper."""
HOPPER = (9, 0)
CORE = ("torch", "transformers", "safetensors", "tokenizers", "msgspec", "numpy", "jinja2", "textual", "rich")
WAYS = {"int8": "torchao", "int4": "torchao", "bnb-int8": "bitsandbytes", "bnb-nf4": "bitsandbytes"}
"""What each way to quantise needs."""
LITTLE_DISK, NO_DISK = 2 * 10**9, 50 * 10**6
LITTLE_MEMORY = 2 * 10**9


def environment_lines(machine: Machine, torch: Torch, load: LoadSettings) -> Iterator[Line]:
    """All lines, in the order in which they are to be read."""
    yield python_line(machine)
    for name in CORE:
        yield package_line(machine, name)
    yield torch_line(machine, torch)
    yield from gpu_lines(machine, torch, load)
    yield from triton_lines(machine, torch)
    yield fla_line(machine, torch)
    yield conv_line(machine, torch)
    yield from option_lines(machine, load)
    yield cores_line(machine, torch)
    yield memory_line(machine)
    yield from disk_lines(machine)


def python_line(machine: Machine) -> Line:
    version = ".".join(map(str, machine.python))
    if machine.python < (3, 11):
        return _line(
            "Python",
            "fail",
            version,
            "Older than 3.11, which this project is written for.",
            "Install Python 3.11 or newer.",
        )
    return _line("Python", "ok", version)


def package_line(machine: Machine, name: str) -> Line:
    """Whether a package is there and of a version this project takes."""
    version, wanted = machine.installed.get(name), machine.requires.get(name)
    if version is None:
        return _line(
            name,
            "fail",
            "not installed",
            "The engine cannot start without it."
            if name not in ("textual", "rich")
            else "The app has no screen without it.",
            f"pip install '{name}{wanted or ''}'",
        )
    if wanted and not _fits(version, wanted):
        return _line(
            name,
            "fail",
            f"{version}, wanted {wanted}",
            "Outside the versions this project was written and tested for.",
            f"pip install '{name}{wanted}'",
        )
    if name == "transformers" and not _fits(version, str(TRIED_TRANSFORMERS)):
        return _line(
            name,
            "warn",
            f"{version}, tried with {TRIED_TRANSFORMERS}",
            "The engine calls into the layers of its models, which change from version to version.",
            "Where something is odd, pip install 'transformers>=5.17,<5.25' and compare.",
        )
    return _line(name, "ok", version)


def torch_line(machine: Machine, torch: Torch) -> Line:
    """Whether torch starts and reaches what the machine has."""
    if not torch.version:
        return _line(
            "torch starts",
            "fail",
            torch.error,
            "Nothing can be decoded.",
            "Reinstall torch, of the build for this machine.",
        )
    built = f"for CUDA {torch.cuda}" if torch.cuda else "for CPUs"
    seen = f"{torch.version}, built {built}"
    if torch.gpus and not torch.error:
        return _line("torch starts", "ok", f"{seen}, {len(torch.gpus)} GPU(s)")
    if machine.driver is None and not torch.gpus:
        return _line("torch starts", "ok", f"{seen}; no NVIDIA driver: decoding on the CPU")
    if torch.cuda is None:
        return _line(
            "torch starts",
            "warn",
            f"{seen}, and there is an NVIDIA driver ({machine.driver})",
            "The GPU is not used.",
            "Install the CUDA build of torch.",
        )
    return _line(
        "torch starts",
        "fail",
        f"{seen}, driver {machine.driver}: {torch.error or 'torch sees no GPU'}",
        "The GPU cannot be used.",
        "Update the driver, or install a torch for an older CUDA; CUDA_VISIBLE_DEVICES may hide the GPU.",
    )


def gpu_lines(machine: Machine, torch: Torch, load: LoadSettings) -> Iterator[Line]:
    """The driver against torch, and every GPU."""
    built = _numbers(torch.cuda)
    if machine.driver is not None and machine.driver_cuda and built:
        supports = ".".join(map(str, machine.driver_cuda))
        seen = f"{machine.driver}, up to CUDA {supports}; torch is built for {torch.cuda}"
        if machine.driver_cuda[0] < built[0]:
            yield _line(
                "driver",
                "fail",
                seen,
                "The driver is too old for this torch.",
                "Update the driver, or install a torch for an older CUDA.",
            )
        else:
            yield _line("driver", "ok", seen)
    for number, gpu in enumerate(torch.gpus):
        capability = ".".join(map(str, gpu.capability))
        seen = f"{gpu.name}, capability {capability}, {_gb(gpu.free_bytes)} of {_gb(gpu.total_bytes)} free"
        name = f"GPU {number}"
        if not gpu.kernels:
            yield _line(
                name,
                "fail",
                seen,
                "This torch has no kernels for it.",
                "Install a torch build that names this compute capability.",
            )
        elif gpu.capability < (8, 0):
            yield _line(
                name,
                "warn",
                seen,
                "It has no bfloat16 arithmetic of its own, which checkpoints are stored in.",
                "Use --dtype float16, or float32 where the text differs.",
            )
        elif gpu.free_bytes < 0.1 * gpu.total_bytes:
            yield _line(
                name,
                "warn",
                seen,
                "Other programs hold most of its memory.",
                "Close them, or choose another with --device cuda:N.",
            )
        else:
            yield _line(name, "ok", seen)
    if load.device.startswith("cuda") and not torch.gpus:
        yield _line(
            "device",
            "fail",
            f"{load.device} is asked for, and there is no GPU that torch can use",
            "No model can be loaded there.",
            "Use --device cpu.",
        )


def triton_lines(machine: Machine, torch: Torch) -> Iterator[Line]:
    """Triton, which compiles the kernels of rounds on a GPU."""
    version, wanted = machine.installed.get("triton"), machine.triton_of_torch
    if version is None:
        if torch.gpus:
            yield _line(
                "Triton",
                "warn",
                "not installed",
                "Rounds on the GPU run in plain PyTorch, several times slower; the text is the same.",
                f"pip install 'triton{wanted or ''}'",
            )
        else:
            yield _line("Triton", "ok", "not installed; only a GPU needs it")
        return
    if torch.gpus and wanted and not _fits(version, wanted):
        yield _line(
            "Triton",
            "warn",
            f"{version}, torch asks for {wanted}",
            "torch compiles with its own version's interface; with another, kernels may fail to compile.",
            f"pip install 'triton{wanted}'",
        )
    else:
        yield _line("Triton", "ok", version)
    if torch.gpus and not (machine.compiler and machine.headers):
        lacks = "a C compiler" if not machine.compiler else "Python.h"
        yield _line(
            "compiler",
            "fail",
            f"no {lacks.removeprefix('a ')}",
            f"Triton builds its launchers with {lacks}; the first round fails.",
            "Install gcc and the headers of this Python (python3-dev).",
        )


def fla_line(machine: Machine, torch: Torch) -> Line:
    """flash-linear-attention: transformers' own passes of hybrids use it where there is a GPU."""
    name = "flash-linear-attention"
    version, triton = machine.installed.get(name), machine.installed.get("triton")
    if version is None:
        return _line(
            name,
            "ok",
            "not installed: hybrids prefill and train in plain PyTorch"
            if torch.gpus
            else "not installed; only a GPU needs it",
        )
    wanted = machine.requires.get(name)
    if wanted and not _fits(version, wanted):
        return _line(
            name,
            "warn",
            f"{version}, wanted {wanted}",
            "Not tried together.",
            f"pip install '{name}{wanted}'",
        )
    if triton is None:
        return _line(
            name,
            "warn" if torch.gpus else "ok",
            f"{version} without Triton" + ("" if torch.gpus else "; without a GPU neither is used"),
            "It cannot be imported, and plain PyTorch computes in its place." if torch.gpus else "",
            "Install triton, or uninstall flash-linear-attention." if torch.gpus else "",
        )
    hopper = any(gpu.capability == HOPPER for gpu in torch.gpus)
    if hopper and _fits(version, ">=0.6,<0.7") and _fits(triton, str(REFUSED_TRITON)):
        return _line(
            name,
            "warn",
            f"{version} with Triton {triton} on a Hopper GPU",
            "It refuses the backward pass of the gated delta rule there, whose results are wrong: decoding "
            "is not affected, training a drafter's target is.",
            "Train with transformers' own PyTorch path (this project's trainer does), or with Triton 3.7.1.",
        )
    if torch.extensions.get("fla"):
        return _line(
            name,
            "warn",
            f"{version}: {torch.extensions['fla']}",
            "It cannot be imported, and plain PyTorch computes in its place.",
            "Reinstall it, or uninstall it.",
        )
    return _line(name, "ok", f"{version}" + ("" if torch.gpus else "; not used without a GPU"))


def conv_line(machine: Machine, torch: Torch) -> Line:
    """causal-conv1d, compiled on the user's machine against one version of torch."""
    version = machine.installed.get("causal-conv1d")
    if version is None:
        return _line("causal-conv1d", "ok", "not installed; optional")
    if error := torch.extensions.get("causal_conv1d"):
        return _line(
            "causal-conv1d",
            "warn",
            f"{version}: {error}",
            "It was compiled against another torch and cannot be imported.",
            "pip install --no-build-isolation --force-reinstall --no-deps causal-conv1d, or uninstall it.",
        )
    return _line("causal-conv1d", "ok", version)


def option_lines(machine: Machine, load: LoadSettings) -> Iterator[Line]:
    """What the options that were given need."""
    needed = {}
    if load.quantize is not None:
        needed[WAYS[load.quantize]] = f"--quantize {load.quantize}"
        needed["accelerate"] = f"--quantize {load.quantize}"
    if load.device_map is not None:
        needed["accelerate"] = "--device-map"
    if load.model == "smollm2":
        needed["gguf"] = "--model smollm2"
    for name, option in needed.items():
        version = machine.installed.get(name)
        if version is None:
            yield _line(name, "fail", "not installed", f"{option} needs it.", f"pip install {name}")
        else:
            yield _line(name, "ok", f"{version}, for {option}")


def cores_line(machine: Machine, torch: Torch) -> Line:
    """Threads that wait for cores they do not get make small models ten times slower."""
    cores = "1 core" if machine.cores == 1 else f"{machine.cores:g} cores"
    seen = f"{cores}, torch uses {'1 thread' if torch.threads == 1 else f'{torch.threads} threads'}"
    if torch.threads > max(1.0, machine.cores) * 1.5:
        return _line(
            "processor",
            "warn",
            seen,
            "More threads than cores take turns, and each round waits for the slowest.",
            f"Set OMP_NUM_THREADS={max(1, int(machine.cores))}.",
        )
    return _line("processor", "ok", seen)


def memory_line(machine: Machine) -> Line:
    seen = f"{_gb(machine.memory_free)} of {_gb(machine.memory_total)} free"
    if machine.memory_free == 0:
        return _line("memory", "ok", f"{_gb(machine.memory_total)}; what is free is not told here")
    if machine.memory_free < LITTLE_MEMORY:
        return _line(
            "memory", "warn", seen, "Python and torch alone take a gigabyte.", "Close other programs."
        )
    return _line("memory", "ok", seen)


def disk_lines(machine: Machine) -> Iterator[Line]:
    """Room where models, recordings and logs are written."""
    for name, free in machine.disk.items():
        status: Status = "fail" if free < NO_DISK else "warn" if free < LITTLE_DISK else "ok"
        yield _line(
            f"disk for {name}",
            status,
            f"{_gb(free)} free",
            "" if status == "ok" else "Recordings end early, and downloads fail.",
            "" if status == "ok" else "Make room there.",
        )


def _line(name: str, status: Status, seen: str, means: str = "", todo: str = "") -> Line:
    return Line(part="environment", name=name, status=status, seen=seen, means=means, todo=todo)


def _fits(version: str, wanted: str) -> bool:
    try:
        return Version(version).release in _Releases(wanted)
    except InvalidVersion:
        return True  # a build of one's own; nothing is known of it


class _Releases:
    """Versions by their release alone: 2.13.0+cpu and 2.14.0.dev1 are 2.13.0 and 2.14.0."""

    def __init__(self, wanted: str) -> None:
        self._wanted = SpecifierSet(wanted)

    def __contains__(self, release: tuple[int, ...]) -> bool:
        return self._wanted.contains(".".join(map(str, release)))


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()


def _gb(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"

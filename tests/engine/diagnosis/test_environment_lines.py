"""What is known not to work together is told, with what to do."""

from __future__ import annotations

from dataclasses import replace

from engine.diagnosis.environment import environment_lines
from engine.diagnosis.lines import Line
from engine.diagnosis.machine import Gpu, Machine, Torch, look_around, requirements
from engine.settings import LoadSettings

REQUIRES = {
    "torch": ">=2.11,<2.14",
    "transformers": ">=5.17,<6",
    "flash-linear-attention": ">=0.6,<0.7",
    "msgspec": ">=0.19",
}
INSTALLED = {
    "torch": "2.11.0+cu130",
    "transformers": "5.17.0",
    "triton": "3.6.0",
    "flash-linear-attention": "0.6.0",
    "causal-conv1d": "1.7.0",
    **dict.fromkeys(("safetensors", "tokenizers", "msgspec", "numpy", "jinja2", "textual", "rich"), "5.0"),
}
MACHINE = Machine(
    python=(3, 12, 1),
    requires=REQUIRES,
    installed=INSTALLED,
    triton_of_torch="==3.6.0",
    driver="580.65.06",
    driver_cuda=(13, 0),
    compiler="/usr/bin/cc",
    cores=8,
    memory_total=64 * 10**9,
    memory_free=60 * 10**9,
    disk={"recordings": 10**11},
)
ADA = Gpu(name="Ada", capability=(8, 9), free_bytes=23 * 10**9, total_bytes=24 * 10**9, kernels=True)
HOPPER = replace(ADA, name="Hopper", capability=(9, 0))
TORCH = Torch(version="2.11.0+cu130", cuda="13.0", threads=8, gpus=(ADA,))


def lines(machine: Machine = MACHINE, torch: Torch = TORCH, **load: object) -> dict[str, Line]:
    found = [*environment_lines(machine, torch, LoadSettings(**load))]  # type: ignore[arg-type]
    assert all(line.todo for line in found if line.status != "ok")
    assert len({line.name for line in found}) == len(found)
    return {line.name: line for line in found}


def installed(**versions: str | None) -> Machine:
    packages = INSTALLED | {name.replace("_", "-"): version for name, version in versions.items() if version}
    for name, version in versions.items():
        if version is None:
            packages.pop(name.replace("_", "-"))
    return replace(MACHINE, installed=packages)


def statuses(found: dict[str, Line]) -> set[str]:
    return {line.status for line in found.values()}


def test_nothing_to_say_of_what_fits() -> None:
    assert statuses(lines()) == {"ok"}


def test_versions_outside_what_the_project_takes() -> None:
    assert lines(installed(torch="2.10.1"))["torch"].status == "fail"
    assert lines(installed(torch="2.14.0.dev20260101+cpu"))["torch"].status == "fail"
    assert lines(installed(torch=None))["torch"].seen == "not installed"
    assert lines(installed(transformers="5.16.2"))["transformers"].status == "fail"
    assert lines(installed(transformers="5.25.0"))["transformers"].status == "warn"
    assert lines(installed(transformers="5.24.1"))["transformers"].status == "ok"
    assert lines(replace(MACHINE, python=(3, 10, 4)))["Python"].status == "fail"


def test_linear_attention_on_hopper_and_without_triton() -> None:
    hopper = replace(TORCH, gpus=(HOPPER,))
    name = "flash-linear-attention"
    for version in ("3.4.0", "3.6.0", "3.7.0"):
        line = lines(installed(triton=version), hopper)[name]
        assert (line.status, "backward" in line.means) == ("warn", True)
    for version in ("3.3.1", "3.7.1"):
        assert lines(installed(triton=version), hopper)[name].status == "ok"
    assert lines(installed(triton=None))[name].status == "warn"
    assert lines(installed(triton=None), replace(TORCH, gpus=()))[name].status == "ok"


def test_gpus_that_torch_cannot_use() -> None:
    none = replace(TORCH, gpus=(), error="CUDA driver initialization failed")
    assert lines(torch=none)["torch starts"].status == "fail"
    cpu_build = replace(TORCH, version="2.11.0+cpu", cuda=None, gpus=())
    assert lines(torch=cpu_build)["torch starts"].status == "warn"
    assert lines(replace(MACHINE, driver=None, driver_cuda=None), cpu_build)["torch starts"].status == "ok"
    assert lines(replace(MACHINE, driver_cuda=(12, 8)))["driver"].status == "fail"
    assert lines(torch=replace(TORCH, gpus=(replace(ADA, kernels=False),)))["GPU 0"].status == "fail"
    assert lines(torch=replace(TORCH, gpus=(replace(ADA, free_bytes=10**9),)))["GPU 0"].status == "warn"
    assert lines(torch=replace(TORCH, gpus=()), device="cuda")["device"].status == "fail"


def test_torch_that_does_not_start() -> None:
    line = lines(torch=Torch(error="OSError: libcudart.so.13: cannot open shared object file"))[
        "torch starts"
    ]
    assert line.status == "fail"
    assert "libcudart" in line.seen


def test_what_compiles_kernels() -> None:
    assert lines(installed(triton="3.5.0"))["Triton"].status == "warn"
    assert lines(replace(MACHINE, compiler=None))["compiler"].status == "fail"
    assert "Python.h" in lines(replace(MACHINE, headers=False))["compiler"].means
    broken = replace(TORCH, extensions={"causal_conv1d": "ImportError: undefined symbol: _ZN3c10"})
    assert lines(torch=broken)["causal-conv1d"].status == "warn"


def test_options_need_packages() -> None:
    assert lines(quantize="int4")["torchao"].status == "fail"
    assert lines(installed(torchao="0.16.0", accelerate="1.10.0"), quantize="int4")["torchao"].status == "ok"


def test_threads_without_cores_and_little_room() -> None:
    assert "OMP_NUM_THREADS=2" in lines(replace(MACHINE, cores=2.5))["processor"].todo
    assert lines(replace(MACHINE, memory_free=10**9))["memory"].status == "warn"
    assert lines(replace(MACHINE, disk={"logs": 10**6}))["disk for logs"].status == "fail"
    assert lines(replace(MACHINE, disk={"logs": 10**9}))["disk for logs"].status == "warn"


def test_this_machine_is_looked_at_for_real(tmp_path) -> None:
    machine = look_around({"here": tmp_path / "not" / "there"})
    assert machine.installed["msgspec"]
    assert machine.disk["here"] > 0
    assert machine.cores >= 0.1
    assert requirements()["transformers"].startswith(">=")
    assert "pytest" not in requirements()

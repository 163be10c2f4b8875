"""Every kernel against its twin in float64, on fresh random inputs. Shared by the tests under Triton's
interpreter, those on a GPU and the benchmark.

A check takes the implementation to look at, a device and sizes, and returns relative errors by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.ddtree import ancestors_or_self
from engine.kernels import attention, delta, delta_inputs, draft_tree, elementwise, logits, record, walk
from engine.kernels.delta import TreeSolution

Errors = dict[str, float]


def triton_kernels() -> SimpleNamespace:
    """The launchers of the Triton kernels."""
    from engine.kernels.jit import attention as jit_attention
    from engine.kernels.jit import delta as jit_delta
    from engine.kernels.jit import delta_inputs as jit_inputs
    from engine.kernels.jit import delta_state as jit_state
    from engine.kernels.jit import draft_tree as jit_draft_tree
    from engine.kernels.jit import elementwise as jit_elementwise
    from engine.kernels.jit import logits as jit_logits
    from engine.kernels.jit import record as jit_record
    from engine.kernels.jit import walk as jit_walk

    return _gather(
        *(jit_delta, jit_state, jit_inputs, jit_attention, jit_elementwise),
        *(jit_draft_tree, jit_logits, jit_walk, jit_record),
    )


def dispatched() -> SimpleNamespace:
    """What the engine calls: Triton on CUDA, twins elsewhere."""
    return _gather(delta, delta_inputs, attention, elementwise, draft_tree, logits, walk, record)


def _gather(*modules: Any) -> SimpleNamespace:
    names = (
        "tree_delta", "tree_delta_commit", "tree_conv", "conv_window", "delta_inputs",
        "tree_attention", "kv_write", "kv_commit",
        "rms_norm", "gated_rms_norm", "swiglu", "rotary_angles", "rotate_heads", "attention_inputs",
        "tree_candidates", "build_tree",
        "row_statistics", "count_better", "walk_tree", "append_rows", "close_round",
    )  # fmt: skip
    found = {name: getattr(module, name) for module in modules for name in names if hasattr(module, name)}
    assert set(found) == set(names)
    return SimpleNamespace(**found)


def relative(got: Tensor, expected: Tensor) -> float:
    """‖got - expected‖ / ‖expected‖; infinite when ``got`` holds what is not finite."""
    got, expected = got.double(), expected.double()
    if not torch.isfinite(got).all():
        return float("inf")
    return float((got - expected).norm() / expected.norm().clamp(min=1e-30))


def wide(*tensors: Tensor | None) -> list[Any]:
    """The same numbers in float64; integers, flags and None as they are."""
    return [x.double() if x is not None and x.is_floating_point() else x for x in tensors]


def one(value: int, device: str) -> Tensor:
    """A device scalar as the engine keeps it."""
    return torch.tensor([value], dtype=torch.int32, device=device)


@dataclass(frozen=True)
class Tree:
    """A random tree: parents int32 (R,), visible bool (R, R), depths int32 (R,)."""

    parents: Tensor
    visible: Tensor
    depths: Tensor

    @classmethod
    def random(cls, rows: int, seed: int, device: str, *, padding: int = 0, reach: int = 12) -> Tree:
        """Best-first trees have long paths: parents are drawn from the last ``reach`` rows before; 1 makes a
        chain. Then padding rows, children of row 0."""
        generator = torch.Generator().manual_seed(seed)
        parents = [-1]
        for row in range(1, rows):
            low = max(0, row - reach)
            parents.append(int(torch.randint(low, row, (1,), generator=generator)))
        tree = torch.tensor(parents[:rows] + [0] * padding)
        visible = ancestors_or_self(tree)
        depths = visible.sum(1) - 1
        return cls(tree.int().to(device), visible.to(device), depths.int().to(device))

    def path(self, row: int) -> list[int]:
        parents, path = self.parents.tolist(), []
        while row >= 0:
            path.append(row)
            row = parents[row]
        return path[::-1]

    def padded_path(self, row: int) -> tuple[Tensor, int]:
        """The path, followed by what must not be looked at, and its length."""
        path = self.path(row)
        return torch.tensor([*path, 10**9, -7], dtype=torch.int32, device=self.parents.device), len(path)


@dataclass(frozen=True)
class DeltaCase:
    """Inputs of the gated delta rule."""

    tree: Tree
    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor
    state: Tensor

    @property
    def rows(self) -> tuple[Tensor, ...]:
        return self.q, self.k, self.v, self.g, self.beta

    @classmethod
    def random(
        cls,
        rows: int,
        heads: tuple[int, int],
        dims: tuple[int, int],
        device: str,
        *,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        kind: str = "usual",
        padding: int = 0,
        reach: int = 12,
    ) -> DeltaCase:
        """``kind``: ``alike`` keys nearly the same with no decay (where inverting by powers fails),
        ``decaying`` so fast that exponentials of sums overflow."""
        generator = torch.Generator().manual_seed(seed)
        (HK, HV), (DK, DV) = heads, dims
        total = rows + padding

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator)

        tree = Tree.random(rows, seed, device, padding=padding, reach=reach)
        k, g, beta = draw(total, HK, DK), -F.softplus(2 * draw(total, HV)), torch.sigmoid(draw(total, HV))
        if kind == "alike":
            k = draw(1, HK, DK) + 0.05 * k
            g, beta = torch.full_like(g, -1e-3), torch.full_like(beta, 0.98)
        if kind == "decaying":
            g = torch.full_like(g, -50.0)
        v = draw(total, HV, DV)
        v[rows:] *= 1e4  # what stands in padding must not matter
        q = F.normalize(draw(total, HK, DK), dim=-1) * DK**-0.5
        k = F.normalize(k, dim=-1)
        columns = (q, k, v.to(dtype), g, beta, draw(HV, DK, DV))
        return cls(tree, *(x.to(device) for x in columns))


def check_delta(
    kernels: SimpleNamespace,
    device: str,
    rows: int,
    heads: tuple[int, int],
    dims: tuple[int, int],
    **options: Any,
) -> Errors:
    """The solve, and the commit of a whole path, half of it and nothing of it."""
    case = DeltaCase.random(rows, heads, dims, device, **options)
    before = case.state.clone()
    out, solution = kernels.tree_delta(*case.rows, case.tree.visible, case.state)
    visible, state = case.tree.visible, case.state.double()
    expected, exact = delta.tree_delta_torch(*wide(*case.rows), visible, state)
    errors = {
        "out": relative(out[:rows], expected[:rows]),
        "u": relative(solution.u[:rows], exact.u[:rows]),
        "decay": relative(solution.decay[:rows], exact.decay[:rows]),
        "state_kept": relative(case.state, before),
    }
    path, length = case.tree.padded_path(rows - 1)
    for count in sorted({0, length // 2, length}):
        done = kernels.tree_delta_commit(
            case.state, solution, path, one(count, device), torch.empty_like(case.state)
        )
        right = delta.tree_delta_commit_torch(state, exact, path, one(count, device), state.clone())
        errors[f"commit_{count}_of_{length}"] = relative(done, right)
    return errors


def check_stacked_commit(kernels: SimpleNamespace, device: str) -> Errors:
    """Three layers at once, in place, against one by one."""
    cases = [DeltaCase.random(20, (1, 2), (16, 24), device, seed=seed) for seed in range(3)]
    solutions = [delta.tree_delta_torch(*case.rows, cases[0].tree.visible, case.state)[1] for case in cases]
    stacked = TreeSolution(
        *(torch.stack([getattr(s, name) for s in solutions]) for name in ("k", "u", "decay"))
    )
    path, length = cases[0].tree.padded_path(19)
    states = torch.stack([case.state for case in cases])
    expected = [
        delta.tree_delta_commit_torch(
            case.state.double(), TreeSolution(*wide(s.k, s.u, s.decay)), path, one(length, device),
            case.state.double(),
        )
        for case, s in zip(cases, solutions, strict=True)
    ]  # fmt: skip
    kernels.tree_delta_commit(states, stacked, path, one(length, device), states)
    return {"states": relative(states, torch.stack(expected))}


def check_inputs(
    kernels: SimpleNamespace,
    device: str,
    rows: int,
    heads: tuple[int, int],
    dims: tuple[int, int],
    *,
    taps: int = 4,
    bias: bool = False,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Errors:
    """The convolution alone, with all that follows it, and the next window."""
    generator = torch.Generator().manual_seed(seed)
    (HK, HV), (DK, DV) = heads, dims
    channels = 2 * HK * DK + HV * DV

    def draw(*shape: int, kind: torch.dtype = dtype) -> Tensor:
        return torch.randn(*shape, generator=generator).to(kind).to(device)

    tree = Tree.random(rows, seed, device)
    # Slices of one projection, as of merged weights.
    mixed, _, b, a = draw(rows, channels + 8 + 2 * HV).split([channels, 8, HV, HV], dim=-1)
    window, weight = draw(taps - 1, channels), draw(channels, taps)
    shift = draw(channels) if bias else None
    gates = 6 * a, b, draw(HV, kind=torch.float32), draw(HV, kind=torch.float32)
    errors = {
        "conv": relative(
            kernels.tree_conv(mixed, window, tree.parents, weight, shift),
            delta_inputs.tree_conv_torch(*wide(mixed, window, tree.parents, weight, shift)),
        )
    }
    got = kernels.delta_inputs(mixed, window, tree.parents, weight, shift, *gates, heads, dims)
    expected = delta_inputs.delta_inputs_torch(
        *wide(mixed, window, tree.parents, weight, shift, *gates), heads, dims
    )
    for name in expected._fields:
        errors[name] = relative(getattr(got, name), getattr(expected, name))
    kept, keys = torch.zeros(rows, channels, dtype=dtype, device=device), torch.empty_like(got.k)
    again = kernels.delta_inputs(
        mixed, window, tree.parents, weight, shift, *gates, heads, dims, k=keys, kept=kept
    )
    errors["kept"] = float(again.k is not keys or not torch.equal(kept, mixed))
    errors["k_into"] = relative(keys, expected.k)
    path, length = tree.padded_path(rows - 1)
    for count in sorted({0, 1, length}):
        taken = path[:count].long()
        right = torch.cat((window, mixed[taken]))[-(taps - 1) :]
        moved = window.clone()
        kernels.conv_window(moved, mixed, path, one(count, device), moved)
        errors[f"window_{count}"] = float(not torch.equal(moved, right))
    return errors


def check_attention(
    kernels: SimpleNamespace,
    device: str,
    rows: int,
    heads: tuple[int, int],
    width: int,
    length: int,
    *,
    dtype: torch.dtype = torch.float32,
    window: int | None = None,
    sinks: bool = False,
    gate: bool = False,
    splits: int | None = None,
    spare: int = 37,
    seed: int = 0,
) -> Errors:
    """Attention over a buffer whose unused columns hold NaN, then its commit."""
    generator = torch.Generator().manual_seed(seed)
    HQ, HKV = heads

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    tree = Tree.random(rows, seed, device)
    keys, values = (draw(HKV, length + rows + spare, width) for _ in range(2))
    for buffer in (keys, values):
        buffer[:, length:] = torch.nan
    k, v = draw(rows, HKV, width), draw(rows, HKV, width)
    kernels.kv_write(k, v, keys, values, one(length, device))
    written = torch.equal(keys[:, length : length + rows], k.transpose(0, 1)) and torch.equal(
        values[:, length : length + rows], v.transpose(0, 1)
    )
    # Queries and gates as halves of one projection, as in Qwen3.5.
    q, factor = draw(rows, HQ, 2 * width).chunk(2, dim=-1)
    options: dict[str, Any] = {"depths": tree.depths, "window": window}
    tensors = {"sinks": draw(HQ) if sinks else None, "gate": factor if gate else None}
    more = {} if splits is None else {"splits": splits}
    got = kernels.tree_attention(
        q, keys, values, one(length, device), tree.visible, width**-0.5, **options, **tensors, **more
    )
    expected = attention.tree_attention_torch(
        q.double(), keys[:, : length + rows].double(), values[:, : length + rows].double(),
        one(length, device), tree.visible, width**-0.5, **options,
        **{name: None if x is None else x.double() for name, x in tensors.items()},
    )  # fmt: skip
    errors = {"attention": relative(got, expected), "written": float(not written)}
    path, steps = tree.padded_path(rows - 1)
    for count in sorted({0, steps // 2, steps}):
        moved = keys.clone(), values.clone()
        kernels.kv_commit(attention.LayerBuffers(moved), path, one(count, device), one(length, device))
        taken = path[:count].long() + length
        right = all(
            torch.equal(after[:, length : length + count], before[:, taken])
            and torch.equal(after[:, :length], before[:, :length])
            for after, before in zip(moved, (keys, values), strict=True)
        )
        errors[f"moved_{count}"] = float(not right)
    return errors


def check_elementwise(
    kernels: SimpleNamespace, device: str, rows: int, dtype: torch.dtype = torch.float32, seed: int = 0
) -> Errors:
    """Norms, SwiGLU and rotary with and without their options."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    errors = {}
    x, residual, weight = draw(rows, 200), draw(rows, 200), draw(200)
    for name, options in {"norm": {}, "norm_add": {"residual": residual}}.items():
        for one_plus in (False, True):
            got = kernels.rms_norm(x, weight, 1e-6, one_plus=one_plus, **options)
            exact = elementwise.rms_norm_torch(
                *wide(x, weight), 1e-6, one_plus=one_plus, **{n: wide(t)[0] for n, t in options.items()}
            )
            errors[f"{name}_{one_plus}"] = max(relative(a, b) for a, b in zip(got, exact, strict=True))
    heads, gate, scale = draw(rows, 3, 24), draw(rows, 3, 48)[..., 24:], draw(24)
    errors["gated_norm"] = relative(
        kernels.gated_rms_norm(heads, gate, scale, 1e-6),
        elementwise.gated_rms_norm_torch(*wide(heads, gate, scale), 1e-6),
    )
    exact = elementwise.gated_rms_norm_torch(*wide(heads, gate, scale), 1e-6)
    errors["gated_norm_float32"] = relative(kernels.gated_rms_norm(heads.float(), gate, scale, 1e-6), exact)
    left, right = draw(rows, 2 * 72).chunk(2, dim=-1)
    errors["swiglu"] = relative(kernels.swiglu(left, right), elementwise.swiglu_torch(*wide(left, right)))

    start, offsets = one(30_000, device), torch.arange(rows, device=device) // 2
    frequencies = (1e4 ** -(torch.arange(8) / 8)).to(device)
    for got, exact in zip(
        kernels.rotary_angles(start, offsets, frequencies, 1.5, dtype),
        elementwise.rotary_angles_torch(start, offsets, frequencies, 1.5, torch.float64),
        strict=True,
    ):
        errors["angles"] = max(errors.get("angles", 0.0), relative(got, exact))

    angles = 50 * torch.rand(rows, 8, generator=generator)
    cos, sin = angles.cos().to(device), angles.sin().to(device)
    for normed in (False, True):
        norms = draw(24), draw(24)
        # Slices of one projection in which each query head is followed by its gate.
        q, k, v = draw(rows, 4 * 48 + 2 * 2 * 24).split([4 * 48, 2 * 24, 2 * 24], dim=-1)
        q, k, v = q.view(rows, 4, 48)[..., :24], k.view(rows, 2, 24), v.view(rows, 2, 24)
        errors[f"rotary_{normed}"] = relative(
            kernels.rotate_heads(q, cos, sin, weight=norms[0] if normed else None, one_plus=True),
            elementwise.rotate_heads_torch(
                *wide(q, cos, sin), weight=wide(norms[0])[0] if normed else None, one_plus=True
            ),
        )
        buffers = draw(2, rows + 11, 24), draw(2, rows + 11, 24)
        exact_buffers = wide(*buffers)
        weights = {"q_weight": norms[0], "k_weight": norms[1]} if normed else {}
        queries = kernels.attention_inputs(q, k, v, cos, sin, *buffers, one(5, device), **weights)
        exact_queries = elementwise.attention_inputs_torch(
            *wide(q, k, v, cos, sin), *exact_buffers, one(5, device),
            **{n: wide(t)[0] for n, t in weights.items()},
        )  # fmt: skip
        errors[f"inputs_{normed}"] = max(
            relative(a, b) for a, b in zip((queries, *buffers), (exact_queries, *exact_buffers), strict=True)
        )
        before = [buffer.clone() for buffer in buffers]
        none = kernels.attention_inputs(k[:, :0], k, v, cos, sin, *buffers, one(5, device), **weights)
        same = all(torch.equal(a, b) for a, b in zip(buffers, before, strict=True))
        errors[f"keys_alone_{normed}"] = float(none.shape != (rows, 0, 24) or not same)
    return errors


def worst(errors: Errors) -> tuple[str, float]:
    """The largest error and what it belongs to."""
    return max(errors.items(), key=lambda item: item[1])

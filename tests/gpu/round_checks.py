"""The kernels of walk and commit against their twins: integers equal, floats near float64.

Shared, like ``kernel_checks``, by the tests under Triton's interpreter, those on a GPU and the benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from kernel_checks import Errors, relative
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels import logits as plain_logits
from engine.kernels import record as plain_record
from engine.kernels import walk as plain_walk
from engine.kernels.logits import RowStatistics
from engine.kernels.record import Chosen, Drafted
from engine.kernels.walk import Text, Walk

STEPS = 16


def unequal(got: Tensor, expected: Tensor) -> float:
    """0 when both hold the same numbers."""
    return float(not torch.equal(got.double(), expected.double()))


def awkward_logits(rows: int, vocab: int, device: str, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Logits whose best entries are often equal, in rows of every kind a model could give."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, vocab, generator=generator)
    places = torch.randint(vocab, (rows, 3), generator=generator)
    kinds = torch.arange(rows) % 4
    for row, (kind, some) in enumerate(zip(kinds.tolist(), places, strict=True)):
        if kind == 1:  # ties, also across the shares of a row
            logits[row, some] = 9.0
        elif kind == 2:  # the best at an end
            logits[row, [0, -1]] = torch.tensor([8.0, 7.0]).flip(0) if row % 8 == 2 else 8.0
        elif kind == 3:  # most entries out of reach, as if filtered
            logits[row, : vocab - 2] = -torch.inf
    return logits.to(dtype).to(device)


def check_statistics(
    kernels: SimpleNamespace, device: str, rows: int, vocab: int, dtype: torch.dtype
) -> Errors:
    """Rows that are finite, then one row of each kind that is not."""
    logits = awkward_logits(rows, vocab, device, dtype)
    got = kernels.row_statistics(logits)
    expected = plain_logits.row_statistics_torch(logits.double())
    errors = {name: unequal(one, other) for name, one, other in zip(got._fields, got, expected, strict=True)}
    errors["logsumexp"] = relative(got.logsumexp, expected.logsumexp)
    broken = awkward_logits(6, vocab, device, dtype)
    broken[0], broken[1, vocab // 2], broken[2, -1], broken[3] = torch.nan, torch.nan, torch.inf, -torch.inf
    broken[4, 0], broken[4, -1] = torch.inf, torch.nan
    got = kernels.row_statistics(broken)
    finite = torch.isfinite(got.logsumexp).tolist()
    errors["finite"] = float(finite != [False] * 5 + [True])
    errors["ids_in_range"] = float(not bool(((got.best_id >= 0) & (got.best_id < vocab)).all()))
    errors["infinite_best"] = float(int(got.best_id[2]) != vocab - 1 or int(got.best_id[3]) != 0)
    return errors


def check_rank(kernels: SimpleNamespace, device: str, vocab: int, dtype: torch.dtype) -> Errors:
    """Ranks of tokens at both ends, within ties, and in a row past the last."""
    logits = awkward_logits(7, vocab, device, dtype, seed=1)
    errors = {}
    for row in (0, 1, 2, 3, 6, 9):
        scores = logits[min(row, 6)].double()
        order = torch.sort(scores, descending=True, stable=True).indices
        for rank in (0, 1, 2, vocab // 2, vocab - 1):
            at = torch.tensor(row, dtype=torch.int32, device=device), order[rank].clone()
            errors[f"{row}_{rank}"] = abs(float(kernels.count_better(logits, *at).sum()) - rank)
    return errors


@dataclass(frozen=True)
class RoundCase:
    """A verified tree before its walk."""

    tree: DraftTree
    is_node: Tensor
    choices: Tensor
    text: Text

    @classmethod
    def random(
        cls,
        rows: int,
        device: str,
        *,
        seed: int = 0,
        padding: int = 0,
        remaining: int = 1000,
        done: bool = False,
        agrees: float = 0.9,
    ) -> RoundCase:
        """A tree of ``rows`` - 1 nodes, then ``padding`` places that are none; the target chooses a child's
        token with probability ``agrees`` where there is one. Tokens 3 and 5 stop one text in two."""
        generator = torch.Generator().manual_seed(seed)

        def draw(high: int) -> int:
            return int(torch.randint(high, (1,), generator=generator))

        parents, depths, tokens = [-1], [0], [-1]
        children: list[list[int]] = [[]]
        for row in range(1, rows):
            parent = row - 1 - draw(min(row, 6))
            while depths[parent] + 1 == STEPS or len(children[parent]) == 8:
                parent = draw(row)
            parents.append(parent)
            depths.append(depths[parent] + 1)
            tokens.append(draw(3) + 3 * len(children[parent]))  # siblings differ
            children[parent].append(row)
            children.append([])
        choices = []
        for own in children:
            agreed = own and float(torch.rand(1, generator=generator)) < agrees
            choices.append(tokens[own[draw(len(own))]] if agreed else 40 + draw(3))
        # What stands in the other places looks like accepted children of the root.
        tokens += [choices[0]] * padding
        choices += [0] * padding
        parents, depths = parents + [0] * padding, depths + [1] * padding
        nodes = rows - 1 + padding

        def numbers(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.int64, device=device)

        tree = DraftTree(
            token_ids=numbers(tokens[1:]),
            parents=numbers(parents[1:]) - 1,
            depths=numbers(depths[1:]),
            logprobs=-torch.rand(nodes, generator=generator).to(device),
            ranks=numbers([draw(9) for _ in range(nodes)]),
            budget=nodes,
        )
        text = Text(
            length=torch.tensor(50, dtype=torch.int32, device=device),
            root_id=numbers([77]),
            remaining=torch.tensor(remaining, device=device),
            done=torch.tensor(done, device=device),
            feature_rows=torch.tensor(4, device=device),
            stop_ids=numbers([3, 5, *[-1] * 14] if seed % 2 else [-1] * 16),
        )
        is_node = torch.arange(nodes, device=device) < rows - 1
        return cls(tree, is_node, numbers(choices), text)


def fresh(text: Text) -> Text:
    """A copy to move on."""
    return Text(*(tensor.clone() for tensor in text))


CASES = [
    {},
    {"padding": 5},
    {"remaining": 1},
    {"remaining": 2, "padding": 1},
    {"remaining": 5},
    {"done": True},
    {"agrees": 0.0},
    {"agrees": 1.0},
]


def check_walk(kernels: SimpleNamespace, device: str, rows: int) -> Errors:
    """Walks, and where they end the text: by stop ids, by its limit, before."""
    errors = {}
    for number, options in enumerate(CASES):
        for seed in (2 * number, 2 * number + 1):
            case = RoundCase.random(rows, device, seed=seed, **options)
            arguments = (case.choices, case.tree, case.is_node, case.text, STEPS)
            got, expected = kernels.walk_tree(*arguments), plain_walk.walk_tree_torch(*arguments)
            for name in vars(expected):
                errors[f"{name} {options} {seed}"] = unequal(getattr(got, name), getattr(expected, name))
    return errors


def check_append(kernels: SimpleNamespace, device: str, width: int, dtype: torch.dtype) -> Errors:
    buffer = torch.randn(40, width).to(dtype).to(device)
    rows = torch.randn(9, width).to(device)
    path = torch.tensor([0, 2, 3, 7, 7, 7], dtype=torch.int32, device=device)
    expected = buffer.clone()
    expected[11:17] = rows[path.long()].to(dtype)
    kernels.append_rows(buffer, torch.tensor(11, device=device), rows, path)
    return {"rows": unequal(buffer, expected)}


def check_close(kernels: SimpleNamespace, device: str, rows: int, vocab: int, dtype: torch.dtype) -> Errors:
    """Records of whole rounds, and the text after them, with a drafter and without, finite and not."""
    errors: Errors = {}
    for number, options in enumerate(CASES):
        case = RoundCase.random(rows, device, seed=number, **options)
        logits = awkward_logits(len(case.choices), vocab, device, dtype, seed=number)
        walk = plain_walk.walk_tree_torch(case.choices, case.tree, case.is_node, case.text, STEPS)
        for depths in (0, 4, STEPS - 1):
            drafts = awkward_logits(depths, vocab, device, dtype, seed=number + 1)
            broken = number == 3
            if broken and depths:
                drafts[-1, 5] = torch.nan
            elif broken:
                logits[-1, 5] = torch.inf
            for name, error in _close(kernels, case, logits, drafts, walk).items():
                errors[f"{name} {options} {depths}"] = error
    return errors


def _close(kernels: SimpleNamespace, case: RoundCase, logits: Tensor, drafts: Tensor, walk: Walk) -> Errors:
    statistics = RowStatistics(*plain_logits.row_statistics_torch(logits))
    drafted = None
    if len(drafts):
        sums = plain_logits.row_statistics_torch(drafts).logsumexp
        better = plain_logits.count_better_torch(drafts, walk.accepted, walk.bonus)
        drafted = Drafted(drafts, sums, torch.cat((better, better.new_zeros(3))))
    rest = (case.tree, case.is_node, Chosen(logits, statistics, case.choices), drafted, walk)
    texts = fresh(case.text), fresh(case.text)
    got, expected = kernels.close_round(*rest, texts[0]), plain_record.close_round_torch(*rest, texts[1])
    rows, nodes = len(case.choices), len(case.tree)
    floats = len(expected) - (1 + 2 * rows + nodes)
    bits = [record[floats:].view(torch.float32).double() for record in (got, expected)]
    same = torch.allclose(*bits, rtol=1e-6, atol=1e-6, equal_nan=True)
    errors = {"integers": unequal(got[:floats], expected[:floats]), "floats": float(not same)}
    for name, one, other in zip(Text._fields, *texts, strict=True):
        errors[name] = unequal(one, other)
    return errors

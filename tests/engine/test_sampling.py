from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import engine.sampling
from engine.sampling import Sampler, first_argmax, gumbel_noise


def test_greedy_takes_the_lowest_id_among_equals() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    assert first_argmax(logits).tolist() == [1, 0]
    assert Sampler(top_p=0.1, seed=9).choose(logits, torch.tensor([4, 5])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k", "min_p"),
    [(1.0, 1.0, 0, 0.0), (0.8, 0.95, 0, 0.0), (1.3, 1.0, 7, 0.0), (1.0, 0.9, 9, 0.05), (0.6, 1.0, 0, 0.2)],
)
def test_20000_samples_have_the_targets_frequencies(
    temperature: float, top_p: float, top_k: int, min_p: float
) -> None:
    logits = torch.randn(1, 23, generator=torch.Generator().manual_seed(1)) * 1.5
    sampler = Sampler(temperature, top_p, top_k, min_p)
    expected = sampler.filtered_logprobs(logits)[0].exp()
    seeds, positions = 2_000, torch.arange(17, 27)
    draws = seeds * len(positions)
    counts = torch.zeros(23, dtype=torch.int64)
    for seed in range(seeds):
        tokens = Sampler(temperature, top_p, top_k, min_p, seed).choose(logits.expand(10, -1), positions)
        counts += tokens.bincount(minlength=23)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    result = stats.chisquare(counts[possible].double().numpy(), (expected[possible] * draws).numpy())
    assert result.pvalue > 1e-3


def test_positions_and_seeds_are_independent_keys() -> None:
    noise = gumbel_noise(3, torch.arange(50), 400)
    flat = noise.flatten()
    assert stats.kstest(flat.numpy(), stats.gumbel_r.cdf).pvalue > 1e-3
    assert len(set(flat.tolist())) == flat.numel()
    assert torch.corrcoef(noise).fill_diagonal_(0).abs().max() < 0.25
    other = gumbel_noise(4, torch.arange(50), 400)
    # Seeds next to one another must not share shifted noise (seed 3 position 1 = seed 4 position 0).
    shared = set(flat.tolist()) & set(other.flatten().tolist())
    assert not shared


def test_noise_is_a_function_of_its_keys_alone() -> None:
    whole = gumbel_noise(11, torch.tensor([5, 6, 7]), 100)
    assert torch.equal(gumbel_noise(11, torch.tensor([6]), 100)[0], whole[1])
    assert torch.equal(gumbel_noise(11, torch.tensor([6]), 40)[0], whole[1, :40])
    assert whole[0, 0].item() == pytest.approx(-math.log(-math.log(_uniform(11, 5, 0))), abs=1e-12)


def _uniform(seed: int, position: int, token: int) -> float:
    """The same keyed noise in plain integers."""
    mask, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    key = mix((mix((seed + golden) & mask) + position) & mask)
    return ((mix((key + token * golden) & mask) >> 11) + 0.5) * 2.0**-53


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**40))
@settings(max_examples=50, deadline=None)
def test_any_seed_and_position_work(seed: int, position: int) -> None:
    noise = gumbel_noise(seed, torch.tensor([position]), 8)
    assert torch.isfinite(noise).all()


def test_rows_of_one_position_share_noise_and_others_do_not() -> None:
    sampler = Sampler(temperature=1.0, seed=5)
    logits = torch.zeros(3, 1000)
    a, b, c = sampler.choose(logits, torch.tensor([8, 8, 9])).tolist()
    assert a == b != c


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_filters_keep_what_their_definition_says(seed: int) -> None:
    logits = torch.randn(2, 30, generator=torch.Generator().manual_seed(seed)) * 2
    plain = torch.softmax(logits.double() / 0.7, -1)
    for row, p in zip(Sampler(0.7, top_p=0.8).filtered_logprobs(logits), plain, strict=True):
        ordered, order = p.sort(descending=True)
        keep = order[: int((ordered.cumsum(0) < 0.8).sum()) + 1]
        assert set(row.isfinite().nonzero()[:, 0].tolist()) == set(keep.tolist())
        assert row.exp().sum() == pytest.approx(1.0)
        assert torch.allclose(row.exp()[keep], p[keep] / p[keep].sum())
    for row, p in zip(Sampler(0.7, min_p=0.1).filtered_logprobs(logits), plain, strict=True):
        assert torch.equal(row.isfinite(), p >= 0.1 * p.max())
    kept = Sampler(0.7, top_k=4).filtered_logprobs(logits).isfinite()
    assert kept.sum(-1).tolist() == [4, 4]


def test_rows_in_pieces_choose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(11, 50, generator=torch.Generator().manual_seed(4))
    positions = torch.tensor([7, 8, 8, 8, 9, 9, 10, 10, 10, 11, 12])
    sampler = Sampler(1.3, top_p=0.9, top_k=20, seed=5)
    whole = sampler.choose(logits, positions)
    for scores in (1, 100, 549):
        monkeypatch.setattr(engine.sampling, "SCORES", scores)
        assert torch.equal(sampler.choose(logits, positions), whole)

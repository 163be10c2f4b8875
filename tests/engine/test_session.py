from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, VOCAB, tiny_pair

from engine.ddtree import build_ddtree_tree_from_logits, empty_tree
from engine.session import Session

TEXT = torch.randint(0, VOCAB - 2, (80,), generator=torch.Generator().manual_seed(0)).tolist()


@pytest.fixture(params=FAMILIES)
def session(request: pytest.FixtureRequest) -> Session:
    pair = tiny_pair(request.param, dtype=torch.float64)
    return pair.session


def last_logits(session: Session, ids: list[int], stable: int = 0) -> torch.Tensor:
    return list(session.prefill(ids, stable))[-1]


def test_rewind_goes_on_from_the_end(session: Session) -> None:
    last_logits(session, TEXT[:30])
    assert session.rewind(TEXT[:50]) == 30


def test_rewind_leaves_a_token_to_prefill(session: Session) -> None:
    last_logits(session, TEXT[:30], stable=20)
    assert session.rewind(TEXT[:30]) == 20
    assert session.rewind(TEXT[:20]) == 0


def test_rewind_goes_back_to_the_snapshot(session: Session) -> None:
    last_logits(session, TEXT[:30], stable=20)
    root, tree = 4, build_ddtree_tree_from_logits(torch.randn(5, VOCAB), 12)
    session.draft(root)
    session.verify(root, tree, "solve")
    session.commit([root, int(tree.token_ids[0])], [0, 1])
    other = [*TEXT[:20], *TEXT[40:60]]
    assert session.rewind(other) == 20
    assert session.ids == TEXT[:20]
    again = last_logits(session, other[20:])
    drafted = session.draft(5)
    session.reset()
    assert session.rewind(other) == 0
    assert torch.allclose(last_logits(session, other), again, atol=1e-5)
    assert torch.allclose(session.draft(5), drafted, atol=1e-5)


def test_features_of_the_last_tokens_wait_for_the_drafter(session: Session) -> None:
    assert session.waiting_features(3) is None
    last_logits(session, TEXT[:5])
    for root in (7, 8):
        session.verify(root, empty_tree(), "solve")
        session.commit([root], [0])
    everything = session.waiting_features(7)
    assert everything is not None
    assert len(everything) == 7
    for rows in range(1, 8):
        last = session.waiting_features(rows)
        assert last is not None
        assert torch.equal(last, everything[-rows:])
        assert last.untyped_storage().nbytes() == last.nbytes  # copies, and nothing else behind them


def test_rewind_forgets_another_text(session: Session) -> None:
    last_logits(session, TEXT[:30], stable=20)
    assert session.rewind([*TEXT[1:30]]) == 0
    assert session.ids == []
    assert session.cache.length == 0


def test_the_drafter_sees_committed_rows_only(session: Session) -> None:
    """Same committed text, by whatever route, same draft: nothing of a rejected branch gets in."""
    generator = torch.Generator().manual_seed(2)
    last_logits(session, TEXT[:30])
    root = TEXT[30]
    for _ in range(3):
        session.draft(root)
        tree = build_ddtree_tree_from_logits(torch.randn(5, VOCAB, generator=generator), 20)
        session.verify(root, tree, "solve")
        path = tree.path_to(int(torch.randint(0, 20, (1,), generator=generator)))
        session.commit([root, *(int(tree.token_ids[n]) for n in path)], [0, *(n + 1 for n in path)])
        root = 3
    drafted, text = session.draft(root), list(session.ids)
    session.reset()
    last_logits(session, text)
    assert torch.allclose(session.draft(root), drafted, atol=1e-5)

"""What is said about a place: the numbers of both models and why it stands as it does."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_recording import VOCABULARY, Recording, conversation, spelled
from rich.cells import cell_len
from test_draft_shape import hand_made
from test_tree_folds import seeds

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.glyphs import State
from ddtree_tui.labels import Labels
from ddtree_tui.node_facts import NodeFacts, facts_of
from ddtree_tui.vocabulary import SeenVocabulary
from ddtree_tui.widgets.node_detail import COMING, detail_lines
from engine.events import Candidates, Finished, Miss, Round, Tokens
from engine.settings import DecodeSettings

WORDS = {1: "Once", 7: " sea", 100: " upon", 101: " in", 102: " a", 103: " the", 104: " b", 105: " time"}


def facts(
    round_: Round, place: int, *, finished: Finished | None = None, stop: int | None = None
) -> NodeFacts:
    vocabulary = SeenVocabulary()
    vocabulary.add(Tokens(pieces={str(key): text for key, text in WORDS.items()}))
    stops = [] if stop is None else [stop]
    shape = DraftShape.of(round_)
    return facts_of(shape, place, vocabulary, Labels(vocabulary), finished=finished, stop_ids=stops)


def detailed(round_: Round) -> Round:
    """The target's choices of a hand-made round that was decoded with details: 102 behind 100, else 7."""
    ids = [100 if 0 in round_.accepted else 7, 102 if 2 in round_.accepted else 7, 7, 7, 7, 7, 7]
    target = msgspec.structs.replace(round_.target, ids=ids, logprobs=[-0.25] * 7, gaps=[1.5] * 7)
    rows = [[chosen, 101, 103] for chosen in ids]
    return msgspec.structs.replace(
        round_,
        target=target,
        target_topk=Candidates(ids=rows, logprobs=[[-0.25, -1.5, -3.0]] * 7),
        drafter_topk=Candidates(ids=[[100, 101], [102, 103], [105, 1]], logprobs=[[-0.7, -0.9]] * 3),
    )


def test_a_rejected_node() -> None:
    round_ = detailed(hand_made(bonus=7, accepted=[0]))
    found = facts(round_, 3)
    assert (found.state, found.token, found.label, found.raw) == (State.REJECTED, 103, "␣the", b" the")
    assert (found.path, found.depth, found.rank) == ("Once upon the", 2, 1)
    assert found.logprob == pytest.approx(math.log(0.3))
    assert found.weight == pytest.approx(math.log(0.5 * 0.3))
    assert found.target_logprob == -3.0  # third among the target's
    assert found.wanted is not None
    assert (found.wanted.label, found.wanted.logprob, found.wanted.gap) == ("␣sea", -0.25, 1.5)
    assert found.why == "the target chose ␣sea here, p .78"
    assert [(c.label, c.state) for c in found.drafter] == [("␣a", State.REJECTED), ("␣the", State.REJECTED)]
    assert [(c.label, c.state, c.chosen) for c in found.target] == [
        ("␣sea", State.BONUS, True),
        ("␣in", None, False),
        ("␣the", State.REJECTED, False),
    ]
    assert [c.label for c in found.after] == ["␣sea", "␣in", "␣the"]


def test_reasons() -> None:
    listed = Miss(depth=2, id=7, rank=9, logprob=-3.0, beyond=False)
    round_ = detailed(hand_made(bonus=7, accepted=[0], miss=listed))
    assert facts(round_, ROOT).why == "drafts grow from it"
    assert facts(round_, 0).why == "the target chose it; none of its children was its next choice"
    assert facts(round_, 5).why == "its parent ␣a at depth 2 was rejected"
    assert facts(round_, 4).why == "its parent ␣in at depth 1 was rejected"
    assert facts(round_, BONUS).why == "the target's own token; the next round's root"
    assert facts(round_, BONUS, stop=7).why == "the target's own token; it ends the answer"
    assert facts(round_, NEAR_MISS).why == "path p .02; the tree's least has p .15"
    assert facts(round_, NEAR_MISS).rank == 9
    chain = msgspec.structs.replace(round_, mode="chain")
    assert "a chain holds only #0" in facts(chain, NEAR_MISS).why
    whole = facts(hand_made(bonus=7, accepted=[0, 2, 5]), 5)
    assert whole.why == "the target chose it; the drafted block ends here"
    beyond = Miss(depth=4, id=7, rank=99, logprob=-9.0, beyond=True)
    assert facts(hand_made(bonus=7, accepted=[0, 2, 5], miss=beyond), 5).why.endswith("the tree ends here")


def test_how_an_answer_ended_inside_the_tree() -> None:
    cut = hand_made(bonus=None, accepted=[0, 2])
    assert facts(cut, 5).why == "the answer ended above it"
    assert facts(cut, 2, stop=102).why.endswith("a stop token ends the answer")
    finished = next(event for event in conversation(0) if isinstance(event, Finished))
    by_length = msgspec.structs.replace(finished, reason="length")
    assert facts(cut, 2, finished=by_length).why.endswith("the limit of tokens is reached")
    assert facts(cut, 2, finished=finished).why.endswith("a stop string ends the answer here")


def test_without_details_the_drafters_list_is_what_the_tree_has() -> None:
    found = facts(hand_made(bonus=7, accepted=[0]), 3)
    assert not found.recorded
    assert [c.label for c in found.drafter] == ["␣a", "␣the"]
    assert found.target_logprob is None
    assert len(found.target) == len(found.after) == 1


@settings(max_examples=60, deadline=None)
@given(
    seeds,
    st.sampled_from(("ar", "chain", "tree")),
    st.booleans(),
    st.integers(20, 120),
    st.integers(1, 20),
    st.data(),
)
def test_the_pane_keeps_its_bounds(
    seed: int, mode: str, detail: bool, width: int, height: int, data: st.DataObject
) -> None:
    round_ = Recording(seed).round(DecodeSettings(budget=40, mode=mode, detail=detail), 0, 50, 7)  # type: ignore[arg-type]
    shape = DraftShape.of(round_)
    vocabulary = SeenVocabulary()
    vocabulary.add(spelled(list(range(len(VOCABULARY)))))
    place = data.draw(st.sampled_from([ROOT, *shape.subtree(ROOT)]))
    found = facts_of(shape, place, vocabulary, Labels(vocabulary))
    assert found.recorded == detail
    lines = detail_lines(found, width, height, COMING)
    assert 1 <= len(lines) <= height
    for line in lines:
        assert sum(cell_len(text) for text, _ in line) <= width
        assert not any(set(text) & set("\n\t\x1b\u202e") for text, _ in line)
    text = "\n".join("".join(text for text, _ in line) for line in lines)
    if height >= 12 and width >= 50:
        assert f"id {found.token}" in text
        assert found.why[:20] in text
        assert (COMING in text) == (not detail and width >= len(COMING))
        if detail and place != ROOT:
            assert "target here" in text

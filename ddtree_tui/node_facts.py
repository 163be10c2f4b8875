"""Everything a round tells about one place of its draft tree, in words and numbers. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import exp

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.escape import decode_bytes, escape
from ddtree_tui.glyphs import State, small_probability
from ddtree_tui.tree_parts import Label
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import UNKNOWN_ID, Candidates, Finished


@dataclass(frozen=True)
class Candidate:
    """A token somebody thought of. ``state``: of the place in the tree that has it there, if one has.
    ``logprob``: None where unknown."""

    label: str
    logprob: float | None
    state: State | None
    chosen: bool


@dataclass(frozen=True)
class Choice:
    """What the target chose behind a place, and by how much: top-1 minus top-2 logit. An import may not say
    how probable it was, or even which token it was (``known``)."""

    label: str
    logprob: float | None
    gap: float | None
    known: bool = True


@dataclass(frozen=True)
class NodeFacts:
    """One place of a draft tree.

    Attributes:
        raw: the token's bytes.
        path: the text from the root to here, escaped.
        rank, logprob: the drafter's for the token at its depth; None where they are not known.
        target_logprob: the target's for the token, where it had to choose it.
        weight: natural log of the path's probability to the drafter.
        wanted: the target's choice in this place's stead (behind its parent); None of the root.
        next: the target's choice behind this place.
        why: why it stands as it does.
        recorded: whether the round was decoded with details; without them ``drafter`` holds what is in the
            tree, and of the target only its choices are known.
        told: whether the round says what the drafter thought of the token; imports may not.
        imported: whether the round is another system's.
        drafter: its best candidates at this depth.
        target: the target's best candidates in this place's stead.
        after: the target's best candidates behind this place.
    """

    state: State
    token: int
    label: str
    raw: bytes
    depth: int
    path: str
    rank: int | None
    logprob: float | None
    target_logprob: float | None
    weight: float | None
    wanted: Choice | None
    next: Choice | None
    why: str
    recorded: bool
    told: bool
    imported: bool
    drafter: list[Candidate]
    target: list[Candidate]
    after: list[Candidate]


def facts_of(
    shape: DraftShape,
    place: int,
    vocabulary: SeenVocabulary,
    label: Label,
    *,
    finished: Finished | None = None,
    stop_ids: Collection[int] = (),
) -> NodeFacts:
    """Read what a round says about a place that has a token.

    Args:
        finished: the end of the answer, if this is its last round.
        stop_ids: tokens that end an answer.
    """
    token = shape.token(place)
    assert token is not None
    round_, parent = shape.round, shape.parent(place)
    rank, logprob = _drafted(shape, place)
    above = shape.weights[parent] if parent >= 0 else 0.0
    path = b"".join(vocabulary.token_bytes(_token(shape, step)) for step in shape.path(place))
    return NodeFacts(
        state=shape.state(place),
        token=token,
        label=label(token)[0],
        raw=vocabulary.token_bytes(token),
        depth=shape.depth(place),
        path=escape(decode_bytes(path)),
        rank=rank,
        logprob=logprob,
        target_logprob=shape.target_logprob(place),
        weight=above + logprob if logprob is not None else None,
        wanted=_choice(shape, parent, label) if place != ROOT else None,
        next=_choice(shape, place, label) if place >= ROOT else None,
        why=_why(shape, place, label, finished, stop_ids),
        recorded=round_.target_topk is not None,
        told=logprob is not None or bool(round_.target.gaps),
        imported=not round_.target.gaps,
        drafter=_drafter_candidates(shape, place, label) if place != ROOT else [],
        target=_target_candidates(shape, parent, label) if place != ROOT else [],
        after=_target_candidates(shape, place, label) if place >= ROOT else [],
    )


def _token(shape: DraftShape, place: int) -> int:
    token = shape.token(place)
    assert token is not None
    return token


def _drafted(shape: DraftShape, place: int) -> tuple[int | None, float | None]:
    """The drafter's rank and log-probability of a place's token at its depth."""
    if place >= 0:
        nodes = shape.round.nodes
        return (
            nodes.ranks[place] if nodes.ranks else None,
            nodes.logprobs[place] if nodes.logprobs else None,
        )
    if place in (BONUS, NEAR_MISS) and (miss := shape.round.miss) is not None:
        return miss.rank, miss.logprob
    return None, None


def _choice(shape: DraftShape, place: int, label: Label) -> Choice:
    row, target = place + 1, shape.round.target
    return Choice(
        label(target.ids[row])[0],
        target.logprobs[row] if target.logprobs else None,
        target.gaps[row] if target.gaps else None,
        known=target.ids[row] != UNKNOWN_ID,
    )


def _states_below(shape: DraftShape, place: int) -> dict[int, State]:
    """Tokens that the tree has below a place; drafted nodes before the bonus token."""
    return {_token(shape, below): shape.state(below) for below in reversed(shape.below(place))}


def _drafter_candidates(shape: DraftShape, place: int, label: Label) -> list[Candidate]:
    """The drafter's at a place's depth; in a round without details those the tree has there."""
    depth, top = shape.depth(place), shape.round.drafter_topk
    listed: list[tuple[int, float | None]]
    if top is not None and depth <= len(top.ids):
        listed = list(zip(top.ids[depth - 1], top.logprobs[depth - 1], strict=True))
    else:
        nodes = shape.round.nodes
        by_rank: dict[int, tuple[int, float | None]] = {}
        for node, rank in enumerate(nodes.ranks):
            if nodes.depths[node] == depth:
                logprob = nodes.logprobs[node] if nodes.logprobs else None
                by_rank.setdefault(rank, (nodes.ids[node], logprob))
        listed = [by_rank[rank] for rank in sorted(by_rank)]
    return _candidates(shape, shape.parent(place), listed, label)


def _target_candidates(shape: DraftShape, place: int, label: Label) -> list[Candidate]:
    """The target's behind a place; in a round without details its choice alone."""
    top: Candidates | None = shape.round.target_topk
    row, target = place + 1, shape.round.target
    listed: list[tuple[int, float | None]] = []
    if top is not None and row < len(top.ids):
        listed = list(zip(top.ids[row], top.logprobs[row], strict=True))
    elif target.ids[row] != UNKNOWN_ID:
        listed = [(target.ids[row], target.logprobs[row] if target.logprobs else None)]
    return _candidates(shape, place, listed, label)


def _candidates(
    shape: DraftShape, place: int, listed: list[tuple[int, float | None]], label: Label
) -> list[Candidate]:
    below, choice = _states_below(shape, place), shape.round.target.ids[place + 1]
    return [
        Candidate(label(token)[0], logprob, below.get(token), token == choice) for token, logprob in listed
    ]


def _why(
    shape: DraftShape, place: int, label: Label, finished: Finished | None, stop_ids: Collection[int]
) -> str:
    """In a sentence, why a place stands as it does."""
    round_, state = shape.round, shape.state(place)
    if state is State.REJECTED:
        wanted = _choice(shape, shape.parent(place), label)
        if not wanted.known:
            return "the target chose another token here"
        p = "" if wanted.logprob is None else f", p {small_probability(exp(wanted.logprob))}"
        return f"the target chose {wanted.label} here{p}"
    if state is State.NOT_REACHED:
        above = next((p for p in reversed(shape.path(place)) if shape.state(p) is State.REJECTED), None)
        if above is None:
            return "the answer ended above it"
        return f"its parent {label(_token(shape, above))[0]} at depth {shape.depth(above)} was rejected"
    if state is State.NEAR_MISS:
        return _why_missed(shape)
    if place == BONUS:
        if round_.bonus_id in stop_ids:
            return "the target's own token; it ends the answer"
        return "the target's own token; the next round's root"
    reached = "drafts grow from it" if place == ROOT else "the target chose it"
    end = _why_ended(shape, finished, stop_ids) if place == shape.end else ""
    return f"{reached}; {end}" if end else reached


def _why_missed(shape: DraftShape) -> str:
    """Why the target's token, which the drafter had on its list, is not in the tree."""
    miss, weights = shape.round.miss, shape.weights
    assert miss is not None
    weight = miss.logprob + (weights[shape.end] if shape.end >= 0 else 0.0)
    if not weights:
        return "the drafter had it on its list"
    least = small_probability(exp(min(weights)))
    if shape.round.mode == "chain":
        return f"the drafter's choice #{miss.rank}; a chain holds only #0"
    return f"path p {small_probability(exp(weight))}; the tree's least has p {least}"


def _why_ended(shape: DraftShape, finished: Finished | None, stop_ids: Collection[int]) -> str:
    """Why the accepted path goes no further than where it ends."""
    round_ = shape.round
    if round_.mode == "ar" or not round_.tree_known:
        return ""
    if round_.bonus_id is None:
        if shape.end >= 0 and round_.nodes.ids[shape.end] in stop_ids:
            return "a stop token ends the answer"
        if finished is not None and finished.reason == "length":
            return "the limit of tokens is reached"
        if finished is not None and finished.reason == "unknown":
            return "the answer ends here"
        return "a stop string ends the answer here"
    if shape.children[shape.end]:
        return "none of its children was its next choice"
    if round_.miss is None and round_.target.gaps:  # imports say neither
        return "the drafted block ends here"
    return "the tree ends here"

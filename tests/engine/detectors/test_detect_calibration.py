"""The test of a drafter's promises: what it counts, what it lets pass, what it calls wrong."""

from __future__ import annotations

import random
from math import log

from engine.detectors.calibration import Calibration, steps
from engine.events import Finding, Loaded, Miss, ModelInfo, Nodes, Prefilled, Round, StageTimes, TargetRows
from engine.settings import DecodeSettings

VOCABULARY = 1000


def round_of(
    index: int, promised: float, accepted: int, *, depth: int = 4, rank: int = 3, complete: bool = True
) -> Round:
    """A chain whose every node has the probability ``promised``, ``accepted`` of them accepted."""
    return Round(
        index=index,
        mode="chain",
        position=10,
        root_id=1,
        nodes=Nodes(
            ids=[*range(depth)],
            parents=[*range(-1, depth - 1)],
            depths=[*range(1, depth + 1)],
            logprobs=[log(promised)] * depth,
            ranks=[0] * depth,
        ),
        target=TargetRows(ids=[0] * (depth + 1), logprobs=[0.0] * (depth + 1), gaps=[1.0] * (depth + 1)),
        accepted=[*range(accepted)],
        bonus_id=9 if complete else None,
        miss=Miss(depth=accepted + 1, id=9, rank=rank, logprob=-5.0, beyond=True) if complete else None,
        committed_ids=[*range(accepted)] + ([9] if complete else []),
        acceptance_length=accepted + complete,
        ms=StageTimes(),
    )


def loaded() -> Loaded:
    return Loaded(
        target=ModelInfo(name="t", path="t", architecture="t", parameters=1, dtype="float32"),
        drafter=None,
        device="cpu",
        versions={},
        block_size=5,
        mask_token_id=0,
        target_layer_ids=[],
        memory_bytes=0,
        seconds=0.0,
        context_length=100,
        vocab_size=VOCABULARY,
    )


def prefilled(temperature: float) -> Prefilled:
    return Prefilled(
        prompt_ids=[1],
        prompt_text="Hi",
        messages=[],
        thinking=False,
        settings=DecodeSettings(temperature=temperature),
        stop_ids=[],
        seconds=0.0,
        first_id=1,
    )


def found(
    rounds: list[Round], *, known: bool = True, temperature: float = 0.0, ended: bool = False
) -> list[Finding]:
    detector = Calibration()
    if known:
        list(detector.take(loaded()))
    list(detector.take(prefilled(temperature)))
    findings = [finding for each in rounds for finding in detector.take(each)]
    return findings + (list(detector.end()) if ended else [])


def test_a_step_is_a_node_that_the_walk_reached() -> None:
    assert [(round(promised, 6), kept) for promised, kept in steps(round_of(0, 0.5, 2))] == [
        (0.5, True),
        (0.5, True),
        (0.5, False),
    ]
    assert len(steps(round_of(0, 0.5, 4))) == 4  # below a leaf nothing is promised
    assert len(steps(round_of(0, 0.5, 2, complete=False))) == 2  # nor where the text ended


def test_children_promise_together() -> None:
    tree = Nodes(ids=[1, 2], parents=[-1, -1], depths=[1, 1], logprobs=[log(0.5), log(0.3)], ranks=[0, 1])
    event = round_of(0, 0.5, 0)
    event = Round(**{**{name: getattr(event, name) for name in event.__struct_fields__}, "nodes": tree})
    assert [(round(promised, 6), kept) for promised, kept in steps(event)] == [(0.8, False)]


def test_a_broken_word_is_named_from_its_first_round_on() -> None:
    kept = [round_of(index, 0.9, 4) for index in range(5)]
    broken = [round_of(index, 0.9, 0) for index in range(5, 40)]
    findings = found(kept + broken)
    assert [finding.cause for finding in findings] == ["calibration"]
    assert findings[0].round == 5
    assert findings[0].evidence["kept"] == 0


def test_nothing_is_promised_of_a_flattened_target() -> None:
    broken = [round_of(index, 0.9, 0) for index in range(40)]
    assert found(broken, temperature=1.0)
    assert not found(broken, temperature=1.5)


def test_what_stands_at_the_end_of_the_list_is_found_within_rounds() -> None:
    assert found([round_of(index, 0.95, 0, rank=VOCABULARY - 1) for index in range(7)])
    assert not found([round_of(index, 0.95, 0) for index in range(7)])
    assert not found([round_of(index, 0.95, 0, rank=VOCABULARY - 1) for index in range(7)], known=False)


def test_a_short_answer_is_warned_of_at_its_end() -> None:
    broken = [round_of(index, 0.95, 0, rank=VOCABULARY - 1) for index in range(5)]
    assert not found(broken)
    (finding,) = found(broken, ended=True)
    assert (finding.severity, finding.round) == ("warning", 0)
    assert finding.seen.startswith("In rounds 1 to 5 ")
    assert not found(broken[:2], ended=True)
    assert not found(broken, known=False, ended=True)
    assert not found(broken, temperature=1.5, ended=True)
    # What began in the middle of an answer must be certain.
    good = [round_of(index, 0.9, 4) for index in range(3)]
    late = [round_of(index + 3, 0.95, 0, rank=VOCABULARY - 1) for index in range(5)]
    assert not found(good + late, ended=True)
    (finding,) = found([round_of(index, 0.95, 0, rank=VOCABULARY - 1) for index in range(20)], ended=True)
    assert finding.severity == "defect"


def test_a_drafter_that_keeps_its_word_or_most_of_it_is_let_be() -> None:
    """Also one whose text suits it badly: 2,000 answers at seven tenths of the word, no alarm."""
    draw = random.Random(0)
    for answer in range(2000):
        share = 1.0 if answer % 2 else 0.7
        rounds = []
        for index in range(30):
            promised = draw.uniform(0.2, 0.99)
            accepted = 0
            while accepted < 4 and draw.random() < share * promised:
                accepted += 1
            rank = VOCABULARY - 1 if draw.random() < 0.1 else 5
            rounds.append(round_of(index, promised, accepted, rank=rank))
        assert not found(rounds, ended=True)

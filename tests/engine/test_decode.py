from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from tiny_models import FAMILIES, HYBRIDS, STOP_ID, VOCAB, tiny_model, tiny_pair

from engine.control import Control
from engine.ddtree import DraftTree, assert_prefix_closed
from engine.decode import generate
from engine.errors import EngineError
from engine.event_lines import decode_event, encode_event
from engine.events import Finding, Finished, Prefilled, Round, Tokens
from engine.pair import Pair
from engine.session import Session

PROMPT = "What is the answer to everything, and why?"


def run(pair: Pair, prompt: Any = PROMPT, **settings: Any) -> list[Any]:
    pair.session.reset()
    return list(generate(pair, prompt, **{"max_new_tokens": 60, **settings}))


def ids_of(events: list[Any]) -> list[int]:
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished.output_ids


def rounds_of(events: list[Any]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def draft_like(pair: Pair, text: list[int], monkeypatch: pytest.MonkeyPatch, seed: int = 0) -> None:
    """Let the drafter know the text and get it wrong now and then, so that rounds accept paths of every
    length, on and off its first choice. A random drafter would hardly ever be right."""
    generator = torch.Generator().manual_seed(seed)

    def draft(session: Session, root_id: int, block_size: int | None = None) -> torch.Tensor:
        session.hand_over()
        logits = torch.randn(7, VOCAB, generator=generator)
        for depth in range(7):
            place = len(session.ids) + 1 + depth
            if place < len(text):
                boost = (9.0, 4.0, 2.0, 0.0)[int(torch.randint(0, 4, (1,), generator=generator))]
                logits[depth, text[place]] += boost
        return logits

    monkeypatch.setattr(Session, "draft", draft)


@pytest.fixture(params=("qwen3_5", "qwen3", "llama"))
def pair(request: pytest.FixtureRequest) -> Pair:
    return tiny_pair(request.param)


@pytest.fixture
def drafted(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A pair whose drafter is often right about the greedy text of ``PROMPT``."""
    return draft_well(pair, monkeypatch)


def draft_well(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    prompt = pair.codec.encode_chat([{"role": "user", "content": PROMPT}], False).ids
    draft_like(pair, [*prompt, *ids_of(run(pair, mode="ar", max_new_tokens=90))], monkeypatch)
    return pair


@pytest.mark.parametrize("family", FAMILIES)
def test_ar_equals_transformers_generate(family: str) -> None:
    pair = tiny_pair(family)
    prompt = pair.codec.encode_chat([{"role": "user", "content": PROMPT}], False).ids
    with torch.no_grad():
        text = tiny_model(family).generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=60, eos_token_id=STOP_ID
        )
    assert ids_of(run(pair, mode="ar")) == text[0, len(prompt) :].tolist()


@pytest.mark.parametrize(
    "sampling",
    [{}, {"temperature": 0.8, "top_p": 0.95, "seed": 3}, {"temperature": 1.2, "top_k": 9, "min_p": 0.02}],
)
def test_modes_budgets_and_backends_agree(drafted: Pair, sampling: dict[str, Any]) -> None:
    expected = ids_of(run(drafted, mode="ar", **sampling))
    lengths = []
    for settings in (
        {"mode": "chain"},
        *({"mode": "tree", "budget": budget} for budget in (1, 5, 16, 64, 256)),
        {"mode": "tree", "verify": "sequential"},
    ):
        events = run(drafted, **settings, **sampling)
        assert ids_of(events) == expected, settings
        lengths += [event.acceptance_length for event in rounds_of(events)]
    if not sampling:
        assert max(lengths) >= 4, "the comparison says little when nothing is accepted"


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.95, "seed": 3}])
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("qwen3_5", "qwen3", "llama")])
def test_modes_agree_in_every_family(
    family: str, sampling: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = draft_well(tiny_pair(family), monkeypatch)
    expected = ids_of(run(pair, mode="ar", **sampling))
    assert len(expected) >= 20, "the comparison says little about a short text"
    for settings in ({"mode": "chain"}, {"budget": 5}, {"budget": 64}, {"verify": "sequential"}):
        assert ids_of(run(pair, **settings, **sampling)) == expected, settings


def test_naive_diverges_on_hybrids_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for family in FAMILIES:
        pair = tiny_pair(family)
        expected = ids_of(run(pair, mode="ar"))
        prompt = pair.codec.encode_chat([{"role": "user", "content": PROMPT}], False).ids
        with monkeypatch.context() as patch:
            draft_like(pair, [*prompt, *expected], patch)
            got = ids_of(run(pair, verify="naive", budget=16))
        assert (got == expected) == (family not in HYBRIDS)


def test_events_tell_the_story(drafted: Pair) -> None:
    events = run(drafted, budget=24, detail=True)
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    rounds, finished = rounds_of(events), events[-1]
    text = [*prefilled.prompt_ids, prefilled.first_id]
    for index, event in enumerate(rounds):
        assert event.index == index
        assert event.position == len(text) - 1
        assert event.root_id == text[-1]
        columns = (
            event.nodes.ids,
            event.nodes.parents,
            event.nodes.depths,
            event.nodes.logprobs,
            event.nodes.ranks,
        )
        tree = DraftTree(
            *(torch.tensor(column) for column in columns), budget=event.budget or len(event.nodes.ids)
        )
        assert_prefix_closed(tree, event.accepted)
        assert len(event.target.ids) == len(event.nodes.ids) + 1
        path = [event.nodes.ids[node] for node in event.accepted]
        bonus = [] if event.bonus_id is None else [event.bonus_id]
        assert event.committed_ids == [*path, *bonus]
        assert event.acceptance_length == len(event.committed_ids)
        assert (
            event.target.ids[event.accepted[-1] + 1 if event.accepted else 0] == event.committed_ids[-1]
            or not bonus
        )
        assert event.ms.total >= event.ms.verify > 0
        assert event.target_topk is not None
        assert [row[0] for row in event.target_topk.ids] == event.target.ids
        text += event.committed_ids
    assert finished.output_ids == text[len(prefilled.prompt_ids) :]
    assert finished.rounds == len(rounds)
    assert finished.tokens == len(finished.output_ids)
    assert sum(n * count for n, count in enumerate(finished.acceptance_histogram)) == finished.tokens - 1
    assert finished.mean_acceptance_length == pytest.approx((finished.tokens - 1) / len(rounds))
    assert finished.text == "".join(chr(64 + i) for i in finished.output_ids if i not in (STOP_ID, VOCAB - 1))
    announced = {int(i) for event in events if isinstance(event, Tokens) for i in event.pieces}
    assert announced >= {
        i for event in rounds for i in [*event.nodes.ids, *event.target.ids, *event.committed_ids]
    }
    for event in events:
        assert decode_event(encode_event(event)) == event


def test_a_miss_says_what_the_drafter_thought_of_the_token(drafted: Pair) -> None:
    misses = [event for event in rounds_of(run(drafted, budget=4)) if event.miss]
    assert misses
    for event in misses:
        miss = event.miss
        assert miss is not None
        assert miss.id == event.bonus_id
        assert miss.depth == len(event.accepted) + 1
        parent = event.accepted[-1] if event.accepted else -1
        siblings = [i for i, p in zip(event.nodes.ids, event.nodes.parents, strict=True) if p == parent]
        assert miss.id not in siblings
        assert miss.beyond == (miss.rank >= 4)
        assert miss.logprob <= 0
    assert {event.miss.beyond for event in misses if event.miss} == {True, False}


def caches_equal_the_text(pair: Pair, events: list[Any]) -> None:
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    text = [*prefilled.prompt_ids, *ids_of(events)]
    assert pair.session.ids == text[:-1]
    assert pair.session.cache.length == len(text) - 1
    fresh = pair.target.new_cache()
    list(pair.target.prefill(fresh, text[:-1]))
    for ours, theirs in zip(pair.session.cache.layers, fresh.layers, strict=True):
        for name in ("window", "state"):
            if hasattr(ours, name):
                assert torch.allclose(getattr(ours, name), getattr(theirs, name), atol=1e-4)
    context = pair.session.context
    assert context is not None
    assert context.length + sum(len(f) for f in pair.session._features) == len(text) - 1


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 20])
def test_max_tokens_cut_the_path_before_it_is_committed(drafted: Pair, limit: int) -> None:
    full = ids_of(run(drafted, mode="ar"))
    events = run(drafted, max_new_tokens=limit)
    assert ids_of(events) == full[:limit]
    assert events[-1].reason == "length"
    caches_equal_the_text(drafted, events)


def test_every_stop_id_cuts_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny_pair("qwen3_5")
    full = ids_of(run(plain, mode="ar"))
    for stop in dict.fromkeys(full[1:40]):
        pair = tiny_pair("qwen3_5", stop_ids=(stop, STOP_ID))
        prompt = pair.codec.encode_chat([{"role": "user", "content": PROMPT}], False).ids
        with monkeypatch.context() as patch:
            draft_like(pair, [*prompt, *full], patch, seed=stop)
            events = run(pair, budget=32)
        assert ids_of(events) == full[: full.index(stop) + 1]
        assert events[-1].reason == "stop"
        caches_equal_the_text(pair, events)
        last = rounds_of(events)[-1:]
        if last and last[0].bonus_id is None:
            assert last[0].committed_ids[-1] == stop


def test_stop_strings_cut_text_and_ids(drafted: Pair) -> None:
    full = run(drafted, mode="ar")[-1]
    stop = full.text[17:20]
    events = run(drafted, stop=(stop,), budget=32)
    assert events[-1].text == full.text[: full.text.index(stop)]
    assert events[-1].output_ids == full.output_ids[: full.text.index(stop) + 3]
    assert events[-1].reason == "stop"
    caches_equal_the_text(drafted, events)


def test_the_context_is_never_overrun(drafted: Pair) -> None:
    drafted.target.context_length = 60
    events = run(drafted, max_new_tokens=500)
    assert len(PROMPT) + len(ids_of(events)) == 60
    assert events[-1].reason == "length"
    with pytest.raises(EngineError, match="context ends at 60"):
        run(drafted, "x" * 60)


def test_cancel_between_rounds(drafted: Pair) -> None:
    control = Control()
    events = []
    for event in generate(drafted, PROMPT, max_new_tokens=60, control=control):
        events.append(event)
        if isinstance(event, Round) and event.index == 2:
            control.cancel()
    assert events[-1].reason == "cancelled"
    assert events[-1].rounds == 3
    caches_equal_the_text(drafted, events)


def test_pause_and_step(drafted: Pair) -> None:
    control = Control()
    control.pause()
    events: list[Any] = []
    worker = threading.Thread(
        target=lambda: events.extend(generate(drafted, PROMPT, max_new_tokens=30, control=control))
    )
    worker.start()
    for _ in range(3):
        control.step()
    worker.join(0.5)
    assert worker.is_alive()
    control.resume()
    worker.join(30)
    assert not worker.is_alive()
    assert isinstance(events[-1], Finished)


def test_live_settings_hold_from_the_next_round(drafted: Pair) -> None:
    control = Control()
    seen = []
    for event in generate(drafted, PROMPT, budget=8, max_new_tokens=60, control=control):
        if isinstance(event, Round):
            seen.append((event.mode, len(event.nodes.ids)))
            if event.index == 0:
                control.update(budget=3)
            if event.index == 1:
                control.update(mode="ar")
    assert seen[:3] == [("tree", 8), ("tree", 3), ("ar", 0)]
    for bad in ({"budget": 0}, {"seed": 3}, {"mode": "bush"}, {"budget": "many"}):
        with pytest.raises(EngineError):
            control.update(**bad)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"budget": 0}, "bad_setting"),
        ({"budget": -1}, "bad_setting"),
        ({"budget": 10**6}, "bad_setting"),
        ({"temperature": float("nan")}, "bad_setting"),
        ({"top_p": 0.0}, "bad_setting"),
        ({"block_size": 9}, "bad_setting"),
        ({"colour": "red"}, "bad_setting"),
    ],
)
def test_bad_settings_are_told_before_anything_runs(settings: dict[str, Any], kind: str) -> None:
    with pytest.raises(EngineError) as caught:
        generate(tiny_pair("llama"), PROMPT, **settings)
    assert caught.value.kind == kind
    assert caught.value.hint


def test_a_target_alone_decodes_ar_only() -> None:
    whole = tiny_pair("qwen3_5")
    alone = Pair(whole.target, None, whole.codec, whole.info)
    assert ids_of(run(alone, mode="ar")) == ids_of(run(whole, mode="ar"))
    with pytest.raises(EngineError, match="needs a drafter"):
        run(alone, mode="tree")


def test_a_mode_without_its_drafter_is_refused_while_the_answer_goes_on() -> None:
    whole = tiny_pair("qwen3_5")
    alone = Pair(whole.target, None, whole.codec, whole.info)
    control = Control()
    events = generate(alone, PROMPT, mode="ar", max_new_tokens=10, control=control)
    begun = [next(events), next(events)]
    with pytest.raises(EngineError) as caught:
        control.update(mode="tree")
    assert caught.value.kind == "no_drafter"
    assert ids_of([*begun, *events]) == ids_of(run(alone, mode="ar", max_new_tokens=10))

    control = Control()
    control.update(mode="chain")
    with pytest.raises(EngineError, match="needs a drafter"):
        generate(alone, PROMPT, mode="ar", control=control)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        *((prompt, "bad_prompt") for prompt in (None, 5, b"Hello", {"role": "user", "content": "Hello"})),
        *((prompt, "bad_prompt") for prompt in (["x"], [{"role": "user"}], [{"role": "user", "content": 3}])),
        ("half \ud83d", "bad_prompt"),
        ([], "empty_prompt"),
    ],
    ids=ascii,
)
def test_what_is_no_prompt_is_refused_at_once(prompt: Any, kind: str, plain: bool) -> None:
    with pytest.raises(EngineError) as caught:
        generate(tiny_pair("llama"), prompt, plain=plain)
    assert caught.value.kind == kind


@pytest.mark.parametrize("candidates", ["8", 8.0, True, None, 0, 10**6])
def test_candidates_are_a_number_within_bounds(candidates: Any) -> None:
    with pytest.raises(EngineError) as caught:
        generate(tiny_pair("llama"), PROMPT, candidates=candidates)
    assert caught.value.kind == "bad_setting"


def test_a_pair_decodes_one_answer_at_a_time(drafted: Pair) -> None:
    alone = [ids_of(run(drafted, prompt)) for prompt in (PROMPT, "Another question.")]
    drafted.session.reset()
    first, second = generate(drafted, PROMPT, max_new_tokens=60), generate(drafted, "Another question.")
    begun = [next(first) for _ in range(4)]
    with pytest.raises(EngineError) as caught:
        next(second)
    assert caught.value.kind == "pair_in_use"
    assert ids_of([*begun, *first]) == alone[0]
    assert ids_of(list(generate(drafted, "Another question.", max_new_tokens=60))) == alone[1]
    third = generate(drafted, PROMPT)
    next(third)
    third.close()  # type: ignore[attr-defined]
    assert ids_of(list(generate(drafted, PROMPT, max_new_tokens=60))) == alone[0]


def test_nan_logits_of_the_prompt_end_the_run(drafted: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    prefill = Session.prefill
    monkeypatch.setattr(Session, "prefill", lambda *a: (chunk * float("nan") for chunk in prefill(*a)))
    events: list[Any] = []
    with pytest.raises(EngineError, match="target") as caught:
        events += generate(drafted, PROMPT)
    assert caught.value.kind == "not_finite"
    assert drafted.session.ids == []
    (finding,) = [event for event in events if isinstance(event, Finding)]
    assert (finding.cause, finding.round) == ("not-finite", None)
    assert finding.seen.startswith("In the prefill: ")


@pytest.mark.parametrize("which", ["target", "drafter"])
def test_nan_logits_end_the_run(which: str, drafted: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    nan = torch.full((7, VOCAB), float("nan"))
    if which == "drafter":
        monkeypatch.setattr(Session, "draft", lambda *_: nan)
    else:
        verify = Session.verify
        monkeypatch.setattr(Session, "verify", lambda *a: verify(*a) * float("nan"))
    with pytest.raises(EngineError, match=which) as caught:
        run(drafted)
    assert caught.value.kind == "not_finite"
    assert drafted.session.ids == []


def test_who_leaves_at_what_is_not_finite_leaves_nothing_behind(
    drafted: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = Session.verify
    monkeypatch.setattr(Session, "verify", lambda *a: verify(*a) * float("nan"))
    events = generate(drafted, PROMPT)
    assert any(isinstance(event, Finding) for event in events)
    events.close()  # type: ignore[attr-defined]
    assert drafted.session.ids == []


def test_a_conversation_goes_on_from_the_caches(drafted: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(drafted, max_new_tokens=20)
    letters = "".join(chr(64 + i) if i < 59 else "" for i in ids_of(first))
    encode = drafted.codec.encode_chat
    prompt = encode([{"role": "user", "content": PROMPT}], False).ids + ids_of(first) + [1, 2, 3]

    def whole(messages: Any, thinking: bool, *, context: int | None = None) -> Any:
        encoded = encode(messages, thinking)
        return type(encoded)(ids=prompt, text=letters, stable=0, in_thinking=False)

    monkeypatch.setattr(drafted.codec, "encode_chat", whole)
    again = list(generate(drafted, "more", max_new_tokens=20))
    assert next(event for event in again if isinstance(event, Prefilled)).cached == len(prompt) - 4
    caches_equal_the_text(drafted, again)
    drafted.session.reset()
    assert ids_of(list(generate(drafted, "more", max_new_tokens=20))) == ids_of(again)


def test_stopping_to_listen_keeps_the_caches(drafted: Pair) -> None:
    drafted.session.reset()
    events = generate(drafted, PROMPT, max_new_tokens=60)
    kept = []
    for event in events:
        kept.append(event)
        if isinstance(event, Round) and event.index == 1:
            events.close()  # type: ignore[attr-defined]
            break
    assert drafted.session.cache.length == len(drafted.session.ids) > len(PROMPT)

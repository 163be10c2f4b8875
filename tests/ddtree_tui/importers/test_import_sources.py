"""What each source says, as events: right where it says it, unknown where it does not."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import OUTPUT, PROMPT, TREES, benchmark, plain, read_or_refused, response, sglang, vllm

from ddtree_tui.importers.answer import Imported, events_of
from ddtree_tui.importers.pickle_data import read_pickle
from ddtree_tui.importers.plain import read_plain
from ddtree_tui.importers.read import _read as read
from ddtree_tui.importers.reference import read_reference
from ddtree_tui.importers.sglang import read_sglang
from ddtree_tui.importers.vllm import in_step, read_vllm
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import UNKNOWN_ID, AnyEvent, Finished, Loaded, Prefilled, Round, Tokens
from engine.recording import checked_event

U = UNKNOWN_ID
T = TypeVar("T")


def events(imported: Imported) -> list[AnyEvent]:
    """The trace, by way of its lines."""
    found = [checked_event(encode_event(event)) for event in events_of(imported)]
    return [event for event in found if event is not None]


def one(kind: type[T], found: Sequence[AnyEvent]) -> T:
    (event,) = [event for event in found if isinstance(event, kind)]
    return event


def rounds(found: Sequence[AnyEvent]) -> list[Round]:
    return [event for event in found if isinstance(event, Round)]


def test_the_reference_trees_with_their_text() -> None:
    found = events(read_reference(vars(response())))
    first, second = rounds(found)
    assert (first.nodes.ids, first.nodes.parents, first.nodes.depths) == (
        [11, 12, 13],
        [-1, -1, 0],
        [1, 1, 2],
    )
    assert (first.accepted, first.bonus_id, first.committed_ids) == ([0, 2], 14, [11, 13, 14])
    assert (first.root_id, second.root_id) == (10, 14)
    assert first.target.ids == [11, 13, U, 14]
    assert (first.nodes.logprobs, first.nodes.ranks, first.target.logprobs, first.target.gaps) == (
        [],
        [],
        [],
        [],
    )
    assert (first.position, second.position) == (2, 5)
    assert [round_.ms.total for round_ in (first, second)] == pytest.approx([20, 30])
    assert (second.accepted, second.bonus_id, second.committed_ids) == ([], 15, [15])
    prefilled, finished = one(Prefilled, found), one(Finished, found)
    assert (prefilled.prompt_ids, prefilled.first_id) == (PROMPT, 10)
    assert prefilled.source is not None
    assert prefilled.source.settings == ["mode"]
    assert finished.output_ids == OUTPUT
    assert (finished.tokens, finished.rounds, finished.acceptance_histogram) == (5, 2, [0, 1, 0, 1])
    assert (finished.reason, finished.text, finished.ttft_s) == ("unknown", "", 0.5)
    assert finished.tokens_per_second == pytest.approx(4 / 0.05)


def test_the_reference_trees_alone() -> None:
    found = events(read_reference(TREES))
    first, second = rounds(found)
    assert (first.committed_ids, first.root_id, first.bonus_id) == ([11, 13, U], U, U)
    assert (first.position, first.ms.total, second.root_id) == (-1, 0.0, U)
    assert one(Prefilled, found).prompt_ids == []
    assert one(Finished, found).tokens_per_second == 0


def test_a_whole_benchmark_of_the_reference() -> None:
    found = events(read_reference(read_pickle(pickle.dumps(benchmark()))))
    loaded = one(Loaded, found)
    assert (loaded.target.name, loaded.block_size, loaded.device) == ("a/target", 3, "")
    assert loaded.drafter is not None
    assert loaded.drafter.name == "a/drafter"
    prefilled = [event for event in found if isinstance(event, Prefilled)]
    assert [(p.settings.mode, p.source and p.source.name) for p in prefilled] == [
        ("ar", "response 1, baseline"),
        ("chain", "response 1, dflash"),
        ("tree", "response 1, ddtree_tb3"),
    ]
    assert prefilled[2].settings.budget == 3
    by_mode: dict[str, list[Round]] = {}
    for round_ in rounds(found):
        by_mode.setdefault(round_.mode, []).append(round_)
    assert [round_.committed_ids for round_ in by_mode["ar"]] == [[11], [13], [14], [15]]
    assert all(round_.tree_known for round_ in by_mode["ar"] + by_mode["tree"])
    assert [(r.tree_known, r.committed_ids, r.nodes.ids) for r in by_mode["chain"]] == [
        (False, [11, 13, 14], []),
        (False, [15], []),
    ]


def test_names_of_lone_surrogates_are_read() -> None:
    run = benchmark()
    run["args"] |= {"model_name_or_path": "a/\ud800b", "draft_name_or_path": "\udcff" * 1000}
    run["responses"] = [{"\ud800": response()}, {"ddtree_tb3": response()}]
    found = events(read_reference(read_pickle(pickle.dumps(run))))
    loaded = one(Loaded, found)
    assert loaded.target.name == "a/\\ud800b"
    assert loaded.drafter is not None
    assert loaded.drafter.name.startswith("\\udcff")
    assert len(rounds(found)) == 4


def test_a_way_of_decoding_nobody_knows_has_only_totals() -> None:
    found = events(read_reference({"another": vars(response(round_trees=None))}))
    assert rounds(found) == []
    finished = one(Finished, found)
    assert (finished.rounds, finished.mean_acceptance_length) == (2, 2.0)
    assert finished.acceptance_histogram == [0, 1, 0, 1]


@pytest.mark.parametrize(("left", "accepted", "bonus"), [(3, [0, 2], 14), (2, [0, 2], None), (1, [0], None)])
def test_where_the_text_ends_it_cuts_the_last_path(left: int, accepted: list[int], bonus: int | None) -> None:
    ids = [*PROMPT, *OUTPUT[: 1 + left]]
    entry = vars(response(output_ids=ids, acceptance_lengths=[3], round_trees=TREES[:1]))
    (round_,) = rounds(events(read_reference(entry)))
    assert (round_.accepted, round_.bonus_id) == (accepted, bonus)
    assert round_.committed_ids == OUTPUT[1 : 1 + left]


def broken_tree(**changes: Any) -> dict[str, Any]:
    tree, item = dict(TREES[0]["tree"]), dict(TREES[0])
    for name, value in changes.items():
        (item if name == "accepted_indices" else tree)[name] = value
    return {"round_trees": [item | {"tree": tree}]}


@pytest.mark.parametrize(
    "value",
    [
        broken_tree(parents=[-1, 0, 0, 3]),
        broken_tree(parents=[-1, 2, 0, 1]),
        broken_tree(parents=[-1, -1, 0, 1]),
        broken_tree(parents=[-1, 0, 0]),
        broken_tree(parents=[0, 0, 0, 1]),
        broken_tree(parents=[-1, 0, 0, 10**30]),
        broken_tree(parents="-1"),
        broken_tree(node_token_ids=[11, 12, -13]),
        broken_tree(node_token_ids=[11, 12, 10**30]),
        broken_tree(node_token_ids=[11, 12.5, 13]),
        broken_tree(node_token_ids=None),
        broken_tree(accepted_indices=[0, 3]),
        broken_tree(accepted_indices=[1]),
        broken_tree(accepted_indices=[0, 9]),
        broken_tree(accepted_indices=[0, -1]),
        broken_tree(accepted_indices=[]),
        {"round_trees": 7},
        {"round_trees": [7]},
        {"round_trees": [{"accepted_indices": [0], "tree": []}]},
        vars(response(acceptance_lengths=[3, 2])),
        vars(response(output_ids=[1, 2, 10, 99, 13, 14, 15])),
        vars(response(num_input_tokens=99)),
        vars(response(acceptance_lengths=[3, "1"])),
        vars(response(round_timestamps=[0.0, float("inf")])),
        vars(response(time_to_first_token=-1.0)),
        {},
        [],
        [1, 2],
        "text",
        None,
        {"responses": []},
        {"responses": [[[[[]]]]]},
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_the_reference_cannot_have_written_is_refused(value: Any) -> None:
    with pytest.raises(EngineError) as caught:
        events(read_reference(value))
    assert caught.value.kind == "import"
    assert caught.value.message.startswith("The file ")
    assert caught.value.message.endswith(".")


def test_vllm_in_detail() -> None:
    found = events(read_vllm([vllm([2, 0, 5], ids=True)]))
    first, second, third = rounds(found)
    assert (first.nodes.ids, first.nodes.parents) == ([101, 102, U, U, U], [-1, 0, 1, 2, 3])
    assert (first.accepted, first.committed_ids, first.root_id) == ([0, 1], [101, 102, 103], 100)
    assert (second.accepted, second.committed_ids, second.root_id) == ([], [104], 103)
    assert (third.nodes.ids, third.bonus_id) == ([105, 106, 107, 108, 109], 110)
    assert (first.mode, first.position, second.position) == ("chain", 7, 10)
    prefilled, finished = one(Prefilled, found), one(Finished, found)
    assert prefilled.prompt_ids == [U] * 7
    assert (finished.text, finished.thinking_text, finished.reason) == ("It is 42.", "12 + 30", "stop")
    assert (finished.tokens_per_second, finished.ttft_s, finished.drafted) == (80.0, 0.03, 15)
    assert finished.acceptance_histogram == [0, 1, 0, 1, 0, 0, 1]
    assert one(Loaded, found).block_size == 6


def test_vllm_without_ids_keeps_what_is_known() -> None:
    first, _ = rounds(events(read_vllm([vllm([2, 0])])))
    assert (first.nodes.ids, first.accepted, first.committed_ids) == ([U] * 5, [0, 1], [U] * 3)
    assert first.target.ids == [U] * 6


@pytest.mark.parametrize("cut", range(6))
def test_vllms_last_step_is_cut_where_the_answer_is(cut: int) -> None:
    last = rounds(events(read_vllm([vllm([2, 5], cut=cut, ids=True)])))[-1]
    assert last.acceptance_length == 6 - cut
    assert (last.bonus_id is None) == (cut > 0)
    assert len(last.accepted) == min(5, 6 - cut)


def test_vllms_steps_that_do_not_make_up_the_answer_have_no_tokens() -> None:
    answer = vllm([2, 0], ids=True)
    answer["choices"][0]["token_ids"] += [7, 7, 7]
    found = events(read_vllm([answer]))
    assert [round_.committed_ids for round_ in rounds(found)] == [[U] * 3, [U]]
    assert one(Finished, found).tokens == 8


@given(st.lists(st.integers(0, 8), max_size=10), st.integers(0, 100))
def test_steps_fit_an_answer_of_as_many_tokens_as_they_made(accepted: list[int], tokens: int) -> None:
    made = {1}
    if accepted:
        before = 1 + sum(taken + 1 for taken in accepted[:-1])
        made = {before + n for n in range(1, accepted[-1] + 2)}
    assert in_step(accepted, tokens) == (tokens in made or (not accepted and tokens == 0))


def test_vllms_summary_has_totals_alone() -> None:
    answer = vllm([2, 0, 5])
    for name in ("per_step_accepted", "per_step_drafted"):
        del answer["metrics"]["speculative_decoding"][name]
    found = events(read_vllm([answer, answer]))
    assert rounds(found) == []
    ends = [event for event in found if isinstance(event, Finished)]
    assert [end.rounds for end in ends] == [3, 3]


def test_vllms_tokens_are_spelled_by_their_logprobs() -> None:
    answer = vllm([1], ids=True)
    entries = [{"token": "x", "bytes": [226, 130]}, {"token": "y", "bytes": None}, {"token": "z"}]
    answer["choices"][0]["logprobs"] = {"content": entries}
    tokens = one(Tokens, events(read_vllm([answer])))
    assert tokens.raw == {"100": "e282"}
    assert tokens.pieces["101"] == "y"


def test_a_request_beside_the_answer_is_its_prompt() -> None:
    request = {"messages": [{"role": "user", "content": "Hi"}, {"role": "tool"}, 7], "temperature": 0.5}
    prefilled = one(Prefilled, events(read_vllm([{"request": request, "response": vllm([1])}])))
    assert prefilled.messages == [{"role": "user", "content": "Hi"}]
    assert prefilled.source is not None
    assert prefilled.source.settings == ["mode", "temperature"]
    assert prefilled.settings.temperature == 0.5


@pytest.mark.parametrize(
    "spec",
    [
        {"per_step_accepted": [6], "per_step_drafted": [5]},
        {"per_step_accepted": [1, 2], "per_step_drafted": [5]},
        {"per_step_accepted": [-1], "per_step_drafted": [5]},
        {"per_step_accepted": [1], "per_step_drafted": [10**9]},
        {"num_spec_steps": -1},
        {"num_spec_steps": "many"},
        {"acceptance_histogram": [-1]},
        {"mean_acceptance_length": -2.0},
    ],
    ids=str,
)
def test_what_vllm_cannot_have_said_is_refused(spec: dict[str, Any]) -> None:
    answer = vllm([2])
    answer["metrics"]["speculative_decoding"] |= spec
    with pytest.raises(EngineError) as caught:
        events(read_vllm([answer]))
    assert caught.value.kind == "import"


def test_sglang_has_totals_alone() -> None:
    found = events(read_sglang([sglang()]))
    assert rounds(found) == []
    finished = one(Finished, found)
    assert (finished.rounds, finished.mean_acceptance_length, finished.tokens) == (2, 2.0, 4)
    assert finished.acceptance_histogram == [0, 1, 0, 1, 0]
    assert (finished.drafted, finished.accepted, finished.output_ids) == (6, 2, [5, 6, 7, 8])
    prefilled = one(Prefilled, found)
    assert prefilled.source is not None
    assert (prefilled.prompt_ids, prefilled.source.settings) == ([U] * 12, [])


@pytest.mark.parametrize("place", ["sglext", "choice"])
def test_sglang_on_the_openai_route(place: str) -> None:
    details = {"spec_accept_length": 2.5, "spec_verify_ct": 2, "spec_accept_token_num": 3}
    choice: dict[str, Any] = {"message": {"content": "Hi"}, "finish_reason": "length"}
    answer: dict[str, Any] = {"model": "m", "choices": [choice], "usage": {"completion_tokens": 5}}
    if place == "sglext":
        answer["sglext"] = {"spec_tokens_details": details}
    else:
        choice["meta_info"] = details
    finished = one(Finished, events(read(json.dumps(answer).encode(), "auto")))
    assert (finished.text, finished.reason, finished.rounds, finished.accepted) == ("Hi", "length", 2, 3)
    assert finished.acceptance_histogram == []


def test_plain_json_says_as_much_as_it_likes() -> None:
    found = events(read_plain([plain()]))
    first, second = rounds(found)
    assert (first.root_id, second.root_id) == (3, 8)
    assert (first.nodes.logprobs, first.nodes.ranks) == ([-0.1, -2.5, -0.3, -0.5], [0, 1, 0, 0])
    assert (first.committed_ids, second.committed_ids, second.bonus_id) == ([4, 5, 8], [4], None)
    assert (first.budget, first.mode, first.ms.total) == (4, "tree", 12.5)
    finished = one(Finished, found)
    assert finished.output_ids == [3, 4, 5, 8, 4]
    assert one(Prefilled, found).messages == [{"role": "user", "content": "What?"}]
    assert one(Tokens, found).pieces["4"] == " sum"


def test_plain_json_may_be_rounds_alone() -> None:
    bare = [{"ids": [4, 5], "parents": [-1, 0], "accepted": [0]}, {"ids": [], "parents": [], "accepted": []}]
    for text in (
        json.dumps(bare),
        "\n".join(map(json.dumps, bare)),
        json.dumps({"answers": [{"rounds": bare}]}),
    ):
        first, second = rounds(events(read(text.encode(), "auto")))
        assert (first.committed_ids, first.bonus_id, first.root_id) == ([4, U], U, U)
        assert second.mode == "ar"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"ids": [4, "x"]}, r"\$\.rounds\[0\]\.ids\[1\]"),
        ({"parents": [-1, -1, 0, 3]}, "before its parent"),
        ({"parents": [-1, -1, 0]}, "parents"),
        ({"accepted": [0, 3]}, "no path"),
        ({"accepted": [-1]}, "accepts a node"),
        ({"logprobs": [0.1] * 3}, "logprobs"),
        ({"logprobs": [5.0] * 4}, "log-probability"),
        ({"ranks": [0, -1, 0, 0]}, "rank"),
        ({"bonus": -7}, "token id"),
        ({"ms": -1.0}, "time"),
        ({"budget": -1}, "budget"),
        ({"mode": "beam"}, "mode"),
        ({"extra": 1}, "extra"),
    ],
    ids=str,
)
def test_plain_json_that_does_not_fit_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    value = plain()
    value["rounds"][0] |= changes
    with pytest.raises(EngineError, match=named) as caught:
        events(read_plain([value]))
    assert caught.value.kind == "import"


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[",
        b'{"rounds": [}',
        b'{"a": NaN}',
        b"[" * 100_000,
        b'{"rounds": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"[]",
        b"{}",
        b"[1, 2]",
        b'{"v": 1, "type": "loaded"}',
        b'{"choices": [], "metrics": {"speculative_decoding": null}}',
        b'{"meta_info": {}}',
        b'{"meta_info": 5}',
        b'{"rounds": []}',
        b"\xef\xbb\xbf[]",
        b'{"rounds": [{"ids": [1], "parents": [-1], "accepted": [0], "bonus": 1e999}]}',
    ],
    ids=lambda text: repr(text[:40]),
)
def test_json_that_is_no_record_is_refused(text: bytes) -> None:
    if text == b'{"rounds": []}':  # an answer of one token
        assert rounds(events(read(text, "auto"))) == []
        return
    with pytest.raises(EngineError) as caught:
        events(read(text, "auto"))
    assert caught.value.kind == "import"
    assert caught.value.message.endswith(".")


SAMPLES = [json.dumps(value).encode() for value in (vllm([2, 0, 5], ids=True), sglang(), plain())]


@given(
    st.sampled_from(SAMPLES),
    st.lists(
        st.tuples(st.integers(0, 10**4), st.sampled_from(b'0123456789-."[]{},:ax')), min_size=1, max_size=4
    ),
    st.integers(0, 10**4),
)
@settings(max_examples=250, deadline=None)
def test_damaged_json_is_read_or_refused(sample: bytes, changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(sample)
    for place, byte in changes:
        data[place % len(data)] = byte
    with read_or_refused():
        events(read(bytes(data[: length or None]), "auto"))


MANY = st.sampled_from([0, 1, -1, 10**6, 2**63, -(2**70), 10**400, 1e308, "", "x", None, [], {}, [[]], True])


@given(
    st.sampled_from(["per_step_accepted", "num_spec_steps", "acceptance_histogram", "usage", "rounds"]), MANY
)
@settings(max_examples=60, deadline=None)
def test_fields_of_wrong_types_are_refused(name: str, value: Any) -> None:
    answer = vllm([1, 2])
    (answer if name == "usage" else answer["metrics"]["speculative_decoding"])[name] = value
    for imported in (lambda: read_vllm([answer]), lambda: read_sglang([sglang() | {name: value}]),
                     lambda: read_plain([plain() | {name: value}])):  # fmt: skip
        with read_or_refused():
            events(imported())

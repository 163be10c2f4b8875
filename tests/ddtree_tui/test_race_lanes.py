"""Lanes, how a race stands, and where its texts part."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_recording import loaded, spelled, token_id
from rich.cells import cell_len

from ddtree_tui import cli, engine_process, exit_codes
from ddtree_tui.options import RaceOptions
from ddtree_tui.race.comparison import compare, diff, explanation
from ddtree_tui.race.course import Race
from ddtree_tui.race.lanes import PRESETS, lane_name, read_lanes
from ddtree_tui.race.marked_diff import marked_diff, wrapped
from ddtree_tui.race.standing import SHORTEST_TRACK
from ddtree_tui.race.table import COLUMNS, aligned, comparisons, rows
from engine.errors import EngineError
from engine.events import (
    AnyEvent,
    Checking,
    Failed,
    Finished,
    Lane,
    Nodes,
    Noise,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
)
from engine.settings import AUTO_BUDGET, MAX_LANES, DecodeSettings

THE, QUICK, BROWN, FOX, DOG, END = (
    token_id(text) for text in (" The", " quick", " brown", " fox", " dog", "<|im_end|>")
)


def lane_events(
    settings: DecodeSettings,
    rounds: Sequence[Sequence[int]],
    *,
    ms: float = 10.0,
    gap: float = 2.0,
    end: str | None = "stop",
    prompt: Sequence[int] = (4, 5, 6),
) -> list[AnyEvent]:
    """A lane that starts with ``THE`` and commits these tokens, drafted as a chain, in rounds of ``ms``."""
    ids = [THE]
    events: list[AnyEvent] = [
        spelled([THE, QUICK, BROWN, FOX, DOG, END]),
        Prefilled(
            prompt_ids=[*prompt],
            prompt_text="?",
            messages=[{"role": "user", "content": "?"}],
            thinking=settings.thinking,
            settings=settings,
            stop_ids=[END],
            seconds=0.5,
            first_id=THE,
        ),
    ]
    for index, committed in enumerate(rounds):
        drafted = [*committed[:-1]]
        count = len(drafted)
        events.append(
            Round(
                index=index,
                mode=settings.mode,
                position=len(prompt) + len(ids) - 1,
                root_id=ids[-1],
                nodes=Nodes(
                    ids=drafted,
                    parents=list(range(-1, count - 1)),
                    depths=list(range(1, count + 1)),
                    logprobs=[-0.1] * count,
                    ranks=[0] * count,
                ),
                target=TargetRows(ids=[*committed], logprobs=[-0.1] * (count + 1), gaps=[gap] * (count + 1)),
                accepted=list(range(count)),
                bonus_id=committed[-1],
                miss=None,
                committed_ids=[*committed],
                acceptance_length=len(committed),
                ms=StageTimes(verify=ms, total=ms),
            )
        )
        ids += committed
    if end is not None:
        events.append(
            Finished(
                reason=end,  # type: ignore[arg-type]
                output_ids=ids,
                text="",
                thinking_text="",
                rounds=len(rounds),
                tokens=len(ids),
                mean_acceptance_length=1.0,
                acceptance_histogram=[],
                tokens_per_second=1.0,
                ttft_s=0.5,
                ms=StageTimes(),
                drafted=0,
                accepted=0,
            )
        )
    return events


def raced(lanes: Sequence[tuple[str, list[list[int]]]], *, dtype: str = "float32", **how: object) -> Race:
    """A race in which these lanes wrote these rounds."""
    settings = [read_lanes(f"{text},ar", DecodeSettings())[0] for text, _ in lanes]
    pair = loaded()
    pair = msgspec.structs.replace(pair, target=msgspec.structs.replace(pair.target, dtype=dtype))
    race = Race("?", settings, pair)
    for number, ((_, rounds), lane) in enumerate(zip(lanes, settings, strict=True)):
        for event in lane_events(lane, rounds, **how):  # type: ignore[arg-type]
            assert race.apply(Lane(lane=number, event=event))  # type: ignore[arg-type]
    return race


AR = ("ar", [[QUICK], [BROWN], [FOX], [END]])
CHAIN = ("chain", [[QUICK, BROWN], [FOX, END]])


# Lanes


def test_lanes_are_read_as_they_are_written() -> None:
    base = DecodeSettings(temperature=0.5, budget=32, thinking=True)
    lanes = read_lanes("ar, chain,tree,tree:16,tree:16-thinking", base)
    assert [lane_name(lane) for lane in lanes] == [
        "ar thinking",
        "chain thinking",
        "tree 32 thinking",
        "tree 16 thinking",
        "tree 16",
    ]
    assert {lane.temperature for lane in lanes} == {0.5}


def test_a_lane_may_choose_its_budget_whatever_the_others_do() -> None:
    for base in (DecodeSettings(budget=32), DecodeSettings(budget=32, auto_budget=True)):
        own, fixed, auto, bounded, plain = read_lanes(
            "tree,tree:16,tree:auto,tree:auto:128+thinking,ar", base
        )
        assert (own.budget, own.auto_budget) == (32, base.auto_budget)
        assert (fixed.budget, fixed.auto_budget) == (16, False)
        assert (auto.budget, auto.auto_budget) == (AUTO_BUDGET, True)
        assert (bounded.budget, bounded.auto_budget, bounded.thinking) == (128, True, True)
        assert lane_name(fixed) == "tree 16"
        assert lane_name(auto) == f"tree auto:{AUTO_BUDGET}"
        assert lane_name(bounded) == "tree auto:128 thinking"
        assert lane_name(plain) == "ar"


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_lanes(name: str) -> None:
    lanes = read_lanes(name, DecodeSettings())
    assert len({lane_name(lane) for lane in lanes}) == len(lanes) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ar",
        "ar,",
        "ar,chin",
        "ar,chain:4",
        "ar,tree:0",
        "ar,tree:9999",
        ",".join(["ar"] * 7),
        "ar,tree:x",
        "ar,tree:",
        "ar,tree:auto:0",
        "ar,chain:auto",
    ],
)
def test_other_lanes_are_refused(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_lanes(text, DecodeSettings())
    assert caught.value.kind == "bad_setting"
    assert caught.value.hint


def test_as_many_lanes_as_there_may_be() -> None:
    assert len(read_lanes(",".join(["ar"] * MAX_LANES), DecodeSettings())) == MAX_LANES


# How it stands


def test_speed_is_of_a_lanes_own_rounds() -> None:
    race = raced([AR, CHAIN])
    standings = race.standings()
    ar, chain = standings.lanes
    assert (ar.seconds, chain.seconds) == (0.04, 0.02)
    assert ar.tokens_per_second == pytest.approx(100)
    assert standings.ratio(chain) == pytest.approx(2)
    assert standings.ratio(ar) == 1
    assert race.over
    assert standings.over
    assert standings.places == [chain, ar]
    assert standings.leader is chain
    assert standings.track == 5


def test_who_leads_before_anybody_is_through() -> None:
    race = raced([("ar", [[QUICK]]), ("chain", [[QUICK, BROWN]])], end=None)
    assert not race.over
    standings = race.standings()
    assert standings.places == []
    assert standings.leader is standings.lanes[1]
    assert standings.track == SHORTEST_TRACK
    assert raced([("ar", []), ("chain", [])], end=None).standings().leader is None


def test_a_lane_alone_leads() -> None:
    assert raced([AR], end=None).standings().leader is not None


def test_how_it_stood_after_any_round() -> None:
    race = raced([AR, CHAIN])  # the helper lets one lane after the other decode
    assert race.steps == [0, 0, 0, 0, 1, 1]
    standings = race.standings(1)
    ar, chain = standings.lanes
    assert (ar.rounds, ar.tokens, ar.seconds, ar.over) == (2, 3, 0.02, False)
    assert (chain.rounds, chain.tokens, chain.ms) == (0, 1, 0)
    assert standings.leader is ar
    assert standings.ratio(chain) is None
    ar, chain = race.standings(4).lanes
    assert (ar.complete, ar.tokens) == (True, 5)
    assert (chain.rounds, chain.tokens, chain.complete) == (1, 3, False)
    assert chain.acceptance_length == 2
    newest, last = race.standings(), race.standings(5)
    assert [one.tokens for one in last.lanes] == [one.tokens for one in newest.lanes]
    assert last.over


def test_the_track_grows_with_the_text() -> None:
    race = raced([("ar", [[QUICK]] * SHORTEST_TRACK), AR], end=None)
    assert race.standings().track == 2 * SHORTEST_TRACK


def test_the_reference_is_ar_or_the_first_lane() -> None:
    assert raced([CHAIN, AR]).reference.number == 1
    assert raced([CHAIN, ("tree:4", CHAIN[1])]).reference.number == 0


def test_a_lane_that_was_stopped_has_no_place() -> None:
    race = raced([AR, CHAIN], end="cancelled")
    assert race.over
    assert race.standings().places == []


def test_a_failure_of_no_lane_ends_the_race_and_that_of_one_only_itself() -> None:
    race = raced([AR, CHAIN], end=None)
    race.apply(Lane(lane=1, event=Failed(error="x", message="m")))
    assert (race.over, race.failed) == (False, None)
    race.apply(Failed(error="engine_died", message="m"))
    assert race.over
    assert race.failed is not None


def test_events_of_others_are_none_of_its_business() -> None:
    race = raced([AR, CHAIN], end=None)
    assert not race.apply(Lane(lane=7, event=Failed(error="x", message="m")))
    assert not race.apply(spelled([THE]))


# Texts


def compared(second: list[list[int]], **how: object) -> tuple[str, str]:
    """Kind and explanation of a chain that wrote this beside ``AR``."""
    race = raced([AR, ("chain", second)], **how)  # type: ignore[arg-type]
    found = compare(race, race.lanes[1])
    assert found is not None
    assert compare(race, race.lanes[0]) is None
    return found.kind, explanation(found)


def test_the_same_text() -> None:
    assert compared(CHAIN[1]) == ("same", "")


def test_a_difference_is_explained() -> None:
    kind, told = compared([[QUICK, BROWN], [DOG, END]], dtype="bfloat16", gap=2.0)
    assert kind == "defect"
    assert "chain writes ␣dog" in told
    assert "ar writes ␣fox" in told
    assert "token 4 of the answer (position 6; chosen in round 2, at the root)" in told
    assert "lead has changed by 4" in told
    assert "defect" in told


@pytest.mark.parametrize(
    ("dtype", "gap", "kind"),
    [
        ("bfloat16", 0.1, "tie"),
        ("bfloat16", 0.2, "defect"),
        ("float16", 0.01, "tie"),
        ("float32", 0.01, "defect"),
    ],
)
def test_a_tie_is_what_the_dtype_can_change(dtype: str, gap: float, kind: str) -> None:
    found, told = compared([[QUICK, DOG], [FOX, END]], dtype=dtype, gap=gap)
    assert found == kind
    assert "chosen in round 1, at node 0)" in told
    assert ("numerical tie" in told) == (kind == "tie")
    assert "  " not in told


@pytest.mark.parametrize(("noise", "kind"), [(0.5, "tie"), (0.3, "defect"), (0.0, "defect"), (None, "tie")])
def test_a_tie_is_what_was_measured_here(noise: float | None, kind: str) -> None:
    race = raced([AR, ("chain", [[QUICK, DOG], [FOX, END]])], dtype="bfloat16", gap=0.2 if noise else 0.1)
    assert race.apply(Checking(stage="x", done=0, total=1))
    assert race.measuring
    assert race.apply(Noise(lead=noise))
    assert not race.measuring
    found = compare(race, race.lanes[1])
    assert found is not None
    assert found.kind == kind
    assert ("as measured here" in explanation(found)) == bool(noise)


def test_where_in_a_round_it_was_chosen() -> None:
    _, told = compared([[QUICK, BROWN, DOG, END]])
    assert "chosen in round 1, at node 1)" in told


def test_an_end_that_is_not_there_is_a_defect() -> None:
    kind, told = compared([[QUICK, BROWN]], dtype="bfloat16", gap=0.0)
    assert kind == "defect"
    assert "chain ends where ar writes ␣fox" in told


def test_a_text_that_was_stopped_is_the_same_so_far() -> None:
    race = raced([AR, ("chain", [[QUICK]])], end=None)
    for lane in race.lanes:
        lane.apply(Failed(error="x", message="m"))
    found = compare(race, race.lanes[1])
    assert found is not None
    assert found.kind == "so far"


def test_drawn_and_naive_texts_are_not_judged() -> None:
    for changed, kind in (({"temperature": 1.0}, "sampled"), ({"verify": "naive"}, "naive")):
        settings = read_lanes("ar,chain", DecodeSettings(**changed))  # type: ignore[arg-type]
        pair = loaded()
        pair = msgspec.structs.replace(pair, target=msgspec.structs.replace(pair.target, dtype="bfloat16"))
        race = Race("?", settings, pair)
        for lane, rounds in zip(race.lanes, (AR[1], [[DOG, END]]), strict=True):
            for event in lane_events(lane.settings, rounds):
                lane.apply(event)
        found = compare(race, race.lanes[1])
        assert found is not None
        assert found.kind == kind
        assert explanation(found)


def test_lanes_with_another_prompt_are_compared_among_themselves() -> None:
    settings = read_lanes("tree,tree+thinking,ar+thinking,chain+thinking", DecodeSettings())
    race = Race("?", settings, loaded())
    for lane in race.lanes:
        prompt = (4, 5, 6, 7) if lane.settings.thinking else (4, 5, 6)
        for event in lane_events(lane.settings, AR[1], prompt=prompt):
            lane.apply(event)
    kinds = {number: (c.kind, c.against and c.against.number) for number, c in comparisons(race).items()}
    assert kinds == {0: ("alone", None), 1: ("same", 2), 3: ("same", 2)}


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_a_diff_holds_both_texts(before: list[int], after: list[int]) -> None:
    pieces = diff(before, after)
    assert [i for piece in pieces if piece.kind != "new" for i in piece.ids] == before
    assert [i for piece in pieces if piece.kind != "gone" for i in piece.ids] == after
    assert all(piece.ids for piece in pieces)


@given(
    st.lists(st.tuples(st.text("ab \n世", max_size=30), st.sampled_from(("same", "gone"))), max_size=8),
    st.integers(2, 20),
)
def test_wrapping_keeps_every_word(spans: list[tuple[str, str]], width: int) -> None:
    lines = wrapped(spans, width)
    assert all(sum(cell_len(text) for text, _ in line) <= width for line in lines)
    for role in ("same", "gone"):
        kept = "".join(text for line in lines for text, its in line if its == role)
        assert "".join(kept.split()) == "".join("".join(t for t, r in spans if r == role).split())


def test_a_marked_diff_says_without_colours_what_is_whose() -> None:
    race = raced([AR, ("chain", [[QUICK, DOG], [FOX, END]])])
    lines = marked_diff(*race.lanes, 80)
    assert "".join(text for text, _ in lines[0]) == " The quick[- brown-]{+ dog+} fox<|im_end|>"
    assert {role for _, role in lines[0]} == {"same", "gone", "new"}


def test_the_table_lines_up() -> None:
    race = raced([AR, CHAIN])
    table = [COLUMNS, *rows(race, comparisons(race))]
    lines = aligned(table)
    assert lines[1].split() == "ar 100.0 1.00× 1.00 4 5 0.04 s 0.50 s 2 reference".split()
    assert lines[2].split() == "chain 200.0 2.00× 2.00 2 5 0.02 s 0.50 s 1 same text".split()
    assert (
        len({line.index(name) for line, name in zip(lines, ("text", "reference", "same"), strict=True)}) == 1
    )


# The command


def options(tmp_path: Path, prompt: str) -> list[str]:
    return ["race", prompt, "--lanes", "ar,chain,tree:16", "--log", str(tmp_path / "log")]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = str(Path(__file__).parent)
    start = f"import sys; sys.path.insert(0, {tests!r}); from scripted_engine import main; main()"
    worker = [sys.executable, "-c", start, "500"]
    monkeypatch.setattr(engine_process, "worker_command", lambda log, **how: worker)


@pytest.mark.usefixtures("scripted")
def test_the_command_prints_a_table_and_the_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(options(tmp_path, "hello")) == exit_codes.TEXT_DIFFERS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["lane", "tokens/s"]
    assert [line.split()[0] for line in lines[1:4]] == ["ar", "chain", "tree"]
    assert "differs: DEFECT" in lines[2]
    assert any(line.startswith("+ ") and line.endswith("(chain)") for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.usefixtures("scripted")
def test_json_holds_all_numbers_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*options(tmp_path, "hello"), "--json"]) == exit_codes.TEXT_DIFFERS
    told = json.loads(capsys.readouterr().out)
    assert [lane["name"] for lane in told["lanes"]] == ["ar", "chain", "tree 16"]
    assert sorted(lane["place"] for lane in told["lanes"]) == [1, 2, 3]
    for lane in told["lanes"]:
        assert lane["tokens"] == len(lane["output_ids"])
        assert lane["ratio"] == pytest.approx(
            lane["tokens_per_second"] / told["lanes"][0]["tokens_per_second"]
        )
    assert told["lanes"][1]["compared"]["with"] == 0
    assert told["lanes"][1]["compared"]["divergence"]["index"] >= 0


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("prompt", "code", "words"),
    [
        ("fail", exit_codes.ENGINE_FAILED, "The lanes do not fit. Race fewer."),
        ("limp", exit_codes.ENGINE_FAILED, "The logits are no numbers."),
        ("die", exit_codes.ENGINE_FAILED, "killed by signal 9"),
        (" ", exit_codes.BAD_INPUT, "The prompt is empty."),
    ],
)
def test_what_goes_wrong_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prompt: str, code: int, words: str
) -> None:
    assert cli.main(options(tmp_path, prompt)) == code
    told = capsys.readouterr()
    assert words in told.err
    assert ("failed" in told.out) == (prompt == "limp")


def test_what_cannot_be_raced_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race", "hello", "--lanes", "ar"]) == exit_codes.BAD_INPUT
    assert cli.main(["race", "hello", "--tp", "2"]) == exit_codes.BAD_INPUT
    assert "one process" in capsys.readouterr().err


def test_what_lanes_do_not_say_comes_from_the_other_options() -> None:
    parsed = cli.parse(["race", "hello", "--budget", "7", "--temperature", "0.5", "--system", "be brief"])
    assert isinstance(parsed, RaceOptions)
    assert [lane_name(lane) for lane in parsed.lanes] == ["ar", "chain", "tree 7"]
    assert {lane.temperature for lane in parsed.lanes} == {0.5}
    assert [message["role"] for message in parsed.messages] == ["system", "user"]

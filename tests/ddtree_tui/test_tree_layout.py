"""Both drawings of a round, checked as pictures: lines that meet, widths that hold, nothing lost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_recording import BLOCK, VOCABULARY, Recording
from rich.cells import cell_len

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape, fold_below
from ddtree_tui.escape import decode_bytes, token_label
from ddtree_tui.glyphs import GLYPHS, State, probability
from ddtree_tui.tree_folds import prune
from ddtree_tui.tree_layout import MOST_DETAIL, Arrangement, lay_out
from ddtree_tui.tree_parts import TreeLayout
from engine.events import Round
from engine.settings import DecodeSettings, Mode

seeds = st.integers(0, 10**6)
budgets = st.sampled_from((1, 3, 16, 64, 200))
widths = st.sampled_from((30, 60, 78, 118, 158))
modes = st.sampled_from(("ar", "chain", "tree"))


def label(token: int) -> tuple[str, int]:
    text = token_label(decode_bytes(VOCABULARY[token]))
    return text, cell_len(text)


def drawn(seed: int, budget: int = 64, mode: Mode = "tree", *, stop: bool = False) -> Round:
    return Recording(seed).round(DecodeSettings(budget=budget, mode=mode), 0, 50, 7, stop=stop)


def text_of(layout: TreeLayout) -> list[str]:
    return ["".join(part.text for part in line) for line in layout.lines]


@settings(max_examples=60, deadline=None)
@given(seeds, budgets, modes, widths, st.sampled_from((None, 4, 9, 19, 30)), st.booleans(), st.booleans())
def test_every_drawing_is_sound(
    seed: int, budget: int, mode: Mode, width: int, rows: int | None, horizontal: bool, stop: bool
) -> None:
    round_ = drawn(seed, budget, mode, stop=stop)
    shape = DraftShape.of(round_)
    layout = lay_out(shape, label, width, rows, arrangement="horizontal" if horizontal else "indented")
    assert layout.width == max(cell_len(line) for line in text_of(layout))
    places = [
        part.place
        for line in layout.lines[layout.told :]
        for part in line
        if part.place is not None and isinstance(part.role, State)
    ]
    nodes = [place for place in places if place >= 0]
    assert len(nodes) == len(set(nodes))
    assert len(nodes) + layout.hidden == len(round_.nodes.ids)
    assert places.count(ROOT) == 1
    assert places.count(BONUS) == (round_.bonus_id is not None)
    assert places.count(NEAR_MISS) == (round_.miss is not None and not round_.miss.beyond)
    # the accepted path comes before all branches; across, it is the start of the first row
    path = [ROOT, *round_.accepted] + ([BONUS] if round_.bonus_id is not None else [])
    assert places[: len(path)] == path
    first = [part.place for part in layout.lines[layout.told] if isinstance(part.role, State)]
    assert not horizontal or first[: len(path)] == path
    if rows is not None:
        assert len(layout.lines) <= max(rows, 3)
    for line in layout.lines:
        for part in line:
            if isinstance(part.role, State) and part.place is not None:
                assert part.text.startswith(GLYPHS[shape.state(part.place)])


@settings(max_examples=60, deadline=None)
@given(seeds, budgets, st.sampled_from((60, 118, 158)), st.sampled_from((None, 9, 19)))
def test_horizontal_lines_meet(seed: int, budget: int, width: int, rows: int | None) -> None:
    """Whatever points up must have something above it that points down, and the other way round."""
    layout = lay_out(DraftShape.of(drawn(seed, budget)), label, width, rows)
    grid: list[dict[int, str]] = []
    for line in layout.lines:
        row: dict[int, str] = {}
        x = 0
        for part in line:
            if part.role == "line":
                row |= {x + offset: character for offset, character in enumerate(part.text)}
            x += cell_len(part.text)
        grid.append(row)
    down, up = set("┬├│"), set("├└│")
    for y, row in enumerate(grid):
        for x, character in row.items():
            if character in up:
                assert y > 0
                assert grid[y - 1].get(x) in down, (y, x, character)
            if character in down:
                assert grid[y + 1].get(x) in up, (y, x, character)


@settings(max_examples=40, deadline=None)
@given(seeds, budgets, st.sampled_from((118, 158)))
def test_a_column_is_a_depth(seed: int, budget: int, width: int) -> None:
    round_ = drawn(seed, budget)
    shape = DraftShape.of(round_)
    columns: dict[int, set[int]] = {}
    layout = lay_out(shape, label, width, 25)
    for line in layout.lines[layout.told :]:
        x = 0
        for part in line:
            if isinstance(part.role, State) and part.place is not None and part.place >= ROOT:
                columns.setdefault(shape.depth(part.place), set()).add(x)
            x += cell_len(part.text)
    assert all(len(starts) == 1 for starts in columns.values())
    starts = [columns[depth].pop() for depth in sorted(columns)]
    assert starts == sorted(set(starts))


@pytest.mark.parametrize("budget", [16, 64, 256])
@pytest.mark.parametrize("width", [98, 118, 158])
def test_a_usual_round_needs_no_scrolling(budget: int, width: int) -> None:
    for seed in range(30):
        layout = lay_out(DraftShape.of(drawn(seed, budget)), label, width, 17)
        assert layout.width <= width
        assert len(layout.lines) <= 17


@settings(max_examples=40, deadline=None)
@given(seeds, budgets)
def test_indented_rows_name_their_depth(seed: int, budget: int) -> None:
    round_ = drawn(seed, budget)
    shape = DraftShape.of(round_)
    layout = lay_out(shape, label, 78, 12, arrangement="indented")
    first = {ROOT, *round_.accepted}  # and what follows them on their row, which may go on below
    place = shape.end
    while place >= ROOT and (entries := shape.below(place)):
        place = entries[0]
        first.add(place)
    first |= {fold_below(place) for place in first if place >= ROOT}
    for line in layout.lines[1:]:
        numbers = [part.text for part in line if part.role == "depth"]
        if not numbers:
            beside = all(part.place is None or part.place in first for part in line)
            assert line[0].role is State.FOLDED or beside
            continue
        (number,) = numbers
        place = next(part.place for part in line if isinstance(part.role, State))
        assert place is not None
        if place >= 0 or place in (BONUS, NEAR_MISS):
            assert int(number) == shape.depth(place)


def test_rows_of_a_drawing_are_what_pruning_promised() -> None:
    for seed in range(40):
        shape = DraftShape.of(drawn(seed))
        for rows in (None, 5, 9, 19):
            pruned = prune(shape, rows)
            for arrangement in ("horizontal", "indented"):
                layout = lay_out(shape, label, 10_000, rows, arrangement=arrangement)  # type: ignore[arg-type]
                assert len(layout.lines) == pruned.rows


def test_ar_shows_root_and_committed_token() -> None:
    round_ = drawn(1, mode="ar")
    (line,) = text_of(lay_out(DraftShape.of(round_), label, 118, 19))
    assert line.startswith("● ")
    assert "★" in line
    assert round_.acceptance_length == 1


def test_a_full_block_is_drawn_without_a_miss() -> None:
    recording = Recording(5, skill=40.0, awkward=0.0)
    round_ = next(
        found
        for _ in range(500)
        if len((found := recording.round(DecodeSettings(), 0, 50, 7)).accepted) == BLOCK - 1
    )
    assert round_.miss is None
    layout = lay_out(DraftShape.of(round_), label, 118, 19)
    assert layout.width <= 118
    assert text_of(layout)[layout.told].count("✓") == BLOCK - 1


@pytest.mark.parametrize(
    ("arrangement", "width"), [("horizontal", 117), ("horizontal", 158), ("indented", 77), ("indented", 117)]
)
def test_the_accepted_path_is_readable_however_long_it_is(arrangement: Arrangement, width: int) -> None:
    recordings = (Recording(5, awkward=0.0), Recording(5, skill=40.0, awkward=0.0))
    lengths: set[int] = set()
    for number in range(60):
        round_ = recordings[number % 2].round(DecodeSettings(), 0, 50, 7)
        layout = lay_out(DraftShape.of(round_), label, width, 14, arrangement=arrangement)
        assert len(layout.lines) <= 14
        assert layout.width <= width
        told = " ".join(text_of(layout)[: layout.told or 4])
        for node in round_.accepted:
            token = label(round_.nodes.ids[node])[0]
            assert f"{GLYPHS[State.ACCEPTED]} {token}" in told or GLYPHS[State.ACCEPTED] + token in told
        lengths.add(len(round_.accepted))
    assert max(lengths) >= 10
    assert min(lengths) <= 4


def test_a_path_that_its_columns_show_in_full_is_not_told_twice() -> None:
    told = {lay_out(DraftShape.of(drawn(seed)), label, 500, 19).told for seed in range(20)}
    assert told == {0}
    told = {lay_out(DraftShape.of(drawn(seed)), label, 98, 19).told for seed in range(20)}
    assert told == {0, 1} or told == {0, 1, 2}


def test_the_near_miss_names_token_and_rank() -> None:
    for seed in range(50):
        round_ = drawn(seed)
        if round_.miss is not None and not round_.miss.beyond:
            lines = "\n".join(text_of(lay_out(DraftShape.of(round_), label, 118, 19)))
            token = label(round_.miss.id)[0]
            assert f"✗→{token} #{round_.miss.rank}" in lines
            return
    pytest.fail("no near miss in fifty rounds")


@settings(max_examples=40, deadline=None)
@given(seeds, budgets, st.sampled_from(("horizontal", "indented")), st.integers(1, MOST_DETAIL))
def test_levels_of_detail_say_more_and_more(
    seed: int, budget: int, arrangement: Arrangement, level: int
) -> None:
    round_ = drawn(seed, budget)
    shape = DraftShape.of(round_)
    layout = lay_out(shape, label, 78, None, arrangement=arrangement, level=level)
    assert layout.width == max(cell_len(line) for line in text_of(layout))
    parts = [part for line in layout.lines for part in line]
    places = [part.place for part in parts if isinstance(part.role, State) and part.place is not None]
    assert sorted(place for place in places if place >= 0) == list(range(len(round_.nodes.ids)))
    numbers = {part.place: part.text for part in parts if part.role == "probability"}
    nodes = round_.nodes
    for node, rank in enumerate(nodes.ranks):
        if level < 3:
            assert node not in numbers
            continue
        assert probability(math.exp(nodes.logprobs[node])) in numbers[node]
        assert (f" #{rank}" in numbers[node]) == (level == 4)
        verified = round_.target.ids[nodes.parents[node] + 1] == nodes.ids[node]
        assert (" t" in numbers[node]) == (level == 4 and verified)
    if level == 1:
        labels = [part for part in parts if isinstance(part.role, State) and part.place in range(1024)]
        assert all(cell_len(part.text) <= 1 + 4 for part in labels)
    lower = lay_out(shape, label, 78, None, arrangement=arrangement, level=max(1, level - 1))
    assert lower.width <= layout.width


def test_the_targets_probability_comes_from_the_details_where_it_chose_another_token() -> None:
    round_ = Recording(4).round(DecodeSettings(budget=64, detail=True), 0, 50, 7)
    shape = DraftShape.of(round_)
    assert round_.target_topk is not None
    known = [node for node in range(64) if shape.target_logprob(node) is not None]
    chosen = [n for n in known if round_.target.ids[round_.nodes.parents[n] + 1] == round_.nodes.ids[n]]
    assert len(known) > len(chosen) > 0

"""The draft tree by keys and mouse: the cursor, what it shows, and what it asks the engine for."""

from __future__ import annotations

from make_recording import conversation
from playing import Playing, ask, playing, replaying
from rich.cells import cell_len
from scripted_engine import ScriptedEngine

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT
from ddtree_tui.glyphs import State
from ddtree_tui.session import Phase
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.node_detail import COMING, NOT_IN_RECORDING, SWITCHED_OFF
from engine.commands import Cancel, Set
from engine.events import AnyEvent


def recorded(budget: int = 64, *, detail: bool = True) -> list[AnyEvent]:
    return conversation(4, budget=budget, detail=detail, rounds=6)


def tree_of(play: Playing) -> DraftTreeView:
    return play.app.query_one(DraftTreeView)


def column_of(glyph: str, line: str) -> int:
    return cell_len(line[: line.index(glyph)])


async def test_the_cursor_goes_along_the_tree() -> None:
    async with replaying(recorded()) as play:
        tree, pilot = tree_of(play), play.pilot
        assert tree.look.cursor is None
        assert not play.app.query_one("#detail").region
        await pilot.press("home", "c")
        shape = tree.shape
        assert shape is not None
        assert tree.look.cursor == shape.end
        await pilot.press("right")
        assert tree.look.cursor == BONUS
        await pilot.press("left", "left")
        assert tree.look.cursor == shape.parent(shape.end)
        for _ in range(20):
            await pilot.press("h")
        assert tree.look.cursor == ROOT
        await pilot.press("l", "down")
        assert shape.depth(tree.look.cursor) == 1
        assert shape.state(tree.look.cursor) is State.REJECTED
        await pilot.press("k")
        assert shape.state(tree.look.cursor) is State.ACCEPTED
        assert play.controller.viewpoint.index(play.rounds) == 0
        await pilot.press("escape")
        assert tree.look.cursor is None
        await pilot.press("right")  # a round, as without a cursor
        assert play.controller.viewpoint.index(play.rounds) == 1


async def test_the_pane_tells_about_the_node_and_goes_with_the_cursor() -> None:
    for size in ((120, 40), (80, 24), (200, 60)):
        async with replaying(recorded(), size=size) as play:
            await play.pilot.press("home", "c")
            await play.settle()
            tree = tree_of(play)
            assert tree.shape is not None
            text = play.part("#detail")
            assert f"id {tree.shape.token(tree.shape.end)}" in text
            assert "accepted · depth" in text
            assert "the target chose it" in text
            for title in ("drafter here", "target here", "target next"):
                assert title in text
            assert COMING not in text
            assert "rounds by acceptance length" not in play.text()
            await play.pilot.press("left_square_bracket", "right_square_bracket")
            await play.settle()
            assert "round 2 of" in play.part("#heading")
            assert tree.look.cursor == tree.shape.end
            await play.pilot.press("c")
            await play.settle()
            assert not play.app.query_one("#detail").region


async def test_rounds_without_details_say_so() -> None:
    async with replaying(recorded(detail=False)) as play:
        await play.pilot.press("c")
        await play.settle()
        assert NOT_IN_RECORDING in play.part("#detail")


async def test_the_pane_stays_while_only_the_tree_is_shown() -> None:
    async with replaying(recorded()) as play:
        await play.pilot.press("home", "z", "c")
        await play.settle()
        assert "accepted · depth" in play.part("#detail")
        assert not play.app.query_one("#transcript").region


async def test_a_click_places_the_cursor_and_opens_folds() -> None:
    async with replaying(recorded(200)) as play:
        tree = tree_of(play)
        lines = play.part("#tree").splitlines()
        y = next(y for y, line in enumerate(lines) if "✗ " in line)
        await play.pilot.click(DraftTreeView, offset=(column_of("✗ ", lines[y]), y))
        await play.settle()
        assert tree.shape is not None
        assert tree.look.cursor is not None
        assert tree.shape.state(tree.look.cursor) is State.REJECTED
        assert "rejected · depth" in play.part("#detail")
        hidden = tree.hidden
        lines = play.part("#tree").splitlines()
        y = next(y for y, line in enumerate(lines) if "▸" in line and "more branches" not in line)
        await play.pilot.click(DraftTreeView, offset=(column_of("▸", lines[y]), y))
        await play.settle()
        assert tree.hidden < hidden
        assert tree.look.opened


async def test_folding_at_the_cursor() -> None:
    async with replaying(recorded(200)) as play:
        tree, pilot = tree_of(play), play.pilot
        await pilot.press("home", "c")
        for _ in range(20):
            await pilot.press("left")
        folded = tree.hidden
        assert folded > 0
        await pilot.press("enter")
        await play.settle()
        assert tree.hidden == 0
        assert tree.max_scroll_y > 0
        await pilot.press("enter")
        await play.settle()
        shape = tree.shape
        assert shape is not None
        assert tree.hidden == len(shape.states) - len(shape.round.accepted)
        assert "more branches" in play.part("#tree")
        await pilot.press("e")
        assert tree.hidden == 0
        await pilot.press("e")
        await play.settle()
        assert tree.hidden == folded


async def test_right_unfolds_what_it_goes_into() -> None:
    async with replaying(recorded(200)) as play:
        tree, pilot = tree_of(play), play.pilot
        await pilot.press("home", "c")
        shape = tree.shape
        assert shape is not None
        folded = next(
            node
            for node, state in enumerate(shape.states)
            if state is not State.ACCEPTED and shape.children[node] and node in tree._spots()
            if not any(child in tree._spots() for child in shape.children[node])
        )
        tree.put_cursor(folded)
        await pilot.press("right")
        assert tree.look.cursor == shape.children[folded][0]
        assert tree.look.cursor in tree._spots()


async def test_a_cursor_asks_for_details_from_the_next_round_on() -> None:
    async with playing(rounds=5000, rounds_per_second=40) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 2)
        newest = play.controller.session.rounds[-1][1]
        assert newest.target_topk is None
        await play.pilot.press("c")
        assert engine.sent_of(Set) == [Set(settings={"detail": True})]
        await play.until(lambda: play.controller.session.rounds[-1][1].target_topk is not None)
        await play.pilot.press("space")
        await play.settle()
        assert "target next" in play.part("#detail")
        await play.pilot.press("home")
        await play.settle()
        assert COMING in play.part("#detail")
        assert "Esc leave" in play.part("#keys")
        await play.pilot.press("escape")  # leaves the tree and does not stop the run
        assert not engine.sent_of(Cancel)
        assert len(engine.sent_of(Set)) == 1, "as promised, the rounds to come have them too"
        assert play.controller.busy
        await play.pilot.press("escape")
        assert engine.sent_of(Cancel)


async def test_details_stay_on_for_the_next_prompt_and_can_be_turned_off() -> None:
    async with playing(rounds=3) as play:
        await ask(play)
        await play.until(lambda: play.rounds == 3 and not play.controller.busy)
        await play.pilot.press("escape", "c")
        await play.settle()
        assert COMING in play.part("#detail")
        assert "From now on rounds keep each model's 8 best candidates" in " ".join(
            one.message for one in play.app._notifications
        )
        await play.pilot.press("escape", "i")
        await ask(play, "again")
        await play.until(lambda: play.rounds == 6 and not play.controller.busy)
        assert play.controller.session.rounds[5][1].target_topk is not None
        play.controller.change(detail=False)
        await play.pilot.press("escape", "c", "home")
        await play.settle()
        assert SWITCHED_OFF in play.part("#detail")
        assert not play.controller.settings.detail


async def test_details_asked_for_on_the_command_line_stay_on() -> None:
    from engine.settings import DecodeSettings

    async with playing(rounds=3, settings=DecodeSettings(detail=True)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds == 3 and not play.controller.busy)
        await play.pilot.press("escape", "c", "c")
        assert play.controller.settings.detail


async def test_without_rounds_there_is_nothing_to_point_at() -> None:
    async with playing() as play:
        await play.pilot.press("tab", "tab", "c", "escape")
        assert tree_of(play).look.cursor is None
        assert not play.controller.settings.detail


async def test_the_near_miss_has_its_reason() -> None:
    async with replaying(recorded()) as play:
        tree = tree_of(play)
        for index, (_, round_) in enumerate(play.controller.session.rounds):
            if round_.miss is not None and not round_.miss.beyond:
                play.controller.viewpoint.choose(index, play.rounds)
                play.app.changed()
                await play.settle()
                break
        await play.pilot.press("c", "right", "down")
        await play.settle()
        assert tree.look.cursor == NEAR_MISS
        assert "near miss · depth" in play.part("#detail")
        assert "the tree's least has p" in play.part("#detail")


async def test_layouts_in_turn() -> None:
    async with replaying(recorded(200)) as play:
        tree = tree_of(play)
        assert "┬" in play.part("#tree")
        await play.pilot.press("v")
        await play.settle()
        assert tree.look.arrangement == "indented"
        assert "┬" not in play.part("#tree")
        assert "├─1" in play.part("#tree") or "└─1" in play.part("#tree")
        await play.pilot.press("v")
        await play.settle()
        assert "nodes, p " in play.part("#tree")
        assert tree.hidden == 0
        await play.pilot.press("home", "c")
        shape = tree.shape
        assert shape is not None
        for _ in range(20):
            await play.pilot.press("up")  # here depth goes down
        assert tree.look.cursor == ROOT
        await play.pilot.press("down", "right")
        assert tree.look.cursor == shape.children[ROOT][1]
        await play.pilot.press("left")
        assert tree.look.cursor == shape.children[ROOT][0]
        await play.pilot.press("v")
        await play.settle()
        assert tree.look.arrangement is None
        assert "┬" in play.part("#tree")


async def test_levels_of_detail() -> None:
    async with replaying(recorded(16)) as play:
        tree, seen = tree_of(play), []
        await play.pilot.press("home", "e")
        for level in range(6):
            await play.settle()
            assert tree.look.level == level % 5
            seen.append(play.part("#tree"))
            await play.pilot.press("o")
        assert seen[5] == seen[0]
        assert len(set(seen[1:5])) == 4
        assert " #0" in seen[4]
        assert " #0 " not in seen[3]
        await play.pilot.press("O")
        assert tree.look.level == 0


async def test_folding_all_leaves_the_accepted_path() -> None:
    async with replaying(recorded(200)) as play:
        tree = tree_of(play)
        await play.pilot.press("home", "B", "E")
        await play.settle()
        shape = tree.shape
        assert shape is not None
        assert tree.hidden == len(shape.states) - len(shape.round.accepted)
        assert tree.look.cursor == shape.end
        await play.pilot.press("e")
        assert tree.hidden == 0


async def test_jumps() -> None:
    async with replaying(recorded(200)) as play:
        tree, pilot = tree_of(play), play.pilot
        await pilot.press("home", "L")
        shape = tree.shape
        assert shape is not None
        assert tree.look.cursor == shape.end
        await pilot.press("M")
        assert tree.look.cursor in (BONUS, NEAR_MISS)
        await pilot.press("B")
        assert tree.look.cursor is not None
        assert shape.state(tree.look.cursor) is State.REJECTED
        refused = [node for node, state in enumerate(shape.states) if state is State.REJECTED]
        assert shape.weights[tree.look.cursor] == max(shape.weights[node] for node in refused)
        await play.settle()
        assert "rejected · depth" in play.part("#detail")


async def test_searching_the_tree() -> None:
    async with replaying(recorded(200)) as play:
        tree, pilot = tree_of(play), play.pilot
        await pilot.press("home")
        shape = tree.shape
        assert shape is not None
        labels = play.controller.session.labels
        hidden = next(
            labels(shape.round.nodes.ids[node])[0].strip("␣")
            for node in reversed(range(len(shape.states)))
            if node not in tree._spots() and labels(shape.round.nodes.ids[node])[0].strip("␣").isalpha()
        )
        await pilot.press("slash")
        await play.type(hidden)
        await play.settle()
        matches = [place for place in [ROOT, *shape.subtree(ROOT)] if hidden in labels(shape.token(place))[0]]  # type: ignore[arg-type]
        assert sorted(tree.look.found) == sorted(matches)
        assert tree.look.cursor in matches
        assert f"of {len(matches)}" in play.part("#tree-search")
        seen = {tree.look.cursor}
        for _ in range(len(matches)):
            await pilot.press("down")
            seen.add(tree.look.cursor)
            assert tree.look.cursor in tree._spots()
        assert seen == set(matches)
        await pilot.press("enter")
        assert play.app.focused is tree
        assert not play.app.query_one("#tree-search").region
        at = tree.look.cursor
        await pilot.press("n", "N")
        assert tree.look.cursor == at
        await pilot.press("slash", "[", "escape")
        await play.settle()
        assert tree.look.needle == ""
        assert play.app.focused is tree
        await pilot.press("slash")
        await play.type("nowhere")
        await play.settle()
        assert "no match" in play.part("#tree-search")
        await pilot.press("escape", "escape")
        assert tree.look.cursor is None


async def test_a_tall_tree_has_a_map() -> None:
    async with replaying(recorded(200)) as play:
        tree, pilot = tree_of(play), play.pilot
        await pilot.press("home", "e")
        await play.settle()
        height = tree.scrollable_content_region.height
        assert len(tree._map()) == height
        lines = play.part("#tree").splitlines()
        column = tree.scrollable_content_region.width - 1 + tree.styles.padding.left
        assert any("✓" in line[column - 2 : column + 2] for line in lines)
        await pilot.click(DraftTreeView, offset=(column, tree.styles.padding.top + height - 1))
        await play.settle()
        assert tree.scroll_offset.y > 0
        assert tree.look.cursor is None
        await pilot.press("c")
        await play.settle()
        assert any(cell.role == "map-cursor" for cell in tree._map())


async def test_a_cursor_brings_the_tree_back_when_only_the_text_is_shown() -> None:
    async with replaying(recorded()) as play:
        await play.pilot.press("z", "z")
        await play.settle()
        assert not tree_of(play).region
        await play.pilot.press("c")
        await play.settle()
        assert tree_of(play).region
        assert play.app.focused is tree_of(play)
        await play.pilot.press("left", "up", "down", "right")
        assert tree_of(play).look.cursor is not None


async def test_a_cursor_outlives_the_conversation_and_can_still_be_left() -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds == 3 and not play.controller.busy)
        await play.pilot.press("escape", "c", "ctrl+n")
        await play.settle()
        await play.type("again")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds == 3 and not play.controller.busy)
        await play.settle()
        tree = tree_of(play)
        assert tree.shape is not None
        assert tree.look.cursor == tree.shape.end
        assert play.controller.session.rounds[0][1].target_topk is not None
        tree.focus()
        await play.pilot.press("escape")
        assert tree.look.cursor is None

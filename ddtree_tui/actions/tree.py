"""Moving in the draft tree, and how it is drawn."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.tree_layout import MOST_DETAIL
from ddtree_tui.tree_look import Landmark
from ddtree_tui.tree_spots import Way
from ddtree_tui.widgets import tree_keys
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.run_view import RunView
from ddtree_tui.widgets.tree_search import TreeSearch
from engine.events import TOP_CANDIDATES

NOW_KEPT = (
    f"From now on rounds keep each model's {TOP_CANDIDATES} best candidates at every place, for the details "
    "of a node. The setting detail turns that off."
)
KEYS = (
    Key(
        "tree.cursor",
        "tree_cursor",
        "cursor in the tree, details of its node; or click",
        "Cursor in the tree",
        free="c",
    ),
    Key(
        "tree.unfold",
        "unfold",
        "unfold all branches, or fold to the height",
        "Unfold or fold the tree",
        free="e",
    ),
    Key("tree.fold_all", "fold_all", "fold all but the accepted path", "Fold all branches", free="E"),
    Key(
        "tree.arrangement",
        "tree_arrangement",
        "tree across, down, as an overview; by width",
        "Another layout of the tree",
        free="v",
    ),
    Key(
        "tree.more",
        "tree_level(1)",
        "more of each node, 1 to 4, or what fits",
        "More of each node",
        free="o",
    ),
    Key("tree.less", "tree_level(-1)", "less of each node", free="O"),
    *tree_keys.KEYS,
)


class TreeActions(Actions):
    _asked_for_candidates = False

    def action_tree_cursor(self) -> None:
        """Put the cursor where the accepted path ends, or take it out of the tree."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is None:
            self._to_the_tree()
            tree.jump("leaf")
        else:
            tree.put_cursor(None)
        self._inspected()

    async def action_tree_move(self, way: Way) -> None:
        """Move the cursor; without one the keys show other rounds, or scroll."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is not None:
            tree.move(way)
            self.changed()
        elif way in ("up", "down"):
            tree.scroll_relative(y=1 if way == "down" else -1, animate=False)
        else:
            await self.run_action(f"move_round({1 if way == 'child' else -1})")

    async def action_tree_fold(self) -> None:
        """Fold or unfold below the cursor; without one, go to the prompt."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is None:
            await self.run_action("focus_prompt")
        else:
            tree.toggle_fold(tree.look.cursor)
            self.changed()

    async def action_tree_leave(self) -> None:
        """Take the cursor out of the tree; without one, stop the run."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is None:
            await self.run_action("stop")
        else:
            tree.put_cursor(None)
            tree.search("")
            self._inspected()

    def action_unfold(self) -> None:
        """Show every node of the tree, or fold it to its height again."""
        self.query_one(DraftTreeView).toggle_unfolded()
        self.changed()

    def action_fold_all(self) -> None:
        """Show the accepted path alone."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is not None and tree.shape is not None:
            tree.jump("leaf")
        tree.look.fold_all()
        tree.look_changed()
        self.changed()

    def action_tree_arrangement(self) -> None:
        """The next arrangement of the tree."""
        tree = self.query_one(DraftTreeView)
        tree.look.next_arrangement(self.size.width)
        tree.look_changed()
        self.changed()

    def action_tree_level(self, by: int) -> None:
        """More or less of each node; behind the most comes what fits."""
        tree = self.query_one(DraftTreeView)
        tree.look.set_level((tree.look.level + by) % (MOST_DETAIL + 1))
        tree.look_changed()
        self.changed()

    def action_tree_jump(self, landmark: Landmark) -> None:
        """Point at a place worth seeing."""
        self._to_the_tree()
        self.query_one(DraftTreeView).jump(landmark)
        self._inspected()

    def action_tree_search(self) -> None:
        """Type what to look for in the tree."""
        self._to_the_tree()
        tree = self.query_one(DraftTreeView)
        if tree.shape is not None:
            self.query_one(TreeSearch).open(tree.look.needle)

    async def action_tree_next(self, by: int) -> None:
        """To the next match; without a search, decode one round."""
        tree = self.query_one(DraftTreeView)
        if tree.look.needle:
            tree.next_match(by)
            self._inspected()
        elif by > 0:
            await self.run_action("step_round")

    def on_tree_search_typed(self, message: TreeSearch.Typed) -> None:
        tree = self.query_one(DraftTreeView)
        tree.search(message.text)
        self._tell_matches()
        self._inspected()

    def on_tree_search_next(self, message: TreeSearch.Next) -> None:
        self.query_one(DraftTreeView).next_match(message.by)
        self._tell_matches()
        self.changed()

    def on_tree_search_left(self, message: TreeSearch.Left) -> None:
        tree = self.query_one(DraftTreeView)
        if not message.kept:
            tree.search("")
        tree.focus()
        self.changed()

    def _to_the_tree(self) -> None:
        """Show the tree if only the text is shown, and go there."""
        view, tree = self.query_one(RunView), self.query_one(DraftTreeView)
        if not tree.display:
            view.zoom()
        tree.focus()

    def _tell_matches(self) -> None:
        look = self.query_one(DraftTreeView).look
        place = look.found.index(look.cursor) + 1 if look.cursor in look.found else 0
        said = f"{place} of {len(look.found)}" if look.found else "no match" if look.needle else ""
        self.query_one(TreeSearch).tell(said)

    def on_draft_tree_view_pointed(self, message: DraftTreeView.Pointed) -> None:
        self._inspected()

    def _inspected(self) -> None:
        """The first cursor has all rounds to come keep the candidates that are shown beside it."""
        controller = self.controller
        pointing = self.query_one(DraftTreeView).look.cursor is not None
        if pointing and controller.playback is None and not self._asked_for_candidates:
            self._asked_for_candidates = True
            if not controller.settings.detail and controller.offers("detail"):
                self.attempt(lambda: controller.change(detail=True))
                self.notify(NOW_KEPT, markup=False, timeout=8)
        self.changed()

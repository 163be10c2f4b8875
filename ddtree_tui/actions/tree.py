"""Moving in the draft tree, and how it is drawn."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.tree_spots import Way
from ddtree_tui.widgets import tree_keys
from ddtree_tui.widgets.draft_tree import DraftTreeView

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
    *tree_keys.KEYS,
)


class TreeActions(Actions):
    def action_tree_cursor(self) -> None:
        """Put the cursor where the accepted path ends, or take it out of the tree."""
        tree = self.query_one(DraftTreeView)
        if tree.look.cursor is None:
            tree.focus()
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
            self._inspected()

    def action_unfold(self) -> None:
        """Show every node of the tree, or fold it to its height again."""
        self.query_one(DraftTreeView).toggle_unfolded()
        self.changed()

    def on_draft_tree_view_pointed(self, message: DraftTreeView.Pointed) -> None:
        self._inspected()

    def _inspected(self) -> None:
        """With a cursor in the tree the rounds to come are decoded with details."""
        controller = self.controller
        wanted = self.options.decode.detail or self.query_one(DraftTreeView).look.cursor is not None
        if controller.playback is None and controller.settings.detail != wanted:
            self.attempt(lambda: controller.change(detail=wanted))
        self.changed()

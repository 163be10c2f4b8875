"""Keys of the draft tree while it has the focus."""

from __future__ import annotations

from ddtree_tui.keys import Key

PANE = "the draft tree"
KEYS = (
    Key(
        "tree.left",
        "tree_move('parent')",
        "cursor to the parent; without cursor: round back",
        free="left,h",
        pane=PANE,
    ),
    Key(
        "tree.right",
        "tree_move('child')",
        "cursor to the child, unfolding; without: forth",
        free="right,l",
        pane=PANE,
    ),
    Key("tree.up", "tree_move('up')", "cursor to a sibling, or up; without: scroll", free="up,k", pane=PANE),
    Key(
        "tree.down",
        "tree_move('down')",
        "cursor to a sibling, or down; without: scroll",
        free="down,j",
        pane=PANE,
    ),
    Key("tree.search", "tree_search", "search for a token", "Search the tree", free="slash", pane=PANE),
    Key("tree.next", "tree_next(1)", "next match; without a search: one round", free="n", pane=PANE),
    Key("tree.before", "tree_next(-1)", "match before", free="N", pane=PANE),
    Key(
        "tree.leaf",
        "tree_jump('leaf')",
        "cursor to the end of the accepted path",
        "End of the accepted path",
        free="L",
        pane=PANE,
    ),
    Key(
        "tree.miss",
        "tree_jump('miss')",
        "cursor to what the target wanted there",
        "What the target wanted",
        free="M",
        pane=PANE,
    ),
    Key(
        "tree.rejected",
        "tree_jump('rejected')",
        "cursor to the best rejected branch",
        "Best rejected branch",
        free="B",
        pane=PANE,
    ),
    Key("tree.first", "first_round", "first round", free="home", pane=PANE),
    Key("tree.newest", "follow", "newest round", free="end", pane=PANE),
    Key(
        "tree.fold",
        "tree_fold",
        "fold, unfold below the cursor; without: prompt",
        free="enter",
        pane=PANE,
    ),
    Key(
        "tree.leave",
        "tree_leave",
        "cursor out of the tree; without: stop the run",
        free="escape",
        pane=PANE,
    ),
)

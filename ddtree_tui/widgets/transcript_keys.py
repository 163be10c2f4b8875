"""Keys of the transcript while it has the focus."""

from __future__ import annotations

from ddtree_tui.keys import Key

PANE = "the text"
KEYS = (
    Key("text.left", "token_move('left')", "cursor to the token before", free="left,h", pane=PANE),
    Key("text.right", "token_move('right')", "cursor to the next token", free="right,l", pane=PANE),
    Key("text.up", "token_move('up')", "cursor a line up; without one: scroll", free="up,k", pane=PANE),
    Key("text.down", "token_move('down')", "cursor a line down", free="down,j", pane=PANE),
    Key("text.first", "token_move('first')", "first token of the answer", free="home", pane=PANE),
    Key("text.last", "token_move('last')", "last token of the answer", free="end", pane=PANE),
    Key("text.node", "token_node", "to the token's node in the tree", free="enter", pane=PANE),
    Key("text.leave", "token_leave", "no cursor; without one: stop the run", free="escape", pane=PANE),
    Key("text.view", "text_view", "text, tokens, ids or bytes", "Text as ids or bytes", free="v", pane=PANE),
    Key(
        "text.tint", "text_tint", "tint by origin; also signs; neither", "Tint of tokens", free="b", pane=PANE
    ),
    Key("text.fold", "fold_thinking", "fold thinking away or show it", "Fold thinking", free="o", pane=PANE),
)

"""The text: a cursor on its tokens, how it is written, what the model was given."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.answer_text import PREFILL, UNTOLD
from ddtree_tui.keys import Key
from ddtree_tui.widgets import transcript_keys
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.run_view import place_of
from ddtree_tui.widgets.transcript import TokenWay, Transcript

KEYS = (
    Key(
        "text.cursor",
        "token_cursor",
        "cursor in the text: who wrote this token; or click",
        "Cursor in the text",
        free="r",
    ),
    *transcript_keys.KEYS,
)


class TranscriptActions(Actions):
    def action_token_cursor(self) -> None:
        """Put the cursor to what the shown round wrote, or take it out of the text."""
        transcript = self.query_one(Transcript)
        if transcript.cursor is None:
            transcript.focus()
            transcript.move("right")
        else:
            transcript.put_cursor(None)
        self.changed()

    def action_token_move(self, way: TokenWay) -> None:
        """Move the cursor; without one, up and down scroll."""
        transcript = self.query_one(Transcript)
        if transcript.cursor is None and way in ("up", "down"):
            transcript.scroll_relative(y=1 if way == "down" else -1, animate=False)
        else:
            transcript.move(way)

    async def action_token_node(self) -> None:
        """Go to the node that the token under the cursor was; without a cursor, to the prompt."""
        transcript, tree = self.query_one(Transcript), self.query_one(DraftTreeView)
        token = transcript.token()
        if token is None or tree.shape is None:
            await self.run_action("focus_prompt")
            return
        place = place_of(token, tree.shape.round)
        tree.focus()
        tree.put_cursor(place)
        tree.post_message(DraftTreeView.Pointed())

    async def action_token_leave(self) -> None:
        """Take the cursor out of the text; without one, stop the run."""
        transcript = self.query_one(Transcript)
        if transcript.cursor is None:
            await self.run_action("stop")
        else:
            transcript.put_cursor(None)
            self.changed()

    def action_text_view(self) -> None:
        """Text, tokens, ids, bytes."""
        self.query_one(Transcript).next_view()
        self.changed()

    def action_text_tint(self) -> None:
        """Tints, signs too, neither."""
        self.query_one(Transcript).next_tint()
        self.changed()

    def action_fold_thinking(self) -> None:
        """Fold thinking or show it."""
        self.query_one(Transcript).toggle_thinking()
        self.changed()

    def on_transcript_title_clicked(self, message: Transcript.TitleClicked) -> None:
        self.query_one(Transcript).toggle_thinking(message.answer)
        self.changed()

    def on_transcript_pointed(self) -> None:
        """Show the round that wrote the token under the cursor."""
        transcript = self.query_one(Transcript)
        token, answer = transcript.token(), transcript.answer()
        if token is not None and answer is not None and len(answer.rounds) and token.origin != UNTOLD:
            number = 0 if token.round == PREFILL else token.round
            self.controller.show(answer.first_round + number, "wrote the token")
        self.changed()

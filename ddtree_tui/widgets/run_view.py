"""The conversation, its rounds and its numbers: everything between the first line and the knobs."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Vertical

from ddtree_tui.answer import Answer
from ddtree_tui.answer_text import PREFILL, UNTOLD, Written
from ddtree_tui.draft_shape import BONUS, ROOT, DraftShape
from ddtree_tui.node_facts import facts_of
from ddtree_tui.round_player import RoundPlayer
from ddtree_tui.session import Session
from ddtree_tui.viewpoint import Viewpoint
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.node_detail import NodeDetail
from ddtree_tui.widgets.round_heading import RoundHeading, looking
from ddtree_tui.widgets.stats import DEFAULT_BLOCK, Numbers, Stats
from ddtree_tui.widgets.timeline import Timeline
from ddtree_tui.widgets.token_line import TokenLine, about, legend
from ddtree_tui.widgets.transcript import Transcript
from ddtree_tui.widgets.tree_search import TreeSearch
from engine.events import Round

NO_ROUND = -1
"""The number of the shown round in its answer where none is shown."""
ZOOMS = ("", "-only-tree", "-only-text")


class RunView(Vertical):
    """Hands the newest state to its parts, each only what has changed for it."""

    DEFAULT_CSS = """
    RunView {
        height: 1fr;
        DraftTreeView { padding: 0 0 0 1; }
        Transcript { padding: 0 0 0 1; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._shown: tuple[Answer | None, int] = (None, 0)
        self._timeline_key: tuple[int, int | None, int, int, int] | None = None

    def compose(self) -> ComposeResult:
        """Text and numbers above, the tree of the shown round and the timeline below."""
        with Container(id="upper"):
            yield Transcript(id="transcript")
            yield Stats(id="stats")
            yield NodeDetail(id="detail")
        yield TokenLine(id="token-line")
        yield RoundHeading(id="heading")
        yield TreeSearch(id="tree-search")
        yield DraftTreeView(id="tree")
        yield Timeline(id="timeline")

    def show(
        self, session: Session, viewpoint: Viewpoint, player: RoundPlayer, *, detail: bool | None
    ) -> None:
        """Paint the newest state. ``detail``: whether rounds to come have candidates; None of a recording."""
        count = len(session.rounds)
        index = viewpoint.index(count)
        untold = newest_without_rounds(session) if viewpoint.following else None
        answer, round_ = session.rounds[index] if index is not None and untold is None else (untold, None)
        shown_in_answer = index - answer.first_round if answer and round_ and index is not None else NO_ROUND
        tree = self.query_one(DraftTreeView)
        marked = (answer, max(0, shown_in_answer)) if answer is not None else None
        self.query_one(Transcript).show(session, marked, not viewpoint.following)
        if self._shown[0] is not answer or self._shown[1] != shown_in_answer:
            self._shown = (answer, shown_in_answer)
            labels = answer.labels if answer is not None else session.labels
            tree.show(DraftShape.of(round_) if round_ is not None else None, labels)
        self._show_token(session, answer, shown_in_answer)
        self._show_detail(answer, shown_in_answer, detail)
        name = session.rounds.round_name(answer, shown_in_answer) if answer is not None else ""
        self.query_one(RoundHeading).show(answer, round_, name, looking(viewpoint, player))
        overview = session.overview
        key = (count, index, len(overview.divergent), overview.lane.revision, id(overview))
        if key != self._timeline_key:
            self._timeline_key = key
            self.query_one(Timeline).show(session, index)
        self._show_numbers(session, answer, shown_in_answer)

    def zoom(self) -> None:
        """All, only the tree, only the text."""
        current = next((zoom for zoom in ZOOMS[1:] if self.has_class(zoom)), "")
        following = ZOOMS[(ZOOMS.index(current) + 1) % len(ZOOMS)]
        self.remove_class(*ZOOMS[1:])
        if following:
            self.add_class(following)

    def _show_token(self, session: Session, answer: Answer | None, shown_in_answer: int) -> None:
        """The token under the cursor of the text: what it is, and its node if its round is the shown one."""
        transcript, tree = self.query_one(Transcript), self.query_one(DraftTreeView)
        token, its_answer = transcript.token(), transcript.answer()
        if token is None or its_answer is None or transcript.cursor is None:
            tints = transcript.tint != "none"
            writing = transcript.writing
            self.query_one(TokenLine).show(legend(writing.view, tints=tints, signs=writing.signs))
            tree.point(None)
            return
        number = transcript.cursor.token
        wrote = session.rounds.round_name(its_answer, token.round)
        self.query_one(TokenLine).show(about(token, number, wrote, its_answer.vocabulary))
        shown = its_answer is answer and max(0, token.round) == shown_in_answer
        tree.point(place_of(token, tree.shape.round) if shown and tree.shape is not None else None)

    def _show_detail(self, answer: Answer | None, shown_in_answer: int, detail: bool | None) -> None:
        """What the cursor in the tree is at, while there is one."""
        tree = self.query_one(DraftTreeView)
        shape, cursor = tree.shape, tree.look.cursor
        self.set_class(cursor is not None, "-inspecting")
        facts = None
        if shape is not None and cursor is not None and answer is not None:
            last = shown_in_answer == len(answer.rounds) - 1
            stop_ids = answer.prefilled.stop_ids if answer.prefilled else ()
            facts = facts_of(
                shape,
                cursor,
                answer.vocabulary,
                answer.labels,
                finished=answer.finished if last else None,
                stop_ids=stop_ids,
            )
        self.query_one(NodeDetail).show(facts, detail)

    def _show_numbers(self, session: Session, answer: Answer | None, shown_in_answer: int) -> None:
        block = session.loaded.block_size if session.loaded else None
        numbers = Numbers(answer, shown_in_answer, block or DEFAULT_BLOCK) if answer is not None else None
        self.query_one(Stats).show(numbers)


def newest_without_rounds(session: Session) -> Answer | None:
    """The newest answer, if it is under way and waits for its first round, or is of another program and no
    round of it is known, only what all came to, or how its text comes."""
    answer = session.answer
    if answer is None or answer.rounds:
        return None
    return answer if answer.without_rounds or (answer.finished and answer.finished.rounds) else None


def place_of(token: Written, round_: Round) -> int | None:
    """Where a token is in the tree of the round that wrote it; the prefill's is the first round's root. None
    in a tree that is unknown."""
    if token.round == PREFILL:
        return ROOT
    if token.origin == UNTOLD or not round_.tree_known:
        return None
    return round_.accepted[token.place] if token.place < len(round_.accepted) else BONUS

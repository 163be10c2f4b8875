"""One line over the draft tree: which round it is, and what became of it."""

from __future__ import annotations

from ddtree_tui.answer import Answer
from ddtree_tui.mode_name import mode_name
from ddtree_tui.plural import counted
from ddtree_tui.round_player import RoundPlayer, speed_text
from ddtree_tui.totals import totals_text
from ddtree_tui.unknown import position_text, time_text
from ddtree_tui.viewpoint import Viewpoint
from ddtree_tui.widgets.painted import Lines, Span, spread
from engine.events import Round


class RoundHeading(Lines):
    """Left the round and its outcome, right whether the newest round is followed."""

    ROLES = ("title", "text", "quiet", "accepted", "bonus", "near-miss", "shown", "wrong")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    RoundHeading {
        height: 1;
        background: $surface;
        padding: 0 1;
        .title { text-style: bold; }
        .text { color: $foreground; }
        .quiet { color: $quiet; }
        .accepted { color: $accepted; text-style: bold; }
        .bonus { color: $bonus; text-style: bold; }
        .near-miss { color: $near-miss; text-style: bold; }
        .shown { color: $shown; }
        .wrong { color: $on-wrong; background: $wrong; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._state: tuple[Answer, Round, int, int, list[Span]] | None = None
        self._totals = ""

    def show(
        self, answer: Answer | None, round_: Round | None, index: int, count: int, right: list[Span]
    ) -> None:
        """Describe a round, the ``index``-th of ``count``; on the right, why it is shown."""
        self._state = None if answer is None or round_ is None else (answer, round_, index, count, right)
        self._totals = totals_text(answer) if answer is not None and round_ is None else ""
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._totals:
            return [[("draft tree", "title"), (f"   {self._totals}", "quiet")]]
        if self._state is None:
            return [[("draft tree", "title")]]
        answer, round_, index, count, right = self._state
        left: list[Span] = [(f"round {index + 1}", "title"), (f" of {count}", "quiet")]
        if answer.wrong:
            left += [("  ", ""), (f" {answer.alarm} ", "wrong")]
        used = sum(len(text) for text, _ in [*left, *right]) + 4
        left += [("   ", ""), *outcome(round_, room=width - used)]
        if sum(len(text) for text, _ in [*left, *right]) >= width:
            right = right[:1]
        return [spread(left, right, width)]


def looking(viewpoint: Viewpoint, player: RoundPlayer) -> list[Span]:
    """Why this round is shown: it is the newest, it is played, or the user chose it."""
    if player.playing:
        return [(f"▶ playing {speed_text(player.speed)}", "shown")]
    if viewpoint.following:
        return [("following", "quiet")]
    return [(viewpoint.why or "looking back", "shown"), (" · F5 newest", "quiet")]


def outcome(round_: Round, room: int) -> list[Span]:
    """What the round did, as much of it as fits ``room`` cells."""
    drafted, accepted = len(round_.nodes.ids), len(round_.accepted)
    parts: list[list[Span]] = []
    if round_.mode == "ar":
        parts.append([("ar", "text"), (": one token, nothing drafted", "quiet")])
    elif not round_.tree_known:
        parts.append([("tree unknown", "quiet"), (f", {counted(round_.acceptance_length, 'token')}", "text")])
    else:
        parts.append(
            [
                (f"✓ {accepted}", "accepted"),
                (f" of {drafted} accepted", "quiet"),
                (" + ★", "bonus") if round_.bonus_id is not None else ("", ""),
                (f" = {counted(round_.acceptance_length, 'token')}", "text"),
            ]
        )
        if round_.miss is not None:
            parts.append(
                [("target's token not on the drafter's list", "quiet")]
                if round_.miss.beyond
                else [(f"✗→ #{round_.miss.rank}", "near-miss"), (" near miss", "quiet")]
            )
    parts.append([(mode_name(round_.mode, round_.budget), "quiet")])
    parts.append([(time_text(round_.ms), "quiet")])
    parts.append([(position_text(round_), "quiet")])
    spans: list[Span] = []
    used = 0
    for part in parts:
        cells = sum(len(text) for text, _ in part) + 3
        if spans and used + cells > room:
            break
        spans += ([(" · ", "quiet")] if spans else []) + part
        used += cells
    return spans

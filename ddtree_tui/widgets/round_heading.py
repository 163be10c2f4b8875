"""One line over the draft tree: which round it is, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ddtree_tui.answer import Answer
from ddtree_tui.mode_name import mode_name
from ddtree_tui.plural import counted
from ddtree_tui.round_player import RoundPlayer, speed_text
from ddtree_tui.totals import totals_text
from ddtree_tui.unknown import position_text, time_text
from ddtree_tui.viewpoint import Viewpoint
from ddtree_tui.widgets.painted import Lines, Span, spread
from engine.events import Round

DOT: Span = (" · ", "quiet")
CUT: Span = (" …", "quiet")


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
        self._state: tuple[Answer, Round, str, list[Span]] | None = None
        self._totals = ""

    def show(self, answer: Answer | None, round_: Round | None, name: str, right: list[Span]) -> None:
        """Describe a round of that name in its answer; on the right, why it is shown."""
        self._state = None if answer is None or round_ is None else (answer, round_, name, right)
        self._totals = totals_text(answer) if answer is not None and round_ is None else ""
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._totals:
            return [[("draft tree", "title"), (f"   {self._totals}", "quiet")]]
        if self._state is None:
            return [[("draft tree", "title")]]
        answer, round_, name, right = self._state
        left: list[Span] = [(name, "title"), (f" of {len(answer.rounds)}", "quiet")]
        if answer.wrong:
            left += [("  ", ""), (f" {answer.alarm} ", "wrong")]
        left.append(("   ", ""))
        came, right = told(round_, right, width - _cells(left))
        return [spread([*left, *came], right, width)]


def looking(viewpoint: Viewpoint, player: RoundPlayer) -> list[Span]:
    """Why this round is shown: it is the newest, it is played, or the user chose it."""
    if player.playing:
        return [(f"▶ playing {speed_text(player.speed)}", "shown")]
    if viewpoint.following:
        return [("following", "quiet")]
    return [(viewpoint.why or "looking back", "shown"), (" · F5 newest", "quiet")]


def told(round_: Round, right: list[Span], width: int) -> tuple[list[Span], list[Span]]:
    """What is told on the left and on the right of so many cells: all of it in fewer words rather than less
    of it; what is left out is an ellipsis. The position comes on top where there is room."""
    full, short = outcome(round_), outcome(round_, short=True)
    choices = ((full, right), (full, right[:1]), (short, right[:1]))
    fitting = [choice for choice in choices if _cells(_joined(choice[0])) + _cells(choice[1]) < width]
    parts, right = fitting[0] if fitting else choices[-1]
    room = width - _cells(right) - 1
    whole = [*parts, [(position_text(round_), "quiet")]]
    if fitting:
        return _joined(whole if _cells(_joined(whole)) <= room else parts), right
    while len(parts) > 1 and _cells(_joined(parts)) + len(CUT[0]) > room:
        parts = parts[:-1]
    return [*_joined(parts), CUT], right


def outcome(round_: Round, *, short: bool = False) -> list[list[Span]]:
    """What the round did, part by part: how it went first. ``short``: in as few words as say it."""
    drafted, accepted = len(round_.nodes.ids), len(round_.accepted)
    parts: list[list[Span]] = []
    if round_.mode == "ar":
        parts.append([("ar", "text"), (": one token" if short else ": one token, nothing drafted", "quiet")])
    elif not round_.tree_known:
        parts.append([("tree unknown", "quiet"), (f", {counted(round_.acceptance_length, 'token')}", "text")])
    else:
        came = round_.acceptance_length
        parts.append(
            [
                (f"✓ {accepted}", "accepted"),
                (f" of {drafted}" if short else f" of {drafted} accepted", "quiet"),
                (" + ★", "bonus") if round_.bonus_id is not None else ("", ""),
                (f" = {came}" if short else f" = {counted(came, 'token')}", "text"),
            ]
        )
        if round_.bonus_id is None:
            parts.append([("the end, no ★" if short else "the answer ends, so no ★", "quiet")])
        if round_.miss is not None:
            listed = [(f"✗→ #{round_.miss.rank}", "near-miss"), ("" if short else " near miss", "quiet")]
            beyond = "★ not listed" if short else "★ not on the drafter's list"
            parts.append([(beyond, "quiet")] if round_.miss.beyond else listed)
    parts.append([(time_text(round_.ms), "quiet")])
    parts.append([(mode_name(round_.mode, round_.budget), "quiet")])
    return parts


def _joined(parts: Sequence[Sequence[Span]]) -> list[Span]:
    """Parts one behind the other, with a dot between any two."""
    return [span for number, part in enumerate(parts) for span in [*([DOT] if number else []), *part]]


def _cells(spans: Sequence[Span]) -> int:
    return sum(cell_len(text) for text, _ in spans)

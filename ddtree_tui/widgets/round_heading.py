"""One line over the draft tree: which round it is, and what became of it."""

from __future__ import annotations

from ddtree_tui.run import Answer
from ddtree_tui.widgets.painted import Lines, Span, spread
from engine.events import Round

WRONG = "WRONG ON HYBRIDS: verify=naive"


class RoundHeading(Lines):
    """Left the round and its outcome, right whether the newest round is followed."""

    ROLES = ("title", "text", "quiet", "accepted", "bonus", "near-miss", "shown", "wrong")
    COMPONENT_CLASSES = set(ROLES)
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
        self._state: tuple[Answer, Round, int, int, bool] | None = None

    def show(
        self, answer: Answer | None, round_: Round | None, index: int, count: int, following: bool
    ) -> None:
        """Describe a round, the ``index``-th of ``count``."""
        self._state = None if answer is None or round_ is None else (answer, round_, index, count, following)
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._state is None:
            return [[("draft tree", "title")]]
        answer, round_, index, count, following = self._state
        left: list[Span] = [(f"round {index + 1}", "title"), (f" of {count}", "quiet")]
        if answer.wrong:
            left += [("  ", ""), (f" {WRONG} ", "wrong")]
        used = sum(len(text) for text, _ in left) + len("   looking back · F5 newest ")
        left += [("   ", ""), *outcome(round_, room=width - used)]
        right: list[Span] = (
            [("following", "quiet")] if following else [("looking back", "shown"), (" · F5 newest", "quiet")]
        )
        return [spread(left, right, width)]


def outcome(round_: Round, room: int) -> list[Span]:
    """What the round did, as much of it as fits ``room`` cells."""
    drafted, accepted = len(round_.nodes.ids), len(round_.accepted)
    parts: list[list[Span]] = []
    if round_.mode == "ar":
        parts.append([("ar", "text"), (": one token, nothing drafted", "quiet")])
    else:
        parts.append(
            [
                (f"✓ {accepted}", "accepted"),
                (f" of {drafted} accepted", "quiet"),
                (" + ★", "bonus") if round_.bonus_id is not None else ("", ""),
                (f" = {round_.acceptance_length} token{'s' * (round_.acceptance_length != 1)}", "text"),
            ]
        )
        if round_.miss is not None:
            parts.append(
                [("target's token not on the drafter's list", "quiet")]
                if round_.miss.beyond
                else [(f"✗→ #{round_.miss.rank}", "near-miss"), (" near miss", "quiet")]
            )
    parts.append([(f"{round_.mode} {round_.budget}" if round_.mode == "tree" else round_.mode, "quiet")])
    parts.append([(f"{round_.ms.total:.1f} ms", "quiet")])
    parts.append([(f"position {round_.position}", "quiet")])
    spans: list[Span] = []
    used = 0
    for part in parts:
        cells = sum(len(text) for text, _ in part) + 3
        if spans and used + cells > room:
            break
        spans += ([(" · ", "quiet")] if spans else []) + part
        used += cells
    return spans

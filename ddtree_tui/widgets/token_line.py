"""One line under the text: the token under the cursor; else the meaning of tints, signs and view."""

from __future__ import annotations

from ddtree_tui.answer_text import AR, BONUS, FIRST, PREFILL, UNTOLD, Written
from ddtree_tui.escape import hex_bytes
from ddtree_tui.labels import label_of
from ddtree_tui.unknown import UNKNOWN
from ddtree_tui.vocabulary import SeenVocabulary
from ddtree_tui.widgets.painted import Lines, Span
from ddtree_tui.written_text import VIEW_MEANINGS, View, origin_text, sign
from engine.events import UNKNOWN_ID


class TokenLine(Lines):
    """Empty content hides it."""

    ROLES = ("text", "quiet", "near", "middle", "deep", "bonus", "ar", "first")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TokenLine {
        height: 1;
        padding: 0 1;
        display: none;
        &.-used { display: block; }
        .text { color: $foreground; text-style: bold; }
        .quiet { color: $quiet; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._spans: list[Span] = []

    def show(self, spans: list[Span]) -> None:
        """Take what there is to tell."""
        if spans != self._spans:
            self._spans = spans
            self.set_class(bool(spans), "-used")
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        return [self._spans]


def about(token: Written, number: int, round_name: str, vocabulary: SeenVocabulary) -> list[Span]:
    """A token, the ``number``-th of its answer: what it is, and whether a round or the prefill wrote it."""
    raw = vocabulary.token_bytes(token.id)
    if token.origin == UNTOLD and token.id == UNKNOWN_ID:
        return [("text", "text"), (f"  which tokens it is is {UNKNOWN}", "quiet")]
    wrote = "the prefill" if token.round == PREFILL else round_name
    wrote = f"round {UNKNOWN}" if token.origin == UNTOLD else wrote
    identity = UNKNOWN if token.id == UNKNOWN_ID else str(token.id)
    return [
        (label_of(vocabulary, token.id), "text"),
        (f"  {sign(token.origin)} {origin_text(token.origin)}, ", "quiet"),
        (wrote, "text"),
        (f" · token {number + 1} · id {identity} · bytes {hex_bytes(raw)}", "quiet"),
    ]


def legend(view: View, *, tints: bool, signs: bool) -> list[Span]:
    """What is special about how the text is written; nothing if it is as it reads."""
    spans: list[Span] = []
    if view != "text":
        spans += [(view, "text"), (f": {VIEW_MEANINGS[view]}   ", "quiet")]
    if tints:
        depths = (("near", "¹⁻³ 1-3", "1-3"), ("middle", "⁴⁻⁷ 4-7", "4-7"), ("deep", "⁸⁺ 8 on", "8 on"))
        spans.append(("drafted at depth ", "quiet"))
        spans += [(f"{signed if signs else plain}  ", role) for role, signed, plain in depths]
        for role, origin, name in (("bonus", BONUS, "bonus"), ("ar", AR, "ar"), ("first", FIRST, "prefill")):
            spans.append((f"{sign(origin) + ' ' if signs else ''}{name}  ", role))
    return spans

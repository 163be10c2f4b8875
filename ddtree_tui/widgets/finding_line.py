"""What detectors noticed in the shown answer: one line, which takes room only while there is something."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from ddtree_tui.escape import escape
from ddtree_tui.noticed import SIGN, sentence
from ddtree_tui.widgets.painted import Lines, Span
from engine.events import Finding

_WORTH_A_LINE = ("warning", "defect")


class FindingLine(Lines):
    """The gravest finding that came first, how many others there are, and the key that tells more."""

    ROLES = ("defect", "warning", "text", "quiet")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    FindingLine {
        height: 1; padding: 0 1; display: none;
        &.-found { display: block; }
        .defect { color: $wrong; text-style: bold; }
        .warning { color: $bonus; text-style: bold; }
        .text { color: $foreground; }
        .quiet { color: $quiet; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._findings: list[Finding] = []
        self._key = ""

    def show(self, findings: Sequence[Finding], key: str) -> None:
        """Take those of the shown answer; ``key``: as it is printed, opens the diagnosis."""
        worthy = [finding for finding in findings if finding.severity in _WORTH_A_LINE]
        if worthy != self._findings or key != self._key:
            self._findings, self._key = worthy, key
            self.set_class(bool(worthy), "-found")
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if not self._findings:
            return [[]]
        first = next((one for one in self._findings if one.severity == "defect"), self._findings[0])
        more = len(self._findings) - 1
        tail = f"  and {more} more" if more else ""
        tail += f"  {self._key} tells more" if self._key else ""
        head = f"{SIGN} {escape(first.cause)}"
        room = width - cell_len(head) - cell_len(tail)
        text = escape(sentence(first))
        if cell_len(text) > room:
            text = f"{set_cell_size(text, max(0, room - 1)).rstrip()}…"
        return [[(head, first.severity), (text, "text"), (tail, "quiet")]]

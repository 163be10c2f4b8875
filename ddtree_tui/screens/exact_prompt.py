"""What the model was given for an answer: the template applied, every control token visible."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.strip import Strip

from ddtree_tui.keys import in_words
from ddtree_tui.plural import counted
from ddtree_tui.prompt_lines import PROMPT_VIEWS, Piece, PromptView, prompt_lines
from ddtree_tui.screens.dialog import Overlay
from ddtree_tui.vocabulary import SeenVocabulary
from ddtree_tui.widgets.painted import Lines, ScrolledLines, Span
from engine.events import Prefilled


class PromptText(ScrolledLines, can_focus=True):
    """The lines of the prompt."""

    ROLES = ("text", "special")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PromptText {
        height: 1fr; margin: 1 0; scrollbar-size: 1 1; background: $surface;
        .text { color: $foreground; }
        .special { color: $bonus; text-style: bold; }
    }
    """

    def __init__(self, prefilled: Prefilled, vocabulary: SeenVocabulary) -> None:
        super().__init__()
        self._prefilled, self._vocabulary = prefilled, vocabulary
        self._lines: list[list[Piece]] = []
        self.view: PromptView = "text"

    def on_resize(self) -> None:
        self._write()

    def next_view(self) -> None:
        """Text, tokens, ids."""
        self.view = PROMPT_VIEWS[(PROMPT_VIEWS.index(self.view) + 1) % len(PROMPT_VIEWS)]
        self._write()

    def _write(self) -> None:
        width = max(2, self.scrollable_content_region.width)
        self._lines = prompt_lines(self._prefilled, self._vocabulary, width, self.view)
        self.forget_strips()
        self.set_extent(0, len(self._lines))
        self.refresh()

    def draw_line(self, line: int) -> Strip:
        return self.strip(self._lines[line]) if line < len(self._lines) else Strip([])


class PromptFacts(Lines):
    """How long the prompt is, and the keys."""

    ROLES = ("title", "quiet", "key")
    DEFAULT_CSS = """
    PromptFacts {
        .title { text-style: bold; }
        .quiet { color: $quiet; }
        .key { color: $shown; text-style: bold; }
    }
    """

    def __init__(self, spans: list[Span]) -> None:
        super().__init__()
        self.spans = spans

    def draw(self, width: int, height: int) -> list[list[Span]]:
        return [self.spans]


class ExactPromptScreen(Overlay[None]):
    """Scrolls with the arrow keys; V shows tokens and ids."""

    BINDINGS = [
        Binding("escape,q,enter,P", "dismiss", "Close"),
        Binding("v", "next_view", "Text, tokens, ids"),
    ]
    DEFAULT_CSS = """
    ExactPromptScreen {
        #exact-prompt {
            width: 92%; height: 88%; padding: 1 2; background: $surface; border-left: thick $shown;
        }
    }
    """

    def __init__(self, prefilled: Prefilled, vocabulary: SeenVocabulary) -> None:
        super().__init__()
        self._prefilled, self._vocabulary = prefilled, vocabulary

    def compose(self) -> ComposeResult:
        """Facts, the prompt, keys."""
        prefilled = self._prefilled
        facts = f"  {counted(len(prefilled.prompt_ids), 'token')}"
        if prefilled.cached:
            facts += f", {prefilled.cached} of them in the caches already"
        facts += ", thinking " + ("on" if prefilled.thinking else "off")
        with Vertical(id="exact-prompt"):
            yield PromptFacts([("What the model was given", "title"), (facts, "quiet")])
            yield PromptText(prefilled, self._vocabulary)
            keys = [("v", "text, tokens, ids"), ("↑ ↓", "scroll"), ("Esc", "close")]
            plain = self.app.has_class("-ascii")
            yield PromptFacts(
                [
                    span
                    for key, what in keys
                    for span in ((in_words(key, plain=plain), "key"), (f" {what}   ", "quiet"))
                ]
            )

    def action_next_view(self) -> None:
        """Text, tokens, ids."""
        self.query_one(PromptText).next_view()

"""A prompt that was sent before the models were there."""

from __future__ import annotations

from ddtree_tui.escape import escape, fit
from ddtree_tui.widgets.painted import Lines, Span

MODELS, SERVER = "waits for the models: ", "waits for the server: "
KEYS = "  Esc takes it back"


class Waiting(Lines):
    """One line above the prompt box, while something waits."""

    ROLES = ("label", "prompt", "keys")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Waiting {
        display: none;
        padding: 0 1;
        background: $panel;
        &.-waiting { display: block; }
        .label { color: $bonus; text-style: bold; }
        .prompt { color: $foreground; }
        .keys { color: $quiet; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._prompt: str | None = None
        self._label = MODELS

    def show(self, prompt: str | None, label: str = MODELS) -> None:
        """Take the prompt that waits, and for what; None while none does."""
        if (prompt, label) != (self._prompt, self._label):
            self._label = label
            self._prompt = prompt
            self.set_class(prompt is not None, "-waiting")
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._prompt is None:
            return []
        prompt = fit(escape(" ".join(self._prompt.split())), max(1, width - len(self._label) - len(KEYS)))
        return [[(self._label, "label"), (prompt, "prompt"), (KEYS, "keys")]]

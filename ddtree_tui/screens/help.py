"""All keys, and the legend of the draft tree."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from ddtree_tui.widgets.painted import Lines, Span
from ddtree_tui.widgets.welcome import Legend

KEYS: tuple[tuple[str, str, str], ...] = (
    ("everywhere", "outside the prompt", "what it does"),
    ("Enter", "", "run the prompt (Shift+Enter or Ctrl+J: line break)"),
    ("Esc", "", "stop the run; when nothing runs, leave the prompt"),
    ("F2", "Space", "pause and go on; in a recording: play and pause"),
    ("F3  F4", "← →  [ ]", "show the round before, the round after; the run goes on"),
    ("", "Home", "show the first round"),
    ("F5", "End  f", "follow the newest round again"),
    ("F6", "n", "decode one round, then pause"),
    ("F7", "m", "mode: ar, chain, tree (from the next round)"),
    ("F8", "- +", "budget: type it, or halve and double it (from the next round)"),
    ("F9", "t", "thinking on or off (from the next run)"),
    ("", "T", "temperature: type it (from the next run)"),
    ("", "e", "unfold all branches, or fold them to the height again"),
    ("Ctrl+O", "z", "show all, only the tree, only the text"),
    ("Tab", "Tab", "go to the knobs, the tree, the text"),
    ("", "i  /  Enter", "go to the prompt"),
    ("Ctrl+N", "", "new conversation"),
    ("Ctrl+T", "", "light or dark"),
    ("Ctrl+P", "", "all commands"),
    ("Ctrl+Q", "", "quit"),
)


class KeyTable(Lines):
    """The keys, one row each."""

    ROLES = ("title", "key", "text")
    COMPONENT_CLASSES = set(ROLES)
    DEFAULT_CSS = """
    KeyTable {
        height: auto;
        padding: 0 2;
        .title { color: $quiet; text-style: bold; }
        .key { color: $shown; text-style: bold; }
        .text { color: $foreground; }
    }
    """

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(KEYS) + 1

    def draw(self, width: int, height: int) -> list[list[Span]]:
        lines: list[list[Span]] = []
        for number, (everywhere, outside, what) in enumerate(KEYS):
            key, text = ("title", "title") if number == 0 else ("key", "text")
            lines.append([(_pad(everywhere, 12), key), (_pad(outside, 20), key), (what, text)])
        return [*lines, []]


class HelpScreen(ModalScreen[None]):
    """Any of its keys closes it."""

    BINDINGS = [Binding("escape,f1,q,question_mark,enter", "dismiss", "Close")]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        background: $background 60%;
        #help {
            width: 104; max-width: 96%; height: auto; max-height: 96%;
            padding: 1 1; background: $surface;
        }
    }
    """

    def compose(self) -> ComposeResult:
        """Keys first: they are what one comes back for."""
        with VerticalScroll(id="help"):
            yield KeyTable()
            yield Legend()


def _pad(text: str, cells: int) -> str:
    return text + " " * max(1, cells - cell_len(text))

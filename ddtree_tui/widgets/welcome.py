"""The first screen: what this is, what to type, and how to read a draft tree, shown on one."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.glyphs import GLYPHS, LEGEND, State
from ddtree_tui.tree_layout import Arrangement, arrangement_for, lay_out
from ddtree_tui.tree_parts import TreeLayout
from ddtree_tui.widgets.painted import Lines, Span
from engine.events import Miss, Nodes, Round, StageTimes, TargetRows

SAMPLE_WORDS = (
    "The",
    " cat",
    " dog",
    " sat",
    " was",
    " on",
    " by",
    " the",
    " a",
    " mat",
    " old",
    " rug",
    " chair",
)

SAMPLE_ROWS = 6
ROOMY = 28
"""Rows of a terminal from which on the sample tree is shown whole."""


class Examples(OptionList):
    """Prompts to pick with the arrow keys and Enter, or with the mouse."""

    DEFAULT_CSS = """
    Examples {
        height: 1fr;
        min-height: 3;
        border: none;
        padding: 0;
        margin: 0 0 0 2;
        background: $background;
        scrollbar-size: 1 1;
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted {
            background: $background; color: $foreground; text-style: none;
        }
        &:focus { border: none; }
        &:focus > .option-list--option-highlighted { background: $panel; color: $shown; text-style: bold; }
    }
    """


class Sample(Lines):
    """A small tree that has one of each."""

    ROLES = (*(state.value for state in State), "line", "probability", "depth", "note")
    ALLOW_SELECT = False
    DEFAULT_CSS = "Sample { height: auto; padding: 0 2; margin-bottom: 1; }"

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        rows = SAMPLE_ROWS if self.app.size.height >= ROOMY else SAMPLE_ROWS - 1
        return len(sample_layout(width, rows, arrangement_for(self.app.size.width)).lines)

    def draw(self, width: int, height: int) -> list[list[Span]]:
        layout = sample_layout(width, height, arrangement_for(self.app.size.width))
        return [
            [(part.text, part.role.value if isinstance(part.role, State) else part.role) for part in parts]
            for parts in layout.lines
        ]


class Legend(Lines):
    """Glyphs and their meaning."""

    ROLES = (*(state.value for state in State), "text")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Legend {
        height: auto;
        padding: 0 2;
        .text { color: $quiet; }
    }
    """

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(LEGEND)

    def draw(self, width: int, height: int) -> list[list[Span]]:
        names = max(len(name) for _, name, _ in LEGEND)
        lines: list[list[Span]] = []
        for state, name, meaning in LEGEND:
            glyph = GLYPHS[state] + " " * (3 - cell_len(GLYPHS[state]))
            lines.append([(f"{glyph}{name.ljust(names)}  ", state.value), (meaning, "text")])
        return lines


class Title(Lines):
    """A heading and a sentence."""

    ROLES = ("title", "text")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Title {
        height: auto;
        padding: 0 2;
        margin-top: 1;
        .title { color: $foreground; text-style: bold; }
        .text { color: $quiet; }
    }
    """

    def __init__(self, title: str, text: str, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._title, self._text = title, text

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._wrapped(width))

    def draw(self, width: int, height: int) -> list[list[Span]]:
        lines = self._wrapped(width)
        first = lines[0]
        return [[(first[: len(self._title)], "title"), (first[len(self._title) :], "text")]] + [
            [(line, "text")] for line in lines[1:]
        ]

    def _wrapped(self, width: int) -> list[str]:
        text = f"{self._title}  {self._text}" if self._text else self._title
        return [line.plain for line in Content(text).wrap(max(width, 10))]


class Welcome(VerticalScroll, can_focus=False):
    """Shown until the first prompt is sent."""

    DEFAULT_CSS = "Welcome { height: 1fr; scrollbar-size: 1 1; }"

    class Picked(Message):
        """The user chose an example."""

        def __init__(self, prompt: str) -> None:
            super().__init__()
            self.prompt = prompt

    def __init__(self, prompts: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._prompts = prompts

    def compose(self) -> ComposeResult:
        """From what to do to how to read what happens then."""
        yield Title(
            "Watch a language model decode with draft trees.",
            "A small drafter guesses a tree of next tokens, the target model checks all of them at once, and"
            " keeps the longest path it agrees with. The text is exactly the target's own.",
        )
        plain = self.app.has_class("-ascii")
        pick = "Tab, Up or Down, Enter." if plain else "Tab, then ↑ ↓ and Enter."
        yield Title("Type a prompt below and press Enter", f"or pick one: {pick}")
        examples = Examples(*(Option(Content(prompt)) for prompt in self._prompts), markup=False)
        examples.styles.max_height = len(self._prompts)
        yield examples
        one = "One round is one tree."
        yield Title(one, "This is how to read it:", classes="long-label")
        yield Title(one, "How to read it; ├─4─ branches off at depth 4:", classes="short-label")
        yield Sample()
        yield Legend()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Picked(self._prompts[event.option_index]))


def sample_layout(width: int, rows: int, arrangement: Arrangement) -> TreeLayout:
    """A hand-made round that has one of each: accepted, bonus, near miss, rejected, not reached, folded."""
    return lay_out(DraftShape.of(sample_round()), _sample_label, width, rows, arrangement=arrangement)


def sample_round() -> Round:
    """Drafted below "The": cat sat on the ..., and what lost against it."""
    word = SAMPLE_WORDS.index
    rows = (  # word, parent, depth, drafter probability
        (" cat", -1, 1, 0.71), (" sat", 0, 2, 0.64), (" on", 1, 3, 0.90), (" dog", -1, 1, 0.20),
        (" was", 0, 2, 0.22), (" sat", 3, 2, 0.52), (" rug", 2, 4, 0.47), (" chair", 2, 4, 0.31),
        (" by", 4, 3, 0.2), (" old", 8, 4, 0.3),
    )  # fmt: skip
    count = len(rows) + 1
    return Round(
        index=0,
        mode="tree",
        position=0,
        root_id=word("The"),
        nodes=Nodes(
            ids=[word(text) for text, *_ in rows],
            parents=[parent for _, parent, _, _ in rows],
            depths=[depth for *_, depth, _ in rows],
            logprobs=[log(p) for *_, p in rows],
            ranks=[0] * len(rows),
        ),
        target=TargetRows(ids=[0] * count, logprobs=[0.0] * count, gaps=[0.0] * count),
        accepted=[0, 1, 2],
        bonus_id=word(" the"),
        miss=Miss(depth=4, id=word(" the"), rank=3, logprob=log(0.08), beyond=False),
        committed_ids=[word(" cat"), word(" sat"), word(" on"), word(" the")],
        acceptance_length=4,
        ms=StageTimes(),
        budget=8,
    )


def _sample_label(token_id: int) -> tuple[str, int]:
    text = SAMPLE_WORDS[token_id].replace(" ", "␣")
    return text, len(text)

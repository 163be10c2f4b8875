"""Settings one can turn while looking: what they are, and from when on a change holds."""

from __future__ import annotations

from collections.abc import Collection

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Static

from ddtree_tui.budget import budget_text
from ddtree_tui.setting_list import Setting, Since, setting, shown
from ddtree_tui.unknown import UNKNOWN
from ddtree_tui.widgets.painted import Lines, Span
from engine.settings import DecodeSettings

NAMES = ("mode", "budget", "thinking", "temperature")
"""The bottom line has room for these; the settings screen has all."""


class Knob(Lines, can_focus=True):
    """One setting. Left and right turn it, Enter types a value."""

    ROLES = ("label", "value", "dim", "arrow")
    ALLOW_SELECT = False
    BINDINGS = [
        Binding("left,minus", "turn(-1)", "Less", show=False),
        Binding("right,plus,equals_sign", "turn(1)", "More", show=False),
        Binding("enter", "edit", "Type a value", show=False),
    ]
    DEFAULT_CSS = """
    Knob {
        height: 1;
        margin-right: 1;
        .label { color: $quiet; }
        .value { color: $foreground; text-style: bold; }
        .dim { color: $faint; }
        .arrow { color: $shown; }
        &:focus { background: $panel; .value { color: $shown; text-style: bold reverse; } }
        &:hover { background: $panel; }
    }
    """

    class Turned(Message):
        """The user turned a knob ``by`` steps."""

        def __init__(self, name: str, by: int) -> None:
            super().__init__()
            self.name = name
            self.by = by

    class Edit(Message):
        """The user wants to type a value."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, setting: Setting) -> None:
        super().__init__(id=f"knob-{setting.name}")
        self.setting = setting
        self._idle = False
        self._take("")

    def show(self, settings: DecodeSettings, *, known: bool = True) -> None:
        """Take the newest value; the budget is idle outside mode tree. Imports may not say it (``known``)."""
        value = shown(self.setting, getattr(settings, self.setting.name))
        if self.setting.name == "budget":
            value = budget_text(settings.budget, settings.auto_budget)
        value = value if known else UNKNOWN
        idle = self.setting.name == "budget" and settings.mode != "tree"
        if (value, idle) != (self._value, self._idle):
            self._idle = idle
            self._take(value)

    def _take(self, value: str) -> None:
        """A value, and the width that it needs. An automatic width would not do: Textual keeps the one it
        measured if the value changes again before the layout that is due has been made."""
        self._value = value
        self.styles.width = len(self.setting.name) + len(value) + 3
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        value = "dim" if self._idle else "value"
        return [[(f"{self.setting.name} ", "label"), (f" {self._value} ", value)]]

    def action_turn(self, by: int) -> None:
        self.post_message(self.Turned(self.setting.name, by))

    def action_edit(self) -> None:
        if self.setting.is_switch:
            self.action_turn(1)
        else:
            self.post_message(self.Edit(self.setting.name))

    def on_click(self) -> None:
        self.action_edit()


class Knobs(HorizontalGroup):
    """All knobs, grouped by when a change holds; of a recording, what it was made with; of a server, what the
    next prompt is sent with."""

    DEFAULT_CSS = """
    Knobs {
        height: 1;
        padding: 0 1;
        background: $surface;
        .group { color: $faint; width: auto; margin-right: 1; }
    }
    """

    def __init__(self, *, recorded: bool = False, sent: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._recorded, self._sent = recorded, sent

    def compose(self) -> ComposeResult:
        """The knobs, live ones first."""
        if self._recorded or self._sent:
            label = "recorded with:" if self._recorded else "next prompt:"
            yield from _group(label, label)
            yield from (Knob(setting(name)) for name in NAMES)
            return
        yield from _group("next round:", "from the next round:")
        yield from (Knob(setting(name)) for name in NAMES if setting(name).since is Since.ROUND)
        yield from _group(" next run:", "  from the next run:")
        yield from (Knob(setting(name)) for name in NAMES if setting(name).since is Since.RUN)

    def say_recorded(self, recorded: bool) -> None:
        """Whether the knobs are those of a recording."""
        if recorded != self._recorded:
            self._recorded = recorded
            self.refresh(recompose=True)

    def show(self, settings: DecodeSettings, known: Collection[str], *, disabled: bool) -> None:
        """Take the newest settings, and the names of those known; a recorded run cannot be changed."""
        self.disabled = disabled
        for knob in self.query(Knob):
            knob.show(settings, known=knob.setting.name in known)


def _group(short: str, long: str) -> ComposeResult:
    """A label in two lengths; the style sheet shows the one that fits."""
    yield Static(short, classes="group short-label", markup=False)
    yield Static(long, classes="group long-label", markup=False)

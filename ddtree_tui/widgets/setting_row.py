"""One line of the settings screen: a name, its value, and while it is typed, the place to type in."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Input, Static

from ddtree_tui.escape import escape
from ddtree_tui.setting_list import Limits, Setting, position, shown, typed
from ddtree_tui.widgets.painted import Lines, Span

NAME_CELLS = 20
SLIDER_CELLS = 31
"""Three cells from one power of two to the next."""


class SettingValue(Lines, can_focus=True):
    """Name and value. Left and right turn it, with Shift by one; Enter types a value."""

    ROLES = ("label", "value", "changed", "slider", "knob")
    ALLOW_SELECT = False
    BINDINGS = [
        Binding("left,minus", "turn(-1)", "Less", show=False),
        Binding("right,plus,equals_sign", "turn(1)", "More", show=False),
        Binding("shift+left", "nudge(-1)", "One less", show=False),
        Binding("shift+right", "nudge(1)", "One more", show=False),
        Binding("enter,space", "edit", "Type a value", show=False),
    ]
    DEFAULT_CSS = """
    SettingValue {
        height: 1;
        width: 1fr;
        padding: 0 1;
        .label { color: $quiet; }
        .value { color: $foreground; text-style: bold; }
        .changed { color: $bonus; text-style: bold; }
        .slider { color: $line; }
        .knob { color: $shown; text-style: bold; }
        &:focus { background: $panel; .value { color: $shown; text-style: bold reverse; } }
        &:focus { .changed { color: $bonus; text-style: bold reverse; } }
    }
    """

    class Turned(Message):
        """The user turned a setting ``by`` steps, or with ``fine`` by one."""

        def __init__(self, setting: Setting, by: int, fine: bool) -> None:
            super().__init__()
            self.setting, self.by, self.fine = setting, by, fine

    class Edit(Message):
        """The user wants to give a value."""

        def __init__(self, setting: Setting) -> None:
            super().__init__()
            self.setting = setting

    def __init__(self, setting: Setting) -> None:
        super().__init__(id=f"value-{setting.name}")
        self.setting = setting
        self._shown: tuple[Any, Limits, bool] = (setting.field.default, Limits(), False)

    def show(self, value: Any, limits: Limits, *, pending: bool) -> None:
        """Take the newest value. ``pending``: it does not hold before the models are loaded anew."""
        if (value, limits, pending) != self._shown:
            self._shown = value, limits, pending
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        value, limits, pending = self._shown
        text = escape(shown(self.setting, value, limits))
        line: list[Span] = [
            (f"{self.setting.title:<{NAME_CELLS}}", "label"),
            (f" {text} ", "changed" if pending else "value"),
        ]
        at = position(self.setting, value)
        if at is not None:
            cell = round(at * (SLIDER_CELLS - 1))
            line += [(" " * max(1, 6 - cell_len(text)), ""), ("─" * cell, "slider"), ("●", "knob")]
            line.append(("─" * (SLIDER_CELLS - 1 - cell), "slider"))
        return [line]

    def action_turn(self, by: int) -> None:
        self.post_message(self.Turned(self.setting, by, False))

    def action_nudge(self, by: int) -> None:
        self.post_message(self.Turned(self.setting, by, True))

    def action_edit(self) -> None:
        self.post_message(self.Edit(self.setting))

    def on_click(self) -> None:
        self.focus()
        self.action_edit()


class SettingRow(HorizontalGroup):
    """A ``SettingValue``, or in its place a line to type in."""

    DEFAULT_CSS = """
    SettingRow {
        height: 1;
        .typing { color: $quiet; padding: 0 0 0 1; }
        Input, Input:focus { border: none; height: 1; padding: 0 1; width: 1fr; background: $panel; }
    }
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting

    def compose(self) -> ComposeResult:
        """The value; what one types in comes when it is needed."""
        yield SettingValue(self.setting)

    @property
    def value(self) -> SettingValue:
        return self.query_one(SettingValue)

    @property
    def typing(self) -> bool:
        return bool(self.query(Input))

    async def start_typing(self, value: Any) -> None:
        """Put a line to type in where the value is."""
        self.value.display = False
        name = Static(f"{self.setting.title:<{NAME_CELLS}}", classes="typing", markup=False)
        name.styles.width = NAME_CELLS + 1
        line = Input(typed(self.setting, value), select_on_focus=True)
        await self.mount(name, line)
        line.focus()

    async def stop_typing(self) -> None:
        """Show the value again."""
        await self.query("Static, Input").remove()
        self.value.display = True
        self.value.focus()

"""All settings, by when a change holds; each turned or typed in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from ddtree_tui.config_file import parsed
from ddtree_tui.escape import escape
from ddtree_tui.keys import in_words
from ddtree_tui.screens.explanation import ExplanationScreen
from ddtree_tui.screens.sized import Sized
from ddtree_tui.setting_list import SETTINGS, Limits, Setting, about, nudged, setting, turned
from ddtree_tui.widgets.setting_row import SettingRow, SettingValue
from engine.errors import EngineError

KEYS_HELP = "↑ ↓ choose  ← → turn  Shift+← → by one  Enter {}  {}F1 all  Esc back"
RELOAD = "r reload  "
PICKED = ("model", "drafter")


class SettingStore(Protocol):
    """Where the settings are, and what can be done to them."""

    @property
    def limits(self) -> Limits: ...
    @property
    def pending(self) -> frozenset[str]:
        """Settings that hold only after the models are loaded anew."""
        ...

    def offers(self, setting: Setting) -> bool:
        """Whether it can be changed."""
        ...

    def since(self, setting: Setting) -> str:
        """From when on a change of it holds."""
        ...

    def value(self, setting: Setting) -> Any: ...
    def change(self, setting: Setting, value: Any) -> None:
        """Raises ``EngineError`` if the value will not do; nothing has changed then."""
        ...

    def pick(self, setting: Setting, done: Callable[[], None]) -> None:
        """Let the user pick a model; ``done`` is called when a value has been taken."""
        ...

    def reload(self) -> None: ...


class SettingsScreen(Sized, Screen[None]):
    """Changes hold at once in the store; the app says from when on they matter."""

    BINDINGS = [
        Binding("escape,q,ctrl+g", "leave", "Back"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
        Binding("home", "to(0)", show=False),
        Binding("end", "to(-1)", show=False),
        Binding("r", "reload", "Reload the models"),
        Binding("f1", "explain", "What all settings mean"),
    ]
    AUTO_FOCUS = "SettingValue"
    DEFAULT_CSS = """
    SettingsScreen {
        #settings-title { height: 1; padding: 0 1; background: $panel; color: $shown; text-style: bold; }
        #settings-list { height: 1fr; overflow-y: auto; scrollbar-size: 1 1; }
        .group { height: 1; color: $quiet; text-style: bold; padding: 0 1; margin-top: 1; }
        #settings-help {
            height: 3; padding: 0 1; background: $surface; color: $foreground;
            &.-wrong { color: $wrong; text-style: bold; }
        }
        #settings-keys { height: 1; padding: 0 1; background: $panel; color: $quiet; }
    }
    """

    def __init__(self, store: SettingStore) -> None:
        super().__init__()
        self._store = store
        self._loads = store.offers(setting("model"))

    def compose(self) -> ComposeResult:
        """Groups of settings, the help of the one in focus, the keys."""
        title = "Settings" if self._loads else "Settings of prompts; models and verification are the server's"
        yield Static(title, id="settings-title", markup=False)
        with Vertical(id="settings-list"):
            for since, group in groupby(filter(self._store.offers, SETTINGS), self._store.since):
                yield Static(since, classes="group", markup=False)
                yield from map(SettingRow, group)
        yield Static("", id="settings-help", markup=False)
        yield Static("", id="settings-keys", markup=False)

    def on_mount(self) -> None:
        self.show_values()
        self.watch(self.app, "theme", self.show_values, init=False)  # it has a key of its own

    def show_values(self) -> None:
        """Take the newest values from the store."""
        for row in self.query(SettingRow):
            name = row.setting.name
            row.value.show(
                self._store.value(row.setting), self._store.limits, pending=name in self._store.pending
            )

    def on_descendant_focus(self) -> None:
        focused = self.focused
        if isinstance(focused, SettingValue):
            self._say(focused.setting)
            chosen = focused.setting
            enter = "pick" if chosen.name in PICKED else "turn" if chosen.is_switch else "type"
            keys = KEYS_HELP.format(enter, RELOAD if self._loads else "")
            plain = self.app.has_class("-ascii")
            self.query_one("#settings-keys", Static).update(in_words(keys, plain=plain))
            self.call_after_refresh(self._bring_into_view, focused)

    def _bring_into_view(self, value: SettingValue) -> None:
        """With the name of its group, where it is the first."""
        scroll = self.query_one("#settings-list", Vertical)
        scroll.scroll_to_widget(value, animate=False)
        if value is self.query(SettingValue).first():
            scroll.scroll_home(animate=False)

    def _say(self, setting: Setting, wrong: EngineError | None = None) -> None:
        """The help of a setting, or what is wrong with what was typed."""
        box = self.query_one("#settings-help", Static)
        box.set_class(wrong is not None, "-wrong")
        if wrong is not None:
            box.update(escape(f"{wrong.message} {wrong.hint}"))
            return
        pending = "Changed: r loads the models anew. " if setting.name in self._store.pending else ""
        told = about(setting, self._store.limits)
        box.update(escape(f"{setting.title}, {self._store.since(setting)}: {told}. {pending}"))

    # What the user does

    def on_setting_value_turned(self, message: SettingValue.Turned) -> None:
        step = nudged if message.fine else turned
        old = self._store.value(message.setting)
        self._change(message.setting, lambda: step(message.setting, old, message.by, self._store.limits))

    async def on_setting_value_edit(self, message: SettingValue.Edit) -> None:
        chosen = message.setting
        if chosen.name in PICKED:
            self._store.pick(chosen, partial(self._picked, chosen))
        elif chosen.is_switch:
            self.on_setting_value_turned(SettingValue.Turned(chosen, 1, False))
        else:
            await self._row(chosen).start_typing(self._store.value(chosen))

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        row = next(row for row in self.query(SettingRow) if row.typing)
        if self._change(row.setting, lambda: parsed(row.setting.field, event.value.strip(" "))):
            await row.stop_typing()

    def _change(self, chosen: Setting, value: Callable[[], Any]) -> bool:
        try:
            self._store.change(chosen, value())
        except EngineError as error:
            self._say(chosen, error)
            return False
        self.show_values()
        self._say(chosen)
        return True

    def _picked(self, chosen: Setting) -> None:
        self.show_values()
        self._say(chosen)

    def _row(self, chosen: Setting) -> SettingRow:
        return next(row for row in self.query(SettingRow) if row.setting.name == chosen.name)

    async def action_leave(self) -> None:
        """Out of what is typed, or out of the screen."""
        typing = [row for row in self.query(SettingRow) if row.typing]
        if typing:
            await typing[0].stop_typing()
        else:
            self.dismiss()

    def action_to(self, index: int) -> None:
        """Go to the first or last setting."""
        [*self.query(SettingValue)][index].focus()

    def action_reload(self) -> None:
        """Load the models anew, after a question."""
        self._store.reload()

    def action_explain(self) -> None:
        """What all settings mean."""
        shown = [value.setting for value in self.query(SettingValue)]
        parts = [
            (f"{one.title}, {self._store.since(one)}", f"{about(one, self._store.limits)}.") for one in shown
        ]
        self.app.push_screen(ExplanationScreen(parts, plain=self.app.has_class("-ascii")))

    def focus_on(self, name: str) -> None:
        """Go to a setting."""
        self._row(setting(name)).value.focus()

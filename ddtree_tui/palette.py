"""What the command palette offers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from ddtree_tui.keys import spelled
from ddtree_tui.setting_list import SETTINGS

if TYPE_CHECKING:
    from ddtree_tui.playground import PlaygroundApp


def commands(app: PlaygroundApp) -> Iterable[SystemCommand]:
    """Everything the keys do, and what has no key."""
    for key in app.all_keys():
        if key.title:
            keys = spelled(",".join(key.all_keys()))
            help_ = _sentence(_beyond(key.title, key.help)) + (f"  ({keys})" if keys else "")
            yield SystemCommand(key.title, help_, partial(app.run_action, key.action))
    yield SystemCommand("Copy the answer", "To the clipboard", app.action_copy_answer)
    if app.controller.playback is None:
        yield from _run_commands(app)
    yield SystemCommand("Themes", "Choose one of all themes", app.action_change_theme)


def _run_commands(app: PlaygroundApp) -> Iterable[SystemCommand]:
    for setting in filter(app.offers, SETTINGS):
        act = partial(app.action_turn if setting.is_switch else app.action_edit, setting.name)
        yield SystemCommand(f"Set {setting.title}", f"{setting.field.help}; {app.since(setting)}", act)
    if app.controller.place:
        yield SystemCommand("Connect anew", "Reach for the server at once", app.action_restart_engine)
        return
    if app.controller.settings.verify == "naive":
        yield SystemCommand(
            "Verify correctly again", "From the next run on", partial(app.action_verify, "solve")
        )
    else:
        yield SystemCommand(
            "Verify naively (wrong on hybrids)",
            "See what happens when the recurrence runs through siblings; from the next run on",
            partial(app.action_verify, "naive"),
        )
    yield SystemCommand("Plant a fault…", "Watch the text rot; from the next run on", app.action_plant)
    if planted := app.controller.settings.inject:
        help_ = f"{', '.join(planted)}; from the next run on"
        yield SystemCommand("Remove the planted faults", help_, app.action_remove_faults)
    yield SystemCommand("Restart the engine", "End it and load the models anew", app.action_restart_engine)


def _beyond(title: str, help_: str) -> str:
    """What a key's help says that its title has not said."""
    rest = help_[len(title) :] if help_.lower().startswith(title.lower()) else help_
    return rest.lstrip(":;, ")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

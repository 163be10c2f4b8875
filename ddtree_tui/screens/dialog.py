"""Dialogs: a box over the screen below."""

from __future__ import annotations

from textual.binding import Binding
from textual.screen import ModalScreen, ScreenResultType

from ddtree_tui.screens.sized import Sized


class Overlay(Sized, ModalScreen[ScreenResultType]):
    """In the middle of the screen below, which stays visible."""

    DEFAULT_CSS = "Overlay { align: center middle; background: $background 60%; }"


class Dialog(Overlay[ScreenResultType]):
    """What it asks or tells stands in one container of the class ``box``."""

    DEFAULT_CSS = """
    Dialog {
        .box { max-width: 92%; height: auto; padding: 1 3; background: $surface; border-left: thick $shown; }
        Static { width: 1fr; height: auto; }
    }
    """


class ButtonDialog(Dialog[ScreenResultType]):
    """Sentences, and a row of buttons between which the arrow keys move."""

    BINDINGS = [
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    ButtonDialog {
        .box { border-left: thick $wrong; }
        Static { margin-bottom: 1; }
        HorizontalGroup { height: auto; }
        Button {
            margin-right: 2; height: 1; min-width: 0; padding: 0 2; border: none;
            background: $panel; color: $foreground; text-style: none;
        }
        Button:focus { background: $shown; color: $background; text-style: bold; }
    }
    """

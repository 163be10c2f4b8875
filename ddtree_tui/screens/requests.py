"""The requests of the server that is watched: pick one, or whatever runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from ddtree_tui.attach.request_list import EVERYTHING, heading, in_order, row
from ddtree_tui.attach.wire import Watched
from ddtree_tui.escape import escape
from ddtree_tui.later import later
from ddtree_tui.plural import counted
from ddtree_tui.screens.sized import Sized
from engine.errors import EngineError

REFRESH_SECONDS = 1.0


@dataclass(frozen=True)
class Picked:
    """``request``: None is whatever runs."""

    request: Watched | None


class RequestsScreen(Sized, ModalScreen[Picked]):
    """Follows the server while it is open. Dismissed with what was picked, or nothing.

    Args:
        place: which model, and where.
        read: asks the server, in a thread.
        own: the names of the requests sent from here.
        current: the one that is watched, None where that is whatever runs.
    """

    BINDINGS = [
        Binding("escape,q,f11", "dismiss", "Close"),
        Binding("j", "list('cursor_down')", show=False),
        Binding("k", "list('cursor_up')", show=False),
    ]
    DEFAULT_CSS = """
    RequestsScreen {
        align: center middle;
        background: $background 60%;
        #requests {
            width: 120; max-width: 98%; height: 90%;
            padding: 1 2; background: $surface; border-left: thick $shown;
        }
        Static { width: 1fr; height: auto; }
        #requests-title { text-style: bold; margin-bottom: 1; }
        #requests-heading { color: $quiet; height: 1; }
        OptionList {
            height: 1fr; border: none; background: $surface; padding: 0; scrollbar-size: 1 1;
            &:focus { border: none; }
        }
        #requests-about { color: $quiet; margin-top: 1; height: 2; }
        #requests-keys { color: $faint; height: 1; }
    }
    """

    def __init__(
        self,
        place: str,
        read: Callable[[], list[Watched]],
        own: Collection[str] = (),
        current: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._place, self._read, self._own, self._clock = place, read, own, clock
        self._current = current
        self._listed: list[Watched | None] = [None]
        self._asked = False

    def compose(self) -> ComposeResult:
        """Title, list, what Enter does, keys."""
        with Vertical(id="requests"):
            yield Static(f"Requests of {escape(self._place)}: asking ...", id="requests-title", markup=False)
            yield Static("", id="requests-heading", markup=False)
            yield OptionList(markup=False, id="requests-list")
            yield Static("", id="requests-about", markup=False)
            yield Static("Enter watch, open   Esc close", id="requests-keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._ask()

    @work(thread=True)
    def _ask(self) -> None:
        try:
            found, problem = self._read(), ""
        except EngineError as error:
            found, problem = None, f"{error.message} {error.hint}".rstrip()
        if self.is_attached:
            self.app.call_from_thread(self._take, found, problem)

    def _take(self, found: list[Watched] | None, problem: str) -> None:
        if not self.is_attached:  # closed meanwhile
            return
        title = f"Requests of {escape(self._place)}"
        if found is None:
            title += f": {escape(problem)}"
        else:
            running = sum(each.running for each in found)
            title += f": {len(found)}, {running} running" if found else ": none yet"
            self._list(in_order(found))
        for static in self.query("#requests-title").results(Static):
            static.update(title)
        later(self, REFRESH_SECONDS, self._ask)

    def on_resize(self) -> None:
        self._list([each for each in self._listed if each is not None])

    def _list(self, requests: list[Watched]) -> None:
        """Show them; the cursor stays where it is, at first on what is watched."""
        table = self.query_one(OptionList)
        width = table.scrollable_content_region.width - 2
        if width <= 0:
            return
        kept = self.request
        name = kept.id if kept is not None else None if self._asked else self._current
        self._asked = self._asked or bool(requests)
        self._listed = [None, *requests]
        now = self._clock()
        self.query_one("#requests-heading", Static).update(f"{heading(width)}")
        lines = [Text(EVERYTHING, no_wrap=True), *(row(each, width, now, self._own) for each in requests)]
        table.clear_options()
        table.add_options(lines)
        names = [each.id if each is not None else None for each in self._listed]
        table.highlighted = names.index(name) if name in names else 0
        self._describe()

    @property
    def request(self) -> Watched | None:
        """The one under the cursor; None is whatever runs."""
        index = self.query_one(OptionList).highlighted
        return self._listed[index] if index is not None and index < len(self._listed) else None

    def on_option_list_option_highlighted(self) -> None:
        self._describe()

    def on_option_list_option_selected(self) -> None:
        self.dismiss(Picked(self.request))

    def action_list(self, name: str) -> None:
        """Move in the list."""
        with contextlib.suppress(KeyError):
            getattr(self.query_one(OptionList), f"action_{name}")()

    def _describe(self) -> None:
        """What Enter does with the one under the cursor."""
        request = self.request
        if request is None:
            text = "Shows every request from its beginning, as the server comes to it."
        elif request.running:
            text = "Shows this one from its beginning, and no other."
        else:
            text = "Opens it like a recorded run; Esc leads back."
            if request.events_kept < request.events:
                lost = counted(request.events - request.events_kept, "event")
                text += f" The server kept only its beginning and its end: {lost} are missing between."
        self.query_one("#requests-about", Static).update(text)

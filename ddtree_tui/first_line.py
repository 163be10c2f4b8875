"""What the first line says of a controller: which model, where, in which mode, and what is going on."""

from __future__ import annotations

from ddtree_tui.controller import Controller
from ddtree_tui.served import known_of
from ddtree_tui.unknown import UNKNOWN_MODEL, known_settings, recorded_mode
from ddtree_tui.widgets.top_line import Status


def first_line(controller: Controller) -> Status:
    """The newest state. The mode is that of what is shown where it was not chosen here: of a recording, or of
    somebody else's run."""
    session, answer = controller.session, controller.session.answer
    recorded = controller.playback is not None
    settings, known = controller.settings, known_of(session.loaded)
    if answer is not None and (recorded or controller.watching):
        settings, known = answer.settings, known_settings(answer.prefilled)
    model = session.loaded.target.name if session.loaded else controller.load.model
    if recorded and not (session.loaded and model):
        model = "recorded run" if session.loaded is None else UNKNOWN_MODEL
    if controller.place:
        model += f" at {controller.place}"
    state, kind = controller.state
    return Status(model, session.loaded, session.loading, recorded_mode(settings, known), state, kind)

"""Starting the terminal app. The engine's process comes first: models load while the screen is made."""

from __future__ import annotations

import contextlib
import sys

from ddtree_tui.controller import Controller
from ddtree_tui.engine_link import EngineLink
from ddtree_tui.options import AppOptions
from ddtree_tui.playback import Playback
from ddtree_tui.recent import recent_file
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import runs_folder

LONG_BYTES = 4 * 2**20
"""Recordings beyond this take a second or more to read, which is said."""


def run_app(options: AppOptions) -> int:
    """Run the app until the user ends it; returns the exit code.

    Raises:
        EngineError: before the screen is taken: ``trace_read``, ``bad_trace``, ``trace_version`` for a
            recording, ``trace_write`` for a trace that cannot be made, ``engine_start``, ``remote_...`` for a
            server that cannot be used.
    """
    controller = make_controller(options)
    try:
        if options.config.looks.plain_log:
            from ddtree_tui.plain_log import run_plain_log

            return run_plain_log(controller, options.prompt, options.problems)
        from ddtree_tui.playground import PlaygroundApp

        app = PlaygroundApp(controller, options)
        app.run()
        return app.return_code or 0
    finally:
        controller.shut_down()


def make_controller(options: AppOptions) -> Controller:
    """What runs behind the screen: a recording, or a server, or the engine's process, which is started.

    Raises:
        EngineError: as ``run_app``.
    """
    if options.replay is not None:
        from engine.trace import read_trace

        if options.replay.is_file() and options.replay.stat().st_size > LONG_BYTES:
            print(f"Reading {options.replay} ...", file=sys.stderr)
        trace = read_trace(options.replay)
        controller = Controller(options.decode, playback=Playback(trace.events), log_path=options.log_path)
        if trace.notice:
            controller.tell("The recording is not complete", trace.notice)
        return controller
    limit = options.config.recordings.limit_mb * 2**20
    recorder = Recorder(runs_folder(), limit_bytes=limit) if options.record else None
    if options.attach is not None:
        from ddtree_tui.attach.command import attached

        return attached(options, options.attach, recorder)
    link = EngineLink(
        options.load, options.log_path, trace=options.trace, recorder=recorder, debug=options.debug
    )
    with contextlib.ExitStack() as stack:
        stack.callback(link.stop)  # what does not come about leaves no process and no empty trace
        link.start()
        controller = Controller(
            options.decode, engine=link, log_path=options.log_path, load=options.load, recent=recent_file()
        )
        stack.pop_all()
    controller.system = options.system
    return controller

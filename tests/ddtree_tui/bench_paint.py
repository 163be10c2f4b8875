"""What a round costs to show: python tests/ddtree_tui/bench_paint.py (with the repository on PYTHONPATH)."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from make_recording import Recording

from ddtree_tui.controller import Controller
from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.options import AppOptions
from ddtree_tui.playback import Playback
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.widgets.draft_tree import DraftTreeView
from engine.settings import DecodeSettings, LoadSettings


@dataclass(frozen=True)
class Cost:
    """Milliseconds, medians. ``tree``: layout and every line of the widget; ``screen``: everything
    that happens between a new round and the bytes for the terminal."""

    layout: float
    tree: float
    screen: float


async def measure(nodes: int, *, columns: int, rows: int, rounds: int, unfolded: bool) -> Cost:
    """Show ``rounds`` rounds of ``nodes`` nodes one after the other."""
    recording = Recording(seed=nodes)
    settings = DecodeSettings(budget=nodes, thinking=True)
    events = [*recording.start(), *recording.answer("How long?", settings=settings, rounds=rounds)]
    controller = Controller(settings, playback=Playback(events))
    options = AppOptions(
        load=LoadSettings(),
        decode=settings,
        replay=Path("bench.jsonl"),
        trace=None,
        prompt=None,
        debug=True,
        log_path=Path("bench.log"),
    )
    app = PlaygroundApp(controller, options)
    layouts, trees, screens = [], [], []
    async with app.run_test(size=(columns, rows)) as pilot:
        await pilot.press("a")
        await pilot.pause()
        view = app.query_one(DraftTreeView)
        if unfolded:
            view.toggle_unfolded()
        room = view.scrollable_content_region.size
        session = controller.session
        for index, (_, round_) in enumerate(session.rounds):
            start = time.perf_counter()
            shape = DraftShape.of(round_)
            lay_out(shape, session.labels, room.width, None if unfolded else room.height)
            layouts.append(1000 * (time.perf_counter() - start))
            await pilot.pause(0.07)
            start = time.perf_counter()
            view.show(DraftShape.of(round_), session.labels)
            view.render_lines(view.size.region)
            trees.append(1000 * (time.perf_counter() - start))
            await pilot.pause(0.07)
            controller.viewpoint.choose(index, len(session.rounds))
            start = time.perf_counter()
            app._paint(time.monotonic())
            app.console.print(app.screen._compositor.render_update(full=True), end="")
            screens.append(1000 * (time.perf_counter() - start))
    return Cost(statistics.median(layouts), statistics.median(trees), statistics.median(screens))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    rounds = parser.parse_args().rounds
    print("nodes  size     unfolded   layout ms   tree ms   screen ms")
    for columns, rows in ((120, 40), (80, 24)):
        for nodes in (16, 64, 256, 1024):
            for unfolded in (False, True):
                cost = asyncio.run(
                    measure(nodes, columns=columns, rows=rows, rounds=rounds, unfolded=unfolded)
                )
                print(
                    f"{nodes:5d}  {columns}x{rows}   {'yes' if unfolded else 'no ':8s}"
                    f" {cost.layout:9.2f} {cost.tree:9.2f} {cost.screen:11.2f}"
                )


if __name__ == "__main__":
    main()

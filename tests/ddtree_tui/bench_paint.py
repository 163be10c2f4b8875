"""What a round costs to show: python tests/ddtree_tui/bench_paint.py (with the repository on PYTHONPATH).

Times are those of the processor, so that other work on the machine does not count.
"""

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

LIMITS = {64: 8.0, 1024: 25.0}
"""Milliseconds that a new tree of so many nodes may take on a screen of 120 x 40."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds, medians. ``tree``: layout and every line of the widget; ``screen``: everything
    that happens between a new round and the bytes for the terminal."""

    layout: float
    tree: float
    screen: float


@dataclass(frozen=True)
class Case:
    """How a tree is looked at: ``keys`` are pressed before the first round."""

    name: str
    keys: tuple[str, ...] = ()


CASES = (
    Case("folded"),
    Case("unfolded", ("e",)),
    Case("overview", ("v", "v")),
    Case("cursor", ("c",)),
)


async def measure(nodes: int, case: Case, *, columns: int, rows: int, rounds: int) -> Cost:
    """Show ``rounds`` rounds of ``nodes`` nodes one after the other."""
    recording = Recording(seed=nodes)
    settings = DecodeSettings(budget=nodes, thinking=True, detail=case.name == "cursor")
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
        view.focus()
        await pilot.press(*case.keys)
        await pilot.pause(0.2)
        room = view.scrollable_content_region.size
        session = controller.session
        for index, (_, round_) in enumerate(session.rounds):
            start = time.process_time()
            shape = DraftShape.of(round_)
            lay_out(
                shape,
                session.labels,
                room.width,
                None if view.look.unfolded else room.height,
                arrangement=view.look.arranged(columns),
            )
            layouts.append(1000 * (time.process_time() - start))
            await pilot.pause(0.07)
            start = time.process_time()
            view.show(DraftShape.of(round_), session.labels)
            view.render_lines(view.size.region)
            trees.append(1000 * (time.process_time() - start))
            await pilot.pause(0.07)
            controller.viewpoint.choose(index, len(session.rounds))
            start = time.process_time()
            app._paint(time.monotonic())
            app.console.print(app.screen._compositor.render_update(full=True), end="")
            screens.append(1000 * (time.process_time() - start))
    return Cost(statistics.median(layouts), statistics.median(trees), statistics.median(screens))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    rounds = parser.parse_args().rounds
    print("nodes  size    looked at   layout ms   tree ms   screen ms   at most")
    for columns, rows in ((120, 40), (80, 24)):
        for nodes in (16, 64, 256, 1024):
            for case in CASES:
                cost = asyncio.run(measure(nodes, case, columns=columns, rows=rows, rounds=rounds))
                limit = f"{LIMITS[nodes]:9.0f}" if columns == 120 and nodes in LIMITS else ""
                print(
                    f"{nodes:5d}  {columns}x{rows:<4d} {case.name:10s}"
                    f" {cost.layout:9.2f} {cost.tree:9.2f} {cost.screen:11.2f} {limit}"
                )


if __name__ == "__main__":
    main()

"""A sample of ``bench_recording``, whose whole run of 10,000 rounds is measured by hand."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from bench_recording import MB, measure

from ddtree_tui.runs_folder import paths_of

ROUNDS = 300


async def test_a_long_run_is_small_and_any_round_of_it_soon_there(tmp_path: Path) -> None:
    script = Path(__file__).parent / "bench_recording.py"
    subprocess.run([sys.executable, script, f"--record-into={tmp_path}", f"--rounds={ROUNDS}"], check=True)
    (path,) = paths_of(tmp_path)
    measured = await measure(path, looks=15)
    print(measured.table())
    assert measured.rounds == ROUNDS
    assert measured.file_bytes / ROUNDS * 10_000 < 60 * MB
    assert statistics.median(measured.scrub_ms) < 50
    assert statistics.median(measured.read_ms) < 50

"""What the server computes for a round; ``overhead.py`` compares the times, on a machine that is quiet."""

from __future__ import annotations

import overhead

CPU_MS = 3.0
"""A few times what it takes on a machine with nothing else to do."""


def test_a_round_costs_the_servers_process_little(server):
    overhead.ask_server(server, 30, "ar")
    before = overhead.cpu_seconds(server.pid)
    rounds = overhead.ask_server(server, 90, "ar").rounds
    assert rounds == 89
    assert 1000 * (overhead.cpu_seconds(server.pid) - before) / rounds < CPU_MS

"""A sample of ``load.py``; the whole of it takes minutes and is run by hand."""

from __future__ import annotations

import asyncio

import load


def test_many_clients_at_once(server):
    report = asyncio.run(load.run(server, seconds=1.5, clients=12, prompts=load.PROMPTS[:2]))
    report["memory_growth"] = {"server": 0.0}  # of so short a time it says nothing
    assert load.failures(report) == []
    assert report["counts"]["hung up"] > 0
    assert report["counts"]["rubbish 400"] > 0

"""Detectors: each names causes of ``engine.causes`` from what a run shows.

They never know whether a fault is planted. ``engine.observers`` has them look at every run;
``engine.detectors.from_events`` has those that need nothing but events look at a recorded one.
"""

"""Silence of the engine."""

from __future__ import annotations

from ddtree_tui.watchdog import Watchdog


def test_silence_is_told_once_and_again_after_waiting() -> None:
    dog = Watchdog(30.0)
    assert not dog.look(100.0, waiting=True, heard=False)
    assert not dog.look(129.9, waiting=True, heard=False)
    assert dog.look(130.1, waiting=True, heard=False)
    assert dog.barked
    assert not dog.look(200.0, waiting=True, heard=False)
    dog.wait_longer(200.0)
    assert not dog.look(229.0, waiting=True, heard=False)
    assert dog.look(231.0, waiting=True, heard=False)


def test_an_event_ends_the_silence() -> None:
    dog = Watchdog(30.0)
    dog.look(100.0, waiting=True, heard=False)
    assert not dog.look(129.0, waiting=True, heard=True)
    assert not dog.look(158.0, waiting=True, heard=False)
    assert dog.look(160.0, waiting=True, heard=False)
    assert not dog.look(161.0, waiting=True, heard=True)
    assert not dog.barked


def test_nobody_who_rests_is_silent() -> None:
    dog = Watchdog(30.0)
    dog.look(100.0, waiting=True, heard=False)
    assert not dog.look(200.0, waiting=False, heard=False)
    assert not dog.look(300.0, waiting=True, heard=False)
    assert not dog.look(329.0, waiting=True, heard=False)
    assert dog.look(331.0, waiting=True, heard=False)

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.server.fair_queue import FairQueue, QueueFullError

CLIENTS = st.lists(st.sampled_from("abc"), max_size=30)


@given(CLIENTS)
def test_each_clients_order_is_kept_and_lines_take_turns(clients):
    queue: FairQueue[tuple[str, int]] = FairQueue(100)
    for number, client in enumerate(clients):
        queue.put(client, (client, number))
    taken = [queue.take() for _ in range(len(queue))]
    for client in "abc":
        of_client = [number for name, number in taken if name == client]
        assert of_client == [number for number, name in enumerate(clients) if name == client]
        # Before a client's k-th item no other has had more than k + 1 of its own.
        for place, (name, _) in enumerate(taken):
            if name == client:
                before = [each for each, _ in taken[:place]]
                had = before.count(client)
                assert all(before.count(other) <= had + 1 for other in "abc")
    assert len(queue) == 0


@given(CLIENTS, st.data())
def test_items_can_leave_the_line(clients, data):
    queue: FairQueue[int] = FairQueue(100)
    for number, client in enumerate(clients):
        queue.put(client, number)
    gone = data.draw(st.sets(st.sampled_from(range(len(clients))))) if clients else set()
    for number in gone:
        assert queue.remove(clients[number], number)
        assert not queue.remove(clients[number], number)
    assert len(queue) == len(clients) - len(gone)
    assert sorted(queue.take() for _ in range(len(queue))) == sorted(set(range(len(clients))) - gone)


def test_it_is_bounded():
    queue: FairQueue[int] = FairQueue(2)
    queue.put("a", 1)
    queue.put("b", 2)
    with pytest.raises(QueueFullError):
        queue.put("c", 3)
    queue.put("c", 3, spare=1)
    with pytest.raises(QueueFullError):
        queue.put("d", 4, spare=1)
    assert queue.empty() == [1, 2, 3]
    assert len(queue) == 0


@given(st.integers(1, 60), st.lists(st.sampled_from("ab"), max_size=120))
def test_nobody_is_kept_out_by_the_others(limit, clients):
    """While there is a place, whoever has nothing waiting gets it; two that ask without end leave one."""
    queue: FairQueue[int] = FairQueue(limit)
    waiting: Counter[str] = Counter()
    for number, client in enumerate(clients):
        free = limit - len(queue)
        if waiting[client] < 3 * free:
            queue.put(client, number)
            waiting[client] += 1
        else:
            with pytest.raises(QueueFullError) as full:
                queue.put(client, number)
            assert (full.value.own, full.value.of_client) == (waiting[client], free > 0)
    if limit >= 16:
        assert len(queue) < limit
    if len(queue) < limit:
        queue.put("newcomer", 0)


def test_shares_of_those_that_ask_without_end():
    def waiting(limit: int, clients: str) -> dict[str, int]:
        queue: FairQueue[str] = FairQueue(limit)
        for client in clients * limit:
            with suppress(QueueFullError):
                queue.put(client, client)
        return Counter(queue.empty())

    assert waiting(64, "a") == {"a": 48}
    assert waiting(70, "ab") == {"a": 30, "b": 30}
    assert waiting(2, "a") == {"a": 2}


async def test_whoever_takes_is_woken():
    queue: FairQueue[int] = FairQueue(2)
    waiting = asyncio.ensure_future(queue.filled())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.put("a", 1)
    await asyncio.wait_for(waiting, 1)
    assert queue.take() == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.filled(), 0.01)

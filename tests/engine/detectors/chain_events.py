"""Events of an answer in mode ``chain`` of which every node is accepted."""

from __future__ import annotations

from engine.events import Nodes, Prefilled, Round, StageTimes, TargetRows
from engine.settings import DecodeSettings


def prefilled(prompt: str = "Hello", *, first_id: int = 1, stop_ids: tuple[int, ...] = ()) -> Prefilled:
    return Prefilled(
        prompt_ids=[1],
        prompt_text=prompt,
        messages=[{"role": "user", "content": prompt}],
        thinking=False,
        settings=DecodeSettings(),
        stop_ids=[*stop_ids],
        seconds=0.0,
        first_id=first_id,
        first_logprob=-0.5,
    )


def chain_round(ids: list[int], *, index: int = 0, root: int = 1) -> Round:
    """One that commits ``ids``, the last of them as the bonus."""
    rows = len(ids)
    return Round(
        index=index,
        mode="chain",
        position=index,
        root_id=root,
        nodes=Nodes(ids=ids[:-1], parents=[*range(-1, rows - 2)]),
        target=TargetRows(ids=ids, logprobs=[-0.5] * rows, gaps=[1.0] * rows),
        accepted=[*range(rows - 1)],
        bonus_id=ids[-1],
        miss=None,
        committed_ids=ids,
        acceptance_length=rows,
        ms=StageTimes(),
    )

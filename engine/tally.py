"""What the rounds of a run add up to."""

from __future__ import annotations

from typing import Literal, cast

from engine.events import Finished, StageTimes
from engine.rounds import RoundResult
from engine.static.result import StaticResult


class Tally:
    """Sums over the rounds of one answer."""

    def __init__(self) -> None:
        self.rounds = 0
        self.committed = 0
        self.drafted = 0
        self.accepted = 0
        self.seconds_to_first = 0.0
        self.histogram: list[int] = [0]
        self.ms = dict.fromkeys(StageTimes.__struct_fields__, 0.0)

    def add(self, result: RoundResult | StaticResult) -> None:
        length = len(result.committed)
        self.rounds += 1
        self.committed += length
        self.drafted += result.drafted
        self.accepted += len(result.accepted)
        self.histogram += [0] * (length + 1 - len(self.histogram))
        self.histogram[length] += 1
        for stage in self.ms:
            self.ms[stage] += getattr(result.ms, stage)

    def finished(self, reason: str, output: list[int], text: str, thinking: str, now: float) -> Finished:
        """Speed is of the rounds alone: neither the prefill nor the time between rounds is in it."""
        seconds = self.ms["total"] / 1000
        return Finished(
            t=now,
            reason=cast(Literal["stop", "length", "cancelled"], reason),
            output_ids=list(output),
            text=text,
            thinking_text=thinking,
            rounds=self.rounds,
            tokens=len(output),
            mean_acceptance_length=self.committed / self.rounds if self.rounds else 0.0,
            acceptance_histogram=self.histogram,
            tokens_per_second=self.committed / seconds if seconds else 0.0,
            ttft_s=self.seconds_to_first,
            ms=StageTimes(**self.ms),
            drafted=self.drafted,
            accepted=self.accepted,
        )

"""A round's record as the event everybody reads."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.detail import DIGITS, TopRows, rounded
from engine.events import Miss, Nodes, Round, StageTimes, TargetRows
from engine.kernels.record import NO_MISS
from engine.settings import DecodeSettings, Mode
from engine.static.record import Record


@dataclass(frozen=True)
class StaticResult:
    """What ``engine.rounds.RoundResult`` is for rounds on the device.

    Attributes:
        record: on the host.
        candidates: per depth, the tree was built from; 1 for a chain.
        kept: tokens of the record that are in the text, fewer than its count after a stop string.
        drafter_top, target_top: best candidates of either model's rows, with ``detail`` on; still on the
            device, and behind those of the nodes there are rows that do not count.
        row_ids: int64 (n + 1,), on the host: the tokens that were verified, of the root and of all places; in
            ``ar`` already the next root.
    """

    record: Record
    mode: Mode
    candidates: int
    kept: int
    ms: StageTimes
    drafter_top: TopRows | None = None
    target_top: TopRows | None = None
    row_ids: Tensor | None = None

    @property
    def committed(self) -> list[int]:
        ids: list[int] = self.record.tokens[: self.kept].tolist()
        return ids

    @property
    def accepted(self) -> list[int]:
        """Accepted nodes whose tokens were committed."""
        accepted = min(int(self.record.accepted), self.kept)
        return [row - 1 for row in self.record.path[1 : accepted + 1].tolist()]

    @property
    def drafted(self) -> int:
        return int(self.record.is_node.sum())

    def event(self, index: int, settings: DecodeSettings, now: float) -> Round:
        record, nodes = self.record, self.drafted
        tree, rows = record.tree, slice(0, nodes + 1)
        complete = self.kept > int(record.accepted)
        return Round(
            t=now,
            index=index,
            mode=self.mode,
            budget=record.tree.budget if self.mode == "tree" else nodes,
            position=int(record.position),
            root_id=int(record.root_id),
            nodes=Nodes(
                ids=tree.token_ids[:nodes].tolist(),
                parents=tree.parents[:nodes].tolist(),
                depths=tree.depths[:nodes].tolist(),
                logprobs=rounded(tree.logprobs[:nodes]),
                ranks=tree.ranks[:nodes].tolist(),
            ),
            target=TargetRows(
                ids=record.choices[rows].tolist(),
                logprobs=rounded(record.choice_logprobs[rows]),
                gaps=rounded(record.gaps[rows]),
            ),
            accepted=self.accepted,
            bonus_id=int(record.bonus) if complete else None,
            miss=self._miss() if complete else None,
            committed_ids=self.committed,
            acceptance_length=self.kept,
            ms=self.ms,
            drafter_topk=self.drafter_top.candidates() if self.drafter_top else None,
            target_topk=self.target_top.candidates(nodes + 1) if self.target_top else None,
        )

    def token_ids(self) -> list[int]:
        """All ids the event mentions."""
        record, nodes = self.record, self.drafted
        mentioned = (record.tree.token_ids[:nodes], record.choices[: nodes + 1])
        ids = [token_id for ids in mentioned for token_id in ids.tolist()]
        if self.drafter_top is not None:
            ids += self.drafter_top.ids.flatten().tolist()
        if self.target_top is not None:
            ids += self.target_top.ids[: nodes + 1].flatten().tolist()
        return [int(record.root_id), int(record.bonus), *ids, *self.committed]

    def _miss(self) -> Miss | None:
        rank = int(self.record.miss_rank)
        if rank == NO_MISS:
            return None
        return Miss(
            depth=int(self.record.accepted) + 1,
            id=int(self.record.bonus),
            rank=rank,
            logprob=round(max(float(self.record.miss_logprob), -1e4), DIGITS),
            beyond=rank >= self.candidates,
        )

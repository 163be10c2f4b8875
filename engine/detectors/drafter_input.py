"""Whether the drafter's block is what the checkpoint was trained with, and stands where the text ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from engine.detectors.found import found
from engine.events import Finding, Round
from engine.observer import Observation, Observer, Start
from engine.rounds import RoundResult

if TYPE_CHECKING:
    from engine.drafter_config import DFlashConfig
    from engine.session import Drafted, Session
    from engine.static.result import StaticResult


class DrafterInput(Observer):
    """Compares the block and the positions that the drafter was really given with its checkpoint's config."""

    def started(self, start: Start) -> Iterable[Observation]:
        self._session: Session = start.pair.session
        drafter = start.given.drafter
        self._config: DFlashConfig | None = drafter.config if drafter else None
        self._asked = start.settings.block_size
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterable[Observation]:
        drafted = self._session.drafted
        if not isinstance(result, RoundResult) or result.draft_logits is None or drafted is None:
            return ()
        assert self._config is not None
        block, mask = drafted.block[0].tolist(), self._config.mask_token_id
        positions = [] if drafted.positions is None else drafted.positions.tolist()
        start = event.position
        if (
            block == [event.root_id, *[mask] * (self._config.block_size - 1)]
            and positions == list(range(start, start + len(block)))
            and drafted.context_rows == start
        ):
            return ()
        return self._explain(event, drafted, block, positions)

    def _explain(
        self, event: Round, drafted: Drafted, block: list[int], positions: list[int]
    ) -> Iterator[Finding]:
        assert self._config is not None
        mask, trained, start = self._config.mask_token_id, self._config.block_size, event.position
        if block[0] != event.root_id:
            yield found(
                "drafter-root-masked",
                f"Slot 0 of the drafter's block held {_token(block[0], mask)}; the last committed token is "
                f"{event.root_id}.",
                round=event.index,
                slot_0=block[0],
                root_id=event.root_id,
                mask_id=mask,
            )
        others = [token for token in block[1:] if token != mask]
        if others:
            yield found(
                "mask-id",
                f"{len(others)} of {len(block) - 1} slots of the drafter's block held token {others[0]}, not "
                f"the mask {mask}.",
                round=event.index,
                found=others[0],
                mask_id=mask,
                slots=len(others),
            )
        if len(block) != trained:
            asked = self._asked == len(block)
            yield found(
                "block-size",
                f"The drafter's block had {len(block)} slots; it was trained with {trained}"
                + (", and the shorter one was asked for." if asked else "."),
                severity="note" if asked else "defect",
                round=event.index,
                slots=len(block),
                trained=trained,
            )
        rows = drafted.context_rows
        if positions != list(range(rows, rows + len(block))):
            yield found(
                "drafter-positions",
                f"The drafter's block stood at positions {positions[0]} to {positions[-1]}; the text it "
                f"continues ends at {start}.",
                round=event.index,
                first=positions[0],
                root=start,
            )
        elif rows != start:
            # The block follows its context, which is not the text's.
            yield found(
                "drafter-rejected-rows" if rows > start else "drafter-positions",
                f"The drafter's context held {rows} rows; {start} tokens were committed before the root.",
                round=event.index,
                context_rows=rows,
                committed=start,
            )


def _token(token: int, mask: int) -> str:
    return f"the mask {mask}" if token == mask else f"token {token}"

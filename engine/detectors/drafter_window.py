"""Whether the drafter reads as much of the text as it was trained to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.detectors.found import found
from engine.events import Round
from engine.observer import Observation, Observer, Start
from engine.static.result import StaticResult

if TYPE_CHECKING:
    from engine.rounds import RoundResult


class DrafterWindow(Observer):
    """Compares the rows of the context that each layer read with the windows of the drafter's config, and
    the text with the length it was trained on."""

    def started(self, start: Start) -> Iterator[Observation]:
        self._told = False
        self._session = start.pair.session
        self._config = start.pair.drafter.config if start.pair.drafter else None
        return iter(())

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Observation]:
        config = self._config
        if config is None or self._told or not event.nodes.ids:
            return
        trained = config.max_position_embeddings
        if event.position + config.block_size > trained:
            self._told = True
            yield found(
                "drafter-window",
                f"The drafter was trained on {trained} positions, and its block ends at "
                f"{event.position + config.block_size}.",
                severity="warning",
                round=event.index,
                position=event.position,
                trained=trained,
            )
            return
        context, drafted = self._session.context, self._session.drafted
        if context is None or drafted is None or isinstance(result, StaticResult):
            return
        rows = drafted.context_rows
        for layer, first in enumerate(context.first_keys):
            window = config.window(layer)
            wanted = 0 if window is None else max(0, rows - window + 1)
            if first != wanted:
                self._told = True
                yield found(
                    "drafter-window",
                    f"Layer {layer} of the drafter has read the context from row {first} on; with "
                    f"{rows} rows and {f'a window of {window}' if window else 'no window'} it reads "
                    f"from row {wanted} on.",
                    round=event.index,
                    layer=layer,
                    first=first,
                    wanted=wanted,
                    rows=rows,
                    window=window,
                )
                return

"""What a pair shows before it has decoded anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.detectors.drafter_choice import check_names
from engine.detectors.quantised import check_quantised
from engine.detectors.template import check_template
from engine.detectors.vocabulary import check_vocabulary
from engine.events import Finding
from engine.observer import Observation, Observer, Start

if TYPE_CHECKING:
    from engine.pair import Pair


def check_pair(pair: Pair) -> list[Finding]:
    """Look at vocabularies, template, names and weights; takes one pass of the target over a short text.

    Every rank of a target that several processes hold must call it.
    """
    return [
        *check_vocabulary(pair),
        *check_template(pair.codec),
        *check_names(pair),
        *check_quantised(pair),
    ]


class PairCheck(Observer):
    """Checks a pair that was not checked when it was loaded."""

    def started(self, start: Start) -> list[Observation]:
        return [] if start.pair.findings is not None else [*start.pair.checked()]

"""Decodes an answer once more with the target alone, one token in a pass.

Where the target alone, reading many tokens in a pass, writes another token than the answer, and writes the
answer's token when it decodes one by one, it is undecided there: the kernel decides, not the tree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from engine.control import Control
from engine.events import Checking
from engine.oracle.answer import Answer
from engine.oracle.judge import judge
from engine.oracle.reference import Reference
from engine.oracle.replay import REPORT_SECONDS
from engine.oracle.verdicts import Verdicts
from engine.target import Target


def decode_again(target: Target, answer: Answer, verdicts: Verdicts, control: Control) -> Iterator[Checking]:
    """Judge the divergences of ``verdicts`` again, in order, up to the first one that stays a defect."""
    pending = {one.position: place for place, one in enumerate(verdicts.divergences)}
    reference = Reference(target)
    text, prompt, told = answer.text, len(answer.prompt), time.perf_counter()
    begin, last = 0, max(pending)
    for position in range(prompt, last + 1):
        if control.cancelled:
            return
        reading = reference.read(text[begin:position], 1)
        begin = position
        if position in pending:
            choice = answer.choices[position - prompt]
            again = judge(reading.logits, position, [choice], answer.sampler, verdicts.noise)[0]
            if again.verdict == "defect":
                return
            verdicts.undecided(pending[position])
        if time.perf_counter() - told > REPORT_SECONDS:
            told = time.perf_counter()
            yield Checking(stage="Decoding it again", done=position - prompt, total=last - prompt)

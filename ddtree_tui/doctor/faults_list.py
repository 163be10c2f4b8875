"""``ddtree-tui doctor --list-faults``: every cause, and how it can be planted."""

from __future__ import annotations

from collections.abc import Iterator

from engine.causes import CAUSES
from engine.faults.catalogue import FAULTS

AREAS = {
    "verify": "Verifying the tree",
    "commit": "Committing the path",
    "drafter": "The drafter and its inputs",
    "vocabulary": "Vocabularies",
    "model": "The models",
    "prompt": "The prompt",
    "text": "The text",
}
NEEDS = {
    "drafter": "mode chain or tree",
    "branches": "mode tree",
    "hybrid": "a target with recurrent layers",
    "template": "a chat template",
    "thinking": "a chat template that knows thinking",
    "thinking-off": "thinking off",
    "system": "a system message",
    "solve": "--verify solve",
    "device": "a pair whose rounds can run on the device",
}


def fault_lines() -> Iterator[str]:
    """The catalogue, by area: what is wrong, and what --inject does to a run."""
    yield "Causes that the doctor names. --inject NAME plants one in a run, to look at it."
    for area, title in AREAS.items():
        yield ""
        yield title
        for cause in CAUSES.values():
            if cause.area != area:
                continue
            yield f"  {cause.name}: {cause.title}."
            fault = FAULTS.get(cause.name)
            if fault is None:
                yield "      Cannot be planted: others bring it about."
                continue
            needs = [NEEDS.get(need, need) for need in fault.needs]
            yield f"      {fault.plants}"
            if needs:
                yield f"      Needs {', '.join(needs)}."

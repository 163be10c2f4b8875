"""What the oracle found, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ddtree_tui.plural import counted
from engine.divergence import ROOT
from engine.events import Checked, Divergence, LayerCheck

Spell = Callable[[int], str]
"""A token's label."""
WHAT = {
    "output": "output",
    "features": "the drafter's features",
    "keys": "keys",
    "values": "values",
    "window": "conv window",
    "state": "recurrent state",
}


def headline(checked: Checked) -> str:
    """The verdict in one sentence."""
    if checked.verdict == "unchecked":
        return f"Nothing was compared. {checked.reason}".rstrip()
    compared = f"{checked.compared} of {counted(checked.positions, 'token')}"
    if checked.defects:
        return (
            f"This is not what the target alone writes: {checked.defects} of {checked.compared} tokens "
            "compared are others, and rounding does not explain it."
        )
    if checked.verdict == "defect":
        return (
            f"The tokens are what the target alone writes ({compared} compared), but what was computed on "
            "the way is not."
        )
    ties = f", but for {counted(checked.ties, 'near tie')} that rounding explains" if checked.ties else ""
    return f"This is what the target alone writes{ties}: {compared} compared."


def details(checked: Checked, spell: Spell) -> Iterator[str]:
    """The numbers behind it, a sentence each."""
    if checked.verdict == "unchecked":
        return
    if checked.first is not None:
        yield divergence_text(checked.first, spell)
    if checked.layer is not None:
        yield f"First out of tolerance: {layer_text(checked.layer)}."
    where = "" if checked.gap_round is None else f", above that from round {checked.gap_round + 1} on"
    yield (
        f"Logit gaps: within {checked.gap_change:.2g} of the target alone's where tokens agree; rounding "
        f"explains {checked.noise:.2g}{where}."
    )
    if checked.drift:
        last, error = checked.drift[-1]
        largest = max(error for _, error in checked.drift)
        only = f"{largest:.2g} at the most" if len(checked.drift) > 1 else "compared there only"
        yield f"Recurrent state: relative error {error:.2g} after round {last + 1}, {only}."
    caches = f"{counted(checked.layers, 'comparison')} of layers" if checked.layers else "No caches compared"
    again = ", decoded one token at a time too" if checked.sequential else ""
    yield f"{caches}{again}; {checked.seconds:.1f} s."


def divergence_text(one: Divergence, spell: Spell) -> str:
    """Where a text parts from the target alone's."""
    kind = "Defect" if one.verdict == "defect" else "Near tie"
    return (
        f"{kind} at position {one.position}, {chosen_at(one)}: {spell(one.id)} (id {one.id}), where the "
        f"target alone writes {spell(one.target_id)} (id {one.target_id}); its logit gap is {one.gap:.4g}."
    )


def chosen_at(one: Divergence) -> str:
    """Where the token was chosen."""
    if one.round is None:
        return "chosen by the prefill"
    return f"round {one.round + 1}, " + ("at the root" if one.node == ROOT else f"at node {one.node}")


def layer_text(layer: LayerCheck) -> str:
    """A comparison of one layer."""
    when = "after the prefill" if layer.round is None else f"after round {layer.round + 1}"
    return (
        f"{WHAT[layer.what]} of layer {layer.layer} ({layer.kind.replace('_', ' ')}) {when}, relative error "
        f"{layer.error:.2g} (tolerance {layer.tolerance:.2g})"
    )

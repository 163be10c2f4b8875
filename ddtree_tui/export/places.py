"""What a drawing of a draft tree shows, and where: columns by depth, rows by leaf. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.glyphs import GLYPHS, State, probability, small_probability
from ddtree_tui.mode_name import mode_name
from ddtree_tui.plural import counted
from ddtree_tui.tree_parts import Label
from ddtree_tui.unknown import UNKNOWN, position_text, time_text
from engine.events import UNKNOWN_ID, Round


@dataclass(frozen=True)
class Place:
    """A node, the root, the bonus token or the near miss.

    Attributes:
        place: the node, or ``ROOT``, ``BONUS``, ``NEAR_MISS``.
        parent: where its parent is in the list of places; None for the root.
        state: as ``State`` names it; ``edge``: the same for the line that leads there.
        row: from 0, the accepted path.
        cells: columns of a terminal that ``text`` takes.
        p: the drafter's probability, as it is written; empty where there is none.
        tip: all that is known of it, in a sentence.
    """

    place: int
    parent: int | None
    state: str
    depth: int
    row: int
    token_id: int
    glyph: str
    text: str
    cells: int
    p: str
    tip: str

    @property
    def all_cells(self) -> int:
        """Of glyph, text and probability, and the spaces between them."""
        return len(self.glyph) + 1 + self.cells + (1 + len(self.p) if self.p else 0)

    @property
    def edge(self) -> str:
        return "accepted" if self.place == BONUS else self.state


def places_of(round_: Round, label: Label) -> list[Place]:
    """All places, each behind its parent. The first entry below a place continues its row; the others take
    rows of their own below, each branch whole before the next."""
    shape = DraftShape.of(round_)
    places: list[Place] = []
    last_row = 0
    stack: list[tuple[int, int | None, bool]] = [(ROOT, None, True)]
    while stack:
        place, parent, continues = stack.pop()
        if not continues:
            last_row += 1
        row = last_row if parent is None or not continues else places[parent].row
        token_id = shape.token(place)
        assert token_id is not None
        text, cells = label(token_id)
        state = shape.state(place)
        index = len(places)
        places.append(
            Place(
                place=place,
                parent=parent,
                state=state.value,
                depth=shape.depth(place),
                row=row,
                token_id=token_id,
                glyph=GLYPHS[state],
                text=text,
                cells=cells,
                p=_probability(round_, place),
                tip=_tip(shape, place, token_id, label),
            )
        )
        entries = list(enumerate(shape.below(place)))
        stack.extend((entry, index, number == 0) for number, entry in reversed(entries))
    return places


def outcome(round_: Round) -> str:
    """What a round did, in a line."""
    if round_.mode == "ar":
        did = "one token, nothing drafted"
    elif not round_.tree_known:
        did = f"tree unknown, {counted(round_.acceptance_length, 'token')}"
    else:
        bonus = f" + {GLYPHS[State.BONUS]}" if round_.bonus_id is not None else ""
        did = (
            f"{len(round_.accepted)} of {len(round_.nodes.ids)} accepted{bonus} = "
            f"{counted(round_.acceptance_length, 'token')}"
        )
    name = mode_name(round_.mode, round_.budget)
    return f"{did} · {name} · {time_text(round_.ms)} · {position_text(round_)}"


def _probability(round_: Round, place: int) -> str:
    if place >= 0:
        logprobs = round_.nodes.logprobs
        return probability(exp(logprobs[place])) if logprobs else ""
    if place == NEAR_MISS and round_.miss is not None:
        return f"#{round_.miss.rank} {small_probability(exp(round_.miss.logprob))}"
    return ""


def _tip(shape: DraftShape, place: int, token_id: int, label: Label) -> str:
    round_ = shape.round
    identity = UNKNOWN if token_id == UNKNOWN_ID else str(token_id)
    said = [f"{shape.state(place).value}: {label(token_id)[0]}", f"id {identity}"]
    if place >= 0:
        nodes = round_.nodes
        said.append(f"depth {nodes.depths[place]}")
        said.append(f"the drafter's #{nodes.ranks[place]} there" if nodes.ranks else f"rank {UNKNOWN}")
        if nodes.logprobs:
            p, path = exp(nodes.logprobs[place]), exp(shape.weights[place])
            said.append(f"p {p:.4f}, of the path {path:.2g}")
        else:
            said.append(f"p {UNKNOWN}")
    row, target = place + 1, round_.target
    if place >= ROOT and row < len(target.ids) and target.ids[row] != UNKNOWN_ID:
        goes_on = f"the target goes on with {label(target.ids[row])[0]}"
        said.append(f"{goes_on}, {target.gaps[row]:.4g} above its next choice" if target.gaps else goes_on)
    return ", ".join(said)

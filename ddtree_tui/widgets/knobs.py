"""Settings one can turn while looking: what they are, and from when on a change holds."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Static

from ddtree_tui.widgets.painted import Lines, Span
from engine.settings import MAX_BUDGET, MODES, DecodeSettings

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)


@dataclass(frozen=True)
class KnobSpec:
    """A setting. ``live``: a change holds from the next round, else from the next run."""

    name: str
    live: bool
    help: str


SPECS = (
    KnobSpec("mode", True, "ar: no drafting · chain: the drafter's first choices · tree: DDTree"),
    KnobSpec("budget", True, f"most draft nodes a round, 1 to {MAX_BUDGET}; mode tree only"),
    KnobSpec("thinking", False, "let the model write a scratch pad before it answers"),
    KnobSpec("temperature", False, "0 is greedy; above, tokens are sampled with the seed"),
)


def since(spec: KnobSpec) -> str:
    """From when on a change holds."""
    return "from the next round on" if spec.live else "from the next run on"


def turned(settings: DecodeSettings, name: str, by: int) -> dict[str, str | int | bool | float]:
    """The setting ``name`` turned ``by`` steps up or down: just the changed field."""
    if name == "mode":
        return {name: MODES[(MODES.index(settings.mode) + by) % len(MODES)]}
    if name == "budget":
        return {name: turned_budget(settings.budget, by)}
    if name == "thinking":
        return {name: not settings.thinking}
    if name == "temperature":
        return {name: _next_of(TEMPERATURES, settings.temperature, by)}
    raise KeyError(name)


def turned_budget(budget: int, by: int) -> int:
    """The next power of two in a direction, inside what is allowed."""
    powers = tuple(2**n for n in range(MAX_BUDGET.bit_length()))
    return int(_next_of(powers, budget, by))


def value_text(settings: DecodeSettings, name: str) -> str:
    """A setting as it is shown."""
    value = getattr(settings, name)
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Knob(Lines, can_focus=True):
    """One setting. Left and right turn it, Enter types a value."""

    ROLES = ("label", "value", "dim", "arrow")
    COMPONENT_CLASSES = set(ROLES)
    ALLOW_SELECT = False
    BINDINGS = [
        Binding("left,minus", "turn(-1)", "Less", show=False),
        Binding("right,plus,equals_sign", "turn(1)", "More", show=False),
        Binding("enter", "edit", "Type a value", show=False),
    ]
    DEFAULT_CSS = """
    Knob {
        height: 1;
        width: auto;
        margin-right: 1;
        .label { color: $quiet; }
        .value { color: $foreground; text-style: bold; }
        .dim { color: $faint; }
        .arrow { color: $shown; }
        &:focus { background: $panel; .value { color: $shown; text-style: bold reverse; } }
        &:hover { background: $panel; }
    }
    """

    class Turned(Message):
        """The user turned a knob ``by`` steps."""

        def __init__(self, name: str, by: int) -> None:
            super().__init__()
            self.name = name
            self.by = by

    class Edit(Message):
        """The user wants to type a value."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, spec: KnobSpec) -> None:
        super().__init__(id=f"knob-{spec.name}")
        self.spec = spec
        self._value = ""
        self._idle = False

    def show(self, settings: DecodeSettings) -> None:
        """Take the newest value; the budget is idle outside mode tree."""
        value = value_text(settings, self.spec.name)
        idle = self.spec.name == "budget" and settings.mode != "tree"
        if (value, idle) != (self._value, self._idle):
            self._value, self._idle = value, idle
            self.forget_strips()
            self.refresh(layout=True)

    def get_content_width(self, container: object, viewport: object) -> int:
        return len(self.spec.name) + len(self._value) + 3

    def draw(self, width: int, height: int) -> list[list[Span]]:
        value = "dim" if self._idle else "value"
        return [[(f"{self.spec.name} ", "label"), (f" {self._value} ", value)]]

    def action_turn(self, by: int) -> None:
        self.post_message(self.Turned(self.spec.name, by))

    def action_edit(self) -> None:
        if self.spec.name in ("mode", "thinking"):
            self.action_turn(1)
        else:
            self.post_message(self.Edit(self.spec.name))

    def on_click(self) -> None:
        self.action_edit()


class Knobs(HorizontalGroup):
    """All knobs, grouped by when a change holds; of a recording, what it was made with."""

    DEFAULT_CSS = """
    Knobs {
        height: 1;
        padding: 0 1;
        background: $surface;
        .group { color: $faint; width: auto; margin-right: 1; }
    }
    """

    def __init__(self, *, recorded: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._recorded = recorded

    def compose(self) -> ComposeResult:
        """The knobs, live ones first."""
        if self._recorded:
            yield from _group("recorded with:", "recorded with:")
            yield from (Knob(spec) for spec in SPECS)
            return
        yield from _group("next round:", "from the next round:")
        yield from (Knob(spec) for spec in SPECS if spec.live)
        yield from _group(" next run:", "  from the next run:")
        yield from (Knob(spec) for spec in SPECS if not spec.live)

    def say_recorded(self, recorded: bool) -> None:
        """Whether the knobs are those of a recording."""
        if recorded != self._recorded:
            self._recorded = recorded
            self.refresh(recompose=True)

    def show(self, settings: DecodeSettings, *, disabled: bool) -> None:
        """Take the newest settings; a recorded run cannot be changed."""
        self.disabled = disabled
        for knob in self.query(Knob):
            knob.show(settings)


def _group(short: str, long: str) -> ComposeResult:
    """A label in two lengths; the style sheet shows the one that fits."""
    yield Static(short, classes="group short-label", markup=False)
    yield Static(long, classes="group long-label", markup=False)


def _next_of(steps: tuple[float, ...], value: float, by: int) -> float:
    if by > 0:
        return next((step for step in steps if step > value), steps[-1])
    return next((step for step in reversed(steps) if step < value), steps[0])

"""The first line: program, model and device on the left, mode and what the engine does on the right."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from ddtree_tui.escape import escape
from ddtree_tui.widgets.painted import Lines, Span, spread
from engine.events import Loaded, Loading, ModelInfo

PROGRESS_CELLS = 12


@dataclass(frozen=True)
class Status:
    """What the line says. ``state`` is a word, ``kind`` styles it: quiet, busy, paused or bad."""

    model: str
    loaded: Loaded | None
    loading: Loading | None
    mode: str
    state: str
    kind: str


class TopLine(Lines):
    """Redrawn only when something it says has changed."""

    ROLES = ("name", "text", "quiet", "busy", "paused", "bad")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TopLine {
        height: 1;
        background: $panel;
        padding: 0 1;
        .name { text-style: bold; color: $shown; }
        .text { color: $foreground; }
        .quiet { color: $quiet; }
        .busy { color: $accepted; text-style: bold; }
        .paused { color: $bonus; text-style: bold; }
        .bad { color: $wrong; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._status: Status | None = None

    def show(self, status: Status) -> None:
        """Take a new status."""
        if status != self._status:
            self._status = status
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        status = self._status
        if status is None:
            return [[("ddtree", "name")]]
        right: list[Span] = [(status.mode, "text"), ("  ", ""), *_state(status)]
        left: list[Span] = [("ddtree", "name"), ("  ", "")]
        room = width - cell_len("ddtree  ") - sum(cell_len(text) for text, _ in right) - 2
        return [spread([*left, *_model(status, room)], right, width)]


def _state(status: Status) -> list[Span]:
    if status.loading is None:
        return [(status.state, status.kind)]
    loading = status.loading
    done = round(PROGRESS_CELLS * loading.done / max(1, loading.total))
    bar = "━" * done, "─" * (PROGRESS_CELLS - done)
    return [(f"{escape(loading.stage)} ", "quiet"), (bar[0], "busy"), (bar[1], "quiet")]


def _model(status: Status, room: int) -> list[Span]:
    """As much as fits of: name, layers, size, drafter, device and type."""
    name = escape(status.model)
    spans: list[Span] = [(name, "text")]
    used = cell_len(name)
    for text in _facts(status.loaded) if status.loaded else []:
        used += cell_len(text) + 3
        if used > room:
            break
        spans.append((f" · {text}", "quiet"))
    return spans


def _facts(loaded: Loaded) -> list[str]:
    target, drafter = loaded.target, loaded.drafter
    weights = target.quantization or target.dtype
    if not loaded.device or not target.parameters:  # imported: little is known
        version = loaded.versions.get(loaded.system, "")
        said = [
            loaded.device or f"{loaded.system} {version}".strip(),
            f"drafter {drafter.name}" if drafter is not None else "",
        ]
        return [escape(text) for text in said if text]
    facts = [f"{escape(loaded.device)} {escape(weights)}", _size(target.parameters)]
    if target.layer_kinds:
        facts.append(_layers(target))
    if drafter is None:
        facts.append("no drafter: mode ar only")
    else:
        facts.append(f"drafter {_size(drafter.parameters)}, block {loaded.block_size}")
    return facts


KIND_NAMES = {
    "linear_attention": "gated-delta",
    "full_attention": "attention",
    "sliding_attention": "sliding-window",
}
"""What transformers calls a layer kind -> what the literature does."""


def _layers(model: ModelInfo) -> str:
    kinds = " + ".join(
        f"{count} {escape(KIND_NAMES.get(kind, kind.replace('_', '-')))}"
        for kind, count in sorted(model.layer_kinds.items(), key=lambda item: -item[1])
    )
    return f"{kinds} layers"


def _size(parameters: int) -> str:
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if parameters >= size:
            return f"{parameters / size:.3g} {unit}"
    return str(parameters)

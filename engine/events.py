"""The events of a run: the one format that everything reads and writes.

One event is one JSON line. Every line has ``v`` (schema version), ``type`` and ``t`` (seconds since
the run started). Readers ignore fields and types they do not know and refuse another major version.

A run is: ``loading``* ``loaded`` (once per process), then per answer ``prefilled``, ``piece``*,
``round``*, ``finished``, and where it was asked for ``checking``* ``checked``; ``failed`` ends either.
A race is ``racing``, then ``lane``* and maybe ``noise``, until every lane has ended.
``finding`` and ``divergence`` come whenever there is one. ``tokens`` comes before the first event that uses
an id not announced before, so a trace can be shown without a tokenizer.

An imported answer (``prefilled.source``) has what its source says. What that does not say is absent: token
ids are ``UNKNOWN_ID``, lists of probabilities, ranks and gaps per node or row are empty, ``budget`` is 0,
``position`` is -1, times (``ms``, ``seconds``, ``ttft_s``) and speeds are 0, and texts and counts of
``loaded`` are empty or 0. There are no rounds if only their totals are known; ``finished`` has these.
An answer that another program's server writes (``loaded.system``) is the same, as it comes: its text in
``piece``s, its rounds behind them if the server tells them at its end.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.settings import DecodeSettings, Message, Mode

SCHEMA_VERSION = 1
TOP_CANDIDATES = 8
"""Of a row, where ``detail`` is on and no other number is asked for."""
MAX_CANDIDATES = 20
UNKNOWN_ID = -1
"""A token of an imported run whose id its source does not say. The engine's own events never have it."""
MAX_NODES = 8192
"""Of one tree. The engine's have at most ``settings.MAX_BUDGET``; other programs' may have more."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the pair. ``layer_kinds`` maps a kind to how many layers are of it. ``quantization``: how
    its weights are quantised; ``dtype`` is then that of the others."""

    name: str
    path: str
    architecture: str
    parameters: int
    dtype: str
    revision: str | None = None
    layer_kinds: dict[str, int] = {}
    quantization: str | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=str.lower, omit_defaults=False):
    """What all events share. ``t``: seconds since the run started (for loading: since the start of that)."""

    v: int = SCHEMA_VERSION
    t: float = 0.0


class Loading(Event, frozen=True):
    """Progress while a pair loads: ``done`` of ``total`` steps are over, ``stage`` is under way."""

    stage: str
    done: int
    total: int


class Floor(Event, frozen=True):
    """What bounds a round from below: the weights it reads, and how fast the device copies memory
    (bytes read plus bytes written, per second)."""

    bytes_per_second: float
    target_bytes: int
    drafter_bytes: int


class Noise(Event, frozen=True):
    """The most that rounding changes the lead of a token, its logit minus the largest of the others, as it
    was measured on this model and device: 0 where modes are to agree token for token, None where it could
    not be measured."""

    lead: float | None


class Loaded(Event, frozen=True):
    target: ModelInfo
    drafter: ModelInfo | None
    device: str
    versions: dict[str, str]
    block_size: int | None
    mask_token_id: int | None
    target_layer_ids: list[int]
    memory_bytes: int
    seconds: float
    context_length: int
    vocab_size: int
    thinking: bool = True
    """Whether the chat template knows ``enable_thinking``."""
    layers_on: dict[str, int] = {}
    """Where the target's layers are spread over devices: how many compute on each."""
    processes: int = 1
    """How many hold the target together; ``memory_bytes`` are the first one's."""
    floor: Floor | None = None
    """Measured by the worker on a GPU only: elsewhere the weights are not what bounds a round."""
    system: str = ""
    """What serves the model, where that is not this engine: ``vllm``, ``sglang``, or ``openai`` for any other
    with OpenAI's interface."""
    mode: Mode | None = None
    """How it decodes, where that is not for us to choose and the server says it."""


class Tokens(Event, frozen=True):
    """Spelling of ids. ``pieces``: id -> text; ``raw``: id -> hex bytes, where they are not UTF-8 alone;
    ``special``: ids that are control tokens rather than text. Keys are decimal strings."""

    pieces: dict[str, str] = {}
    raw: dict[str, str] = {}
    special: list[int] = []


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where an imported answer is from.

    Attributes:
        system: what wrote it: ``reference`` (the DDTree implementation of arXiv 2604.12989), ``vllm``,
            ``sglang``, ``openai`` or ``json``.
        name: what the answer is called there.
        settings: the names of those of ``prefilled.settings`` that the source says; the others are unknown.
    """

    system: str
    name: str = ""
    settings: list[str] = []


class Prefilled(Event, frozen=True):
    """``cached``: how many prompt tokens were in the caches already. ``settings.stop`` are strings,
    ``stop_ids`` the ids that end an answer. ``first_logprob``, ``first_topk``: of the target where it chose
    ``first_id``, as in rounds. ``source``: None of what the engine wrote itself. ``opens_thinking``: the
    answer begins inside thinking; said where ``prompt_text``, which else tells it, is not known."""

    prompt_ids: list[int]
    prompt_text: str
    messages: list[Message]
    thinking: bool
    settings: DecodeSettings
    stop_ids: list[int]
    seconds: float
    first_id: int
    cached: int = 0
    first_logprob: float | None = None
    first_topk: Candidates | None = None
    source: Source | None = None
    opens_thinking: bool = False


class Piece(Event, frozen=True):
    """A piece of the text of an answer under way, of a source that does not tell rounds as they happen.

    ``id``: the token it is, ``UNKNOWN_ID`` where that is unknown or it is several. ``tokens``: of the answer
    so far, None where unknown. Rounds that come later hold the same text again, and replace the pieces.
    """

    section: Literal["thinking", "answer"]
    text: str
    id: int = UNKNOWN_ID
    tokens: int | None = None


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """Draft nodes as parallel arrays in topological order; ``parents`` index into nodes, -1 is the root.

    ``depths``: the root's children are 1. ``logprobs``: the drafter's, of the node's token at its depth.
    ``ranks``: 0 is the drafter's first choice at that depth.
    """

    ids: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    logprobs: list[float] = []
    ranks: list[int] = []


class TargetRows(msgspec.Struct, frozen=True, kw_only=True):
    """The target's verdict over root + nodes (row 0 is the root, row i + 1 is node i).

    ``ids``: its choice there; ``logprobs``: of that choice; ``gaps``: top-1 minus top-2 logit.
    """

    ids: list[int]
    logprobs: list[float]
    gaps: list[float]


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """Where the accepted path ended short of the block: what the target wanted at ``depth``.

    ``rank`` and ``logprob`` are the drafter's for that token at that depth.
    ``beyond``: the token was not among the drafter's candidates the tree is built from.
    """

    depth: int
    id: int
    rank: int
    logprob: float
    beyond: bool


class StageTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds per stage of a round. ``total`` of 0: its time is unknown."""

    draft: float = 0.0
    build: float = 0.0
    verify: float = 0.0
    walk: float = 0.0
    commit: float = 0.0
    total: float = 0.0

    @property
    def divided(self) -> bool:
        """Whether it is known which stages the time went to: no round goes without verifying."""
        return self.verify > 0


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """Best candidates per row: ``ids[r][k]`` and ``logprobs[r][k]``, best first."""

    ids: list[list[int]]
    logprobs: list[list[float]]


class Round(Event, frozen=True):
    """One decode round. ``position`` is the absolute position of the root token.

    ``accepted``: node indices along the accepted path; ``committed_ids``: the tokens this round added to
    the text (accepted nodes, then the bonus token unless a stop cut the path before it), so
    ``acceptance_length == len(committed_ids)``. ``bonus_id``: None when the path was cut before it.
    ``tree_known``: False where an import says what the round committed and not what was drafted; there are no
    nodes then.
    """

    index: int
    mode: Mode
    position: int
    root_id: int
    nodes: Nodes
    target: TargetRows
    accepted: list[int]
    bonus_id: int | None
    miss: Miss | None
    committed_ids: list[int]
    acceptance_length: int
    ms: StageTimes
    budget: int = 0
    tree_known: bool = True
    drafter_topk: Candidates | None = None
    target_topk: Candidates | None = None


class Finished(Event, frozen=True):
    """``acceptance_histogram[n]``: rounds that committed n tokens. ``tokens`` counts ``output_ids``, the
    first token (from the prefill) included; ``mean_acceptance_length`` counts what rounds committed.
    Only in imports is the ``reason`` unknown.

    ``counted``: what rounds, drafted and accepted tokens are: of the ``answer`` itself; what the ``server``
    counted while it was written, and as far as the counters tell it wrote nothing else; or, ``shared`` with
    other answers, the server's mean, which makes the number of rounds an estimate."""

    reason: Literal["stop", "length", "cancelled", "unknown"]
    output_ids: list[int]
    text: str
    thinking_text: str
    rounds: int
    tokens: int
    mean_acceptance_length: float
    acceptance_histogram: list[int]
    tokens_per_second: float
    ttft_s: float
    ms: StageTimes
    drafted: int
    accepted: int
    counted: Literal["answer", "server", "shared"] = "answer"


class Divergence(Event, frozen=True):
    """A token of the answer under way, or of the last one, that the target alone would not have written.

    ``round``: the one that committed it, None for the prefill; ``node``: at whose row the choice was made, -1
    is the root; ``position``: absolute; ``id``: the token, ``target_id``: what the target alone writes there;
    ``gap``: its top-1 minus top-2 logit. ``verdict``: whether a change of kernel explains it.
    """

    round: int | None
    node: int
    position: int
    id: int
    target_id: int
    gap: float
    verdict: Literal["tie", "defect"]


class LayerCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Something one layer of the engine holds or computes, against the target alone.

    ``round``: after which it was compared, None for the prefill. ``what``: ``output`` is of the layer,
    ``features`` are what the drafter reads, the others are what the caches hold. ``error``: largest relative
    difference (norm of the difference / norm of the target alone's); ``tolerance``: the most that a change of
    kernel and batch shape explains.
    """

    layer: int
    kind: str
    what: Literal["output", "features", "keys", "values", "window", "state"]
    round: int | None
    error: float
    tolerance: float


class Checked(Event, frozen=True):
    """What the oracle found of the answer finished last: its text, replayed through the target alone.

    ``positions``: of the answer, ``compared``: of these. ``noise``: the largest change of a token's lead that
    was measured on this model and device, below which a divergence is a ``tie``. ``first``: the first defect
    among the divergences, else the first tie; ``layer``: the first layer that left its tolerance, of
    ``layers`` comparisons; ``drift``: round, and relative error of the recurrent state after it.
    ``sequential``: whether the text was also decoded token by token, not only read. ``verdict``:
    ``unchecked`` where nothing was compared, which ``reason`` explains. ``gap_change``: the largest change of
    a top-1 minus top-2 logit where both chose the same token, and ``gap_round``: the first round in which one
    is above ``noise``, None if there is none.
    ``rounds``: first and last of every run of rounds that were compared.
    """

    oracle: Literal["sample", "full"]
    verdict: Literal["identical", "ties", "defect", "unchecked"]
    positions: int
    compared: int
    ties: int
    defects: int
    noise: float
    seconds: float
    first: Divergence | None = None
    layer: LayerCheck | None = None
    layers: int = 0
    drift: list[tuple[int, float]] = []
    sequential: bool = False
    gap_change: float = 0.0
    gap_round: int | None = None
    rounds: list[tuple[int, int]] = []
    reason: str = ""


class Checking(Event, frozen=True):
    """Progress of the oracle: ``done`` of ``total`` positions are compared; ``stage`` is under way."""

    stage: str
    done: int
    total: int


class Finding(Event, frozen=True):
    """Something a detector noticed, before, during or after an answer.

    ``cause``: a name of ``engine.causes``. ``severity``: a ``defect`` makes the text wrong or drafting
    worthless, a ``warning`` may, a ``note`` explains. ``round``: the first it shows in, None when it does not
    depend on rounds. ``seen``: what was seen, with the numbers; ``why``: why it matters; ``todo``: what to
    do. ``evidence``: the numbers by name.
    """

    cause: str
    severity: Literal["note", "warning", "defect"]
    seen: str
    why: str
    todo: str
    round: int | None = None
    evidence: dict[str, str | int | float | bool | list[int | float | str] | None] = {}


class MemoryUse(Event, frozen=True):
    """Memory of the GPU (``of`` = device) or of the engine's process: now, and at most since last asked."""

    of: Literal["device", "process"]
    bytes: int
    peak_bytes: int


class Failed(Event, frozen=True):
    """``command``: the name of the command that this answers (``generate``, ``measurememory``, ...); empty of
    what answers none, such as the end of the process."""

    error: str
    message: str
    hint: str = ""
    detail: str = ""
    command: str = ""


class Racing(Event, frozen=True):
    """A race begins: the prompt, and how each lane decodes it. What the lanes do comes as ``lane``."""

    messages: list[Message]
    lanes: list[DecodeSettings]


class Lane(Event, frozen=True):
    """An event of one lane of a race; ``t`` counts from the start of the race.

    ``event.t`` runs on while other lanes decode; how long a lane itself took is in ``prefilled.seconds`` and
    the rounds' ``ms``. A lane ends with ``finished`` or ``failed``, the race with the last of them, or with a
    ``failed`` of no lane.
    """

    lane: int
    event: Tokens | Prefilled | Round | Finished | Divergence | Checking | Checked | Finding | Failed


AnyEvent = (
    Loading
    | Loaded
    | Tokens
    | Prefilled
    | Piece
    | Round
    | Finished
    | Divergence
    | Checking
    | Checked
    | Finding
    | MemoryUse
    | Floor
    | Noise
    | Failed
    | Racing
    | Lane
)

"""The results as Markdown: tables, what they rest on, and every text that is not ``ar``'s."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_tui.bench.baseline import Comparison
from ddtree_tui.bench.results import Results
from ddtree_tui.bench.summary import Divergence, Group, Lossless, Rate, Row
from ddtree_tui.escape import escape

LISTED = 20
"""Divergences and failures listed one by one; the JSON has all of them."""

STAGES = ("draft", "build", "verify", "walk", "commit")

COLUMNS = (
    "",
    "acceptance length",
    "tokens/s",
    "× ar",
    "× chain",
    "first token ms",
    "round ms",
    *(f"{stage} ms" for stage in STAGES),
    "peak memory",
    "lossless",
)


def markdown(results: Results) -> str:
    """The whole report, ending in a line break."""
    blocks = [_heading(results)]
    for group in results.groups:
        blocks.append(f"### {_text(group.label or 'thinking off')}")
        blocks.append(_group_table(group, floor=results.floor is not None))
        blocks.append(_base(group))
        blocks.append(_histograms(group))
    blocks += _losslessness(results)
    if results.comparisons:
        blocks += ["### Against the baseline", _comparison_table(results.comparisons)]
    if results.failures:
        blocks += ["### Not answered", _failures(results)]
    blocks.append(_notes(results))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _heading(results: Results) -> str:
    loaded = results.loaded
    drafter = "no drafter" if loaded.drafter is None else f"drafter {loaded.drafter.name}"
    versions = ", ".join(f"{name} {version}" for name, version in loaded.versions.items())
    lines = [
        f"## {_text(loaded.target.name)}, {_text(drafter)}, {loaded.target.dtype} on {_text(loaded.device)}",
        "",
        f"`{_text(' '.join(results.command))}`, {results.written}" + (f"; {versions}" if versions else ""),
    ]
    if not results.complete:
        lines += ["", "**Not complete**: ended early; these are the answers until then."]
    if results.on_cpu:
        lines += ["", "Times are of a CPU: they say nothing about the same models on a GPU."]
    return "\n".join(lines)


def _group_table(group: Group, *, floor: bool) -> str:
    columns = [*COLUMNS]
    if floor:
        columns.insert(columns.index("round ms") + 1, "round / floor")
    return _table(columns, [_cells(row, floor=floor) for row in group.rows])


def _cells(row: Row, *, floor: bool) -> list[str]:
    over_floor = [f"{row.round_over_floor:.2f}" if row.round_over_floor else "-"] if floor else []
    return [
        row.name,
        _rate(row.acceptance, ".2f"),
        _rate(row.tokens_per_second, ".1f"),
        _rate(row.speed_vs_ar, ".2f"),
        _rate(row.speed_vs_chain, ".2f"),
        f"{row.ttft_ms.median:.1f} ({row.ttft_ms.low:.1f} to {row.ttft_ms.high:.1f})",
        f"{row.ms.total:.2f}",
        *over_floor,
        *(f"{getattr(row.ms, stage):.2f}" for stage in STAGES),
        "-" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:,.0f} MiB",
        _lossless(row),
    ]


def _lossless(row: Row) -> str:
    if row.way.mode == "ar":
        return "reference"
    found = row.lossless
    if found is None:
        return "-"
    words = [f"{found.same} of {found.compared}"]
    for kind in ("tie", "defect", "unjudged"):
        count = getattr(found, kind)
        if count:
            words.append(f"{count} {kind}" + ("s" if kind in ("tie", "defect") and count > 1 else ""))
    return ", ".join(words)


def _base(group: Group) -> str:
    """What the numbers of a table rest on."""
    rests = []
    for row in group.rows:
        counts = {"prompt": row.prompts, "token": row.tokens, "round": row.rounds}
        rests.append(f"{row.name} " + ", ".join(_count(number, noun) for noun, number in counts.items()))
    return "Rests on: " + "; ".join(rests) + "."


def _histograms(group: Group) -> str:
    """Share of rounds by acceptance length."""
    drafting = [row for row in group.rows if row.way.mode != "ar" and row.rounds]
    if not drafting:
        return ""
    longest = max(len(row.histogram) for row in drafting)
    columns = ["rounds that committed", *map(str, range(1, longest))]
    lines = []
    for row in drafting:
        counts = [*row.histogram[1:], *[0] * (longest - len(row.histogram))]
        lines.append([row.name, *(f"{count / row.rounds:.0%}" if count else "" for count in counts)])
    return _table(columns, lines)


def _losslessness(results: Results) -> list[str]:
    totals = _totals(results)
    if totals is None:
        return ["No losslessness verdict: mode ar was not measured."]
    if not totals.compared:
        return []
    sentence = f"Texts identical to ar's: {totals.same} of {totals.compared}."
    if not results.divergences:
        return [sentence]
    lines = [_divergence(one) for one in results.divergences[:LISTED]]
    rest = len(results.divergences) - LISTED
    if rest > 0:
        lines.append(f"- and {rest} more")
    return ["### Texts that are not ar's", sentence, "\n".join(lines)]


def _totals(results: Results) -> Lossless | None:
    """Over all ways but ``ar``; None when there was no ``ar``."""
    found = [
        row.lossless
        for group in results.groups
        if group.source is None
        for row in group.rows
        if row.lossless is not None and row.way.mode != "ar"
    ]
    if not any(row.way.mode == "ar" for group in results.groups for row in group.rows):
        return None
    return Lossless(
        compared=sum(one.compared for one in found),
        same=sum(one.same for one in found),
        tie=sum(one.tie for one in found),
        defect=sum(one.defect for one in found),
        unjudged=sum(one.unjudged for one in found),
    )


def _divergence(one: Divergence) -> str:
    name = f"{one.way.name} {one.condition.label}".rstrip()
    where = f"- {one.verdict.kind}: {name}, {_text(one.source)} prompt {one.number}"
    at = one.verdict.difference
    assert at is not None
    made = "the prefill" if at.round is None else f"round {at.round}"
    return (
        f"{where}: token {at.index} (position {at.position}, {made}) is {_token(at.id)}, ar's is "
        f"{_token(at.ar_id)}; gap {_gap(at.gap)}, in ar {_gap(at.ar_gap)}"
    )


def _token(token_id: int | None) -> str:
    return "the end" if token_id is None else f"#{token_id}"


def _gap(gap: float | None) -> str:
    return "unknown" if gap is None else f"{gap:g}"


def _comparison_table(comparisons: Sequence[Comparison]) -> str:
    lines = []
    for one in comparisons:
        measured = "-" if one.measured is None else f"{one.measured:.3f}"
        change = "-" if one.change is None else f"{one.change:+.1%}"
        verdict = f"**{one.verdict}**" if one.moved else one.verdict
        lines.append(
            [
                _text(one.name),
                one.metric,
                f"{one.expected:.3f}",
                measured,
                change,
                f"{one.tolerance:.0%}",
                verdict,
            ]
        )
    return _table(["", "number", "expected", "measured", "change", "tolerance", "verdict"], lines)


def _failures(results: Results) -> str:
    lines = [
        f"- {_text(one.source)} prompt {one.number}, {one.way.name} {one.condition.label}".rstrip()
        + f": {_text(one.message)}"
        for one in results.failures[:LISTED]
    ]
    rest = len(results.failures) - LISTED
    return "\n".join(lines + ([f"- and {rest} more"] if rest > 0 else []))


def _notes(results: Results) -> str:
    notes = [
        "Acceptance length: tokens / rounds. Tokens/s: tokens / time within rounds, prefill not included. "
        "Both and the speed ratios are ratios of totals over prompts, in brackets their 95 % interval when "
        "prompts are resampled. First token: median (quartiles) over prompts. Stages: all their time / "
        "rounds. Peak memory: " + ("of the engine's process." if results.on_cpu else "allocated on the GPU."),
        "Each prompt was answered in all ways one after the other, in turns, on one device, with empty caches"
        + (f"; in {results.sessions} sessions." if results.sessions > 1 else "."),
    ]
    floor = results.floor
    if floor is not None:
        notes.append(
            f"Floor: the weights a round reads (target {floor.target_bytes / 1e6:,.1f} MB, drafter "
            f"{floor.drafter_bytes / 1e6:,.1f} MB with the head) / copy bandwidth measured in this run "
            f"({floor.bytes_per_second / 1e9:,.1f} GB/s, read and written). Weights that fit into a cache "
            "can be read faster than that."
        )
    return "\n\n".join(notes)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _rate(rate: Rate | None, form: str) -> str:
    if rate is None:
        return "-"
    if rate.low == rate.high:
        return f"{rate.value:{form}}"
    return f"{rate.value:{form}} ({rate.low:{form}} to {rate.high:{form}})"


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, marks, *lines))


def _text(text: str) -> str:
    """Names and messages are data: nothing in them may end a cell or drive a terminal."""
    return escape(text).replace("|", "\\|").replace("`", "'")

"""What the DDTree reference implementation (arXiv 2604.12989) saves: a run of its benchmark, or trees alone.

The benchmark's file holds ``responses``: a list of dicts, one entry a way of decoding (``baseline``,
``dflash``, ``ddtree_tb64``), each with ``output_ids``, ``num_input_tokens``, ``acceptance_lengths`` and, if
asked for, ``round_trees``. One such entry alone is read too, a list of them, and a list of trees.
A tree is ``{"tree": {"node_token_ids", "node_depths", "parents"}, "accepted_indices"}``; the root is index 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from ddtree_tui.escape import escape
from ddtree_tui.importers.answer import MAX_PLACES, Imported, ImportedAnswer, ImportedRound, totals_of
from ddtree_tui.importers.known_names import NumpyArray, Tensor
from ddtree_tui.importers.refusal import damaged, too_large, unfit
from engine.events import MAX_NODES, UNKNOWN_ID, StageTimes
from engine.settings import Mode

SYSTEM = "reference"
_MARKS = frozenset({"round_trees", "acceptance_lengths", "output_ids"})
"""Fields that tell an answer from other dicts."""


class Tree(NamedTuple):
    """A tree as it was saved, in our terms: -1 is the root, ``accepted`` are nodes."""

    ids: list[int]
    parents: list[int]
    accepted: list[int]


class Way(NamedTuple):
    """How an answer was decoded, as far as the name of its entry tells."""

    mode: Mode | None
    budget: int


def read_reference(value: Any) -> Imported:
    """What a pickle of the reference implementation holds.

    Raises:
        EngineError: ``import`` if that is something else.
    """
    run = value if isinstance(value, Mapping) and "responses" in value else {}
    arguments = run.get("args")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    block_size = _whole(run.get("block_size"))
    answers = _answers(run.get("responses", value), arguments, block_size)
    return Imported(
        system=SYSTEM,
        answers=answers,
        target=_text(arguments.get("model_name_or_path")),
        drafter=_text(arguments.get("draft_name_or_path")),
        block_size=block_size,
    )


def _answers(value: Any, arguments: Mapping[Any, Any], block_size: int | None) -> Iterator[ImportedAnswer]:
    found = False
    for name, way, entry in _entries(value):
        found = True
        yield _answer(name, way, entry, arguments, block_size)
    if not found:
        raise unfit(
            "holds no answers of the DDTree reference implementation: neither responses nor round_trees"
        )


def _entries(value: Any) -> Iterator[tuple[str, str, Mapping[Any, Any]]]:
    """Name, way of decoding and fields of every answer."""
    if _is_answer(value):
        yield "", "", value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if _is_answer(entry):
                yield escape(str(name))[:60], str(name), entry
    elif isinstance(value, list | tuple) and value and _is_tree(value[0]):
        yield "", "", {"round_trees": value}
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value, 1):
            if _is_answer(item):
                yield f"response {number}", "", item
            elif isinstance(item, Mapping):
                for name, way, entry in _entries(item):
                    yield f"response {number}, {name}", way, entry


def _is_answer(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name in value for name in _MARKS)


def _is_tree(value: Any) -> bool:
    return isinstance(value, Mapping) and "accepted_indices" in value


def _answer(
    name: str, way: str, entry: Mapping[Any, Any], arguments: Mapping[Any, Any], block_size: int | None
) -> ImportedAnswer:
    where = f" of {name}" if name else ""
    trees = _trees(entry.get("round_trees"), where)
    lengths = _whole_numbers(entry.get("acceptance_lengths"), f"the acceptance lengths{where}")
    if trees and lengths and [1 + len(tree.accepted) for tree in trees] != lengths:
        raise damaged(
            f"contradicts itself: the trees{where} accept other numbers than the acceptance lengths"
        )
    prompt, output = _text_ids(entry, where)
    mode, budget = _way_of(way, trees)
    lengths = lengths or [1 + len(tree.accepted) for tree in trees]
    if max(lengths, default=0) > MAX_NODES + 1:
        raise too_large("has a round longer than any")
    ms = _milliseconds(entry.get("round_timestamps"), len(lengths))
    rounds: list[ImportedRound] = []
    if mode is not None:
        rounds = list(_rounds(mode, budget, trees, lengths, output, ms, where))
    settings = {
        "mode": mode,
        "budget": budget or None,
        "block_size": block_size if mode in ("chain", "tree") and (block_size or 0) > 1 else None,
        "temperature": _number(arguments.get("temperature")),
        "max_new_tokens": _whole(arguments.get("max_new_tokens")),
    }
    return ImportedAnswer(
        name=name,
        rounds=rounds,
        settings=settings,
        prompt_ids=prompt,
        output_ids=output,
        tokens=_whole(entry.get("num_output_tokens")),
        totals=None if rounds or not lengths else totals_of(lengths),
        stage_ms=_stages(entry.get("stage_times")),
        seconds_to_first=_number(entry.get("time_to_first_token")) or 0.0,
    )


def _way_of(name: str, trees: Sequence[Tree]) -> Way:
    budget = re.search(r"_tb(\d{1,6})$", name)
    if trees or name.startswith("ddtree"):
        return Way("tree", int(budget[1]) if budget else 0)
    modes: dict[str, Mode] = {"baseline": "ar", "dflash": "chain"}
    return Way(modes.get(name), 0)


def _rounds(
    mode: Mode,
    budget: int,
    trees: Sequence[Tree],
    lengths: Sequence[int],
    output: Sequence[int],
    ms: Sequence[float | None],
    where: str,
) -> Iterator[ImportedRound]:
    """The rounds that added to the text. Where that ends, at a stop token or the most tokens, it may have cut
    the last one's path; without the text the bonus tokens are unknown, and so are the roots.

    Round r's root stands at place s_r of the output, s_0 = 0 and s_{r+1} = s_r + its acceptance length."""
    place = 0
    for number, length in enumerate(lengths):
        left = len(output) - place - 1 if output else length
        if left <= 0:
            return
        tree = trees[number] if trees else None
        taken = list(output[place + 1 : place + 1 + length])
        if output and tree is not None:
            path = [tree.ids[node] for node in tree.accepted]
            if path[:left] != taken[: length - 1]:
                raise damaged(
                    f"contradicts itself: round {number + 1}{where} accepts other tokens than the text has"
                )
        whole = left >= length
        yield ImportedRound(
            mode=mode,
            root_id=output[place] if output else UNKNOWN_ID,
            accepted=tree.accepted[:left] if tree is not None else (),
            bonus_id=(taken[-1] if output else UNKNOWN_ID) if whole else None,
            ids=tree.ids if tree is not None else None,
            parents=tree.parents if tree is not None else (),
            committed=taken if output else None if tree is not None else [UNKNOWN_ID] * length,
            budget=budget,
            ms=ms[number],
        )
        place += length


def _trees(value: Any, where: str) -> list[Tree]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise damaged(f"has round_trees{where} that are no list")
    trees, places = [], 0
    for number, item in enumerate(value, 1):
        tree = _tree(item, f"round {number}{where}")
        places += len(tree.ids) + 1
        if places > MAX_PLACES:
            raise too_large(f"holds more than {MAX_PLACES:,} nodes")
        trees.append(tree)
    return trees


def _tree(item: Any, where: str) -> Tree:
    if not _is_tree(item):
        raise damaged(f"has no tree in {where}")
    fields = item.get("tree", item)
    if not isinstance(fields, Mapping):
        raise damaged(f"has no tree in {where}")
    ids = _whole_numbers(fields.get("node_token_ids"), f"the token ids of {where}")
    parents = _whole_numbers(fields.get("parents"), f"the parents of {where}")
    accepted = _whole_numbers(item.get("accepted_indices"), f"the accepted indices of {where}")
    if len(ids) > MAX_NODES:
        raise too_large(f"has a tree of {len(ids):,} nodes")
    if len(parents) != len(ids) + 1 or parents[0] != -1:
        raise damaged(
            f"has other parents than its nodes need in {where}: one for each, and -1 for the root first"
        )
    if not accepted or accepted[0] != 0 or not all(0 < node <= len(ids) for node in accepted[1:]):
        raise damaged(f"has no accepted path in {where}: it begins with 0, the root")
    return Tree(ids, [parent - 1 for parent in parents[1:]], [node - 1 for node in accepted[1:]])


def _text_ids(entry: Mapping[Any, Any], where: str) -> tuple[list[int], list[int]]:
    """The ids of the prompt and of the answer; both empty where unknown."""
    ids = _whole_numbers(entry.get("output_ids"), f"the output ids{where}")
    count = _whole(entry.get("num_input_tokens"))
    if not ids or count is None:
        return [], []
    if not 0 <= count <= len(ids):
        raise damaged(f"has fewer output ids{where} than its prompt has tokens")
    return ids[:count], ids[count:]


def _milliseconds(timestamps: Any, rounds: int) -> list[float | None]:
    """How long each round took, from the seconds at which each ended."""
    times = timestamps if isinstance(timestamps, list | tuple) else ()
    if len(times) != rounds or not all(isinstance(time, float | int) for time in times):
        return [None] * rounds
    return [1000 * max(0.0, after - before) for before, after in pairwise(chain([0.0], times))]


def _stages(times: Any) -> StageTimes:
    """Sums over all rounds; the walk is timed with the commit, and the first draft not at all."""
    if not isinstance(times, Mapping):
        return StageTimes()

    def stage(*names: str) -> float:
        return 1000 * sum(_number(times.get(name)) or 0.0 for name in names)

    return StageTimes(
        draft=stage("draft"),
        build=stage("tree_build", "tree_compile"),
        verify=stage("verify"),
        commit=stage("commit"),
    )


def _whole_numbers(value: Any, what: str) -> list[int]:
    """A list of whole numbers, whether it is a list, an array or a tensor; empty for None."""
    if value is None:
        return []
    values = value.values if isinstance(value, Tensor | NumpyArray) else value
    if not isinstance(values, list | tuple) or not all(type(item) is int for item in values):
        raise damaged(f"has something else than whole numbers as {what}")
    return list(values)


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and abs(value) < 1e18 else None


def _text(value: Any) -> str:
    """A name. Pickles can hold lone surrogates, which no trace can: of these it has the codes."""
    return value[:300].encode(errors="backslashreplace").decode() if isinstance(value, str) else ""

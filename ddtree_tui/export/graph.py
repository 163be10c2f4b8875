"""A draft tree as a graph of networkx, for tools that draw or measure graphs."""

from __future__ import annotations

import json
from math import exp
from typing import TYPE_CHECKING, Any

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.labels import NO_ID, label_of
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import UNKNOWN_ID, Round

if TYPE_CHECKING:
    import networkx

    Graph = networkx.DiGraph[str]

NAMES = {ROOT: "root", BONUS: "bonus", NEAR_MISS: "near-miss"}
"""Of the places that are no draft node; draft nodes are called ``0``, ``1``, ..."""


def tree_graph(round_: Round, vocabulary: SeenVocabulary) -> Graph:
    """The tree with an edge from each parent to its child, all attributes plain numbers and text.

    Nodes have ``token_id``, ``text`` (control characters made visible), ``bytes`` (hex), ``state`` and
    ``depth``; draft nodes also the drafter's ``logprob`` and ``rank``, and ``path_probability``; the root and
    draft nodes ``target_id``, ``target_text``, ``target_logprob`` and ``target_gap``: what the target chose
    behind them. What an imported round does not say is absent.
    """
    import networkx

    shape = DraftShape.of(round_)
    graph: Graph = networkx.DiGraph(round=round_.index, mode=round_.mode)
    if round_.budget or not round_.nodes.ids:
        graph.graph["budget"] = round_.budget
    if round_.position >= 0:
        graph.graph["position"] = round_.position

    def add(place: int, token_id: int, **more: Any) -> str:
        name = NAMES.get(place, str(place))
        graph.add_node(
            name,
            **_token(token_id, vocabulary),
            state=shape.state(place).value,
            depth=shape.depth(place),
            **more,
        )
        return name

    add(ROOT, round_.root_id, **_verdict(round_, 0, vocabulary))
    nodes = round_.nodes
    for node, token_id in enumerate(nodes.ids):
        name = add(
            node,
            token_id,
            **_drafted(shape, node),
            **_verdict(round_, node + 1, vocabulary),
        )
        parent = nodes.parents[node]
        graph.add_edge(NAMES.get(parent, str(parent)), name)
    end = NAMES.get(shape.end, str(shape.end))
    for place in shape.extras(shape.end):
        assert round_.bonus_id is not None
        more = {}
        if place == NEAR_MISS and round_.miss is not None:
            more = {"logprob": round_.miss.logprob, "rank": round_.miss.rank}
        graph.add_edge(end, add(place, round_.bonus_id, **more))
    return graph


def _drafted(shape: DraftShape, node: int) -> dict[str, Any]:
    nodes, said = shape.round.nodes, dict[str, Any]()
    if nodes.logprobs:
        said |= {"logprob": nodes.logprobs[node], "path_probability": exp(shape.weights[node])}
    if nodes.ranks:
        said["rank"] = nodes.ranks[node]
    return said


def graphml(graph: Graph) -> str:
    """The graph as GraphML, an XML document."""
    import networkx

    lines = networkx.generate_graphml(graph)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n"


def node_link(graph: Graph) -> str:
    """The graph as networkx's node-link JSON: ``nodes`` and ``edges``."""
    import networkx

    return json.dumps(networkx.node_link_data(graph, edges="edges"), ensure_ascii=False, indent=1) + "\n"


def _token(token_id: int, vocabulary: SeenVocabulary) -> dict[str, Any]:
    if token_id == UNKNOWN_ID:
        return {"text": NO_ID}
    raw = vocabulary.token_bytes(token_id)
    return {"token_id": token_id, "text": label_of(vocabulary, token_id), "bytes": raw.hex()}


def _verdict(round_: Round, row: int, vocabulary: SeenVocabulary) -> dict[str, Any]:
    target = round_.target
    if row >= len(target.ids) or target.ids[row] == UNKNOWN_ID:
        return {}
    chosen = _token(target.ids[row], vocabulary)
    verdict = {"target_id": chosen["token_id"], "target_text": chosen["text"]}
    if target.logprobs:
        verdict["target_logprob"] = target.logprobs[row]
    if target.gaps:
        verdict["target_gap"] = target.gaps[row]
    return verdict

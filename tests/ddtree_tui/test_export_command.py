"""What runs and rounds are exported as, from the awkward vocabulary of the synthetic recordings."""

from __future__ import annotations

import io
import json
import os
import re
import threading
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import networkx
import pytest
from make_recording import VOCABULARY, Recording, conversation, loaded

from ddtree_tui import cli
from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.export.formats import FORMATS, exported_round, write_new
from ddtree_tui.export.graph import graphml, node_link, tree_graph
from ddtree_tui.export.run_events import run_events
from ddtree_tui.export.tree_svg import tree_svg
from ddtree_tui.session import Session
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import AnyEvent, Finished, Loaded, Prefilled, Round, Tokens
from engine.recording import Announced, RunWriter
from engine.settings import DecodeSettings
from engine.trace import read_trace


def session_of(events: list[AnyEvent]) -> Session:
    session = Session()
    for event in events:
        session.apply(event)
    return session


@pytest.fixture(scope="module")
def session() -> Session:
    return session_of(conversation(1, rounds=60))


def plain(path: Path, events: list[AnyEvent]) -> Path:
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    return path


def in_blocks(path: Path, events: list[AnyEvent]) -> Path:
    announced = Announced()
    loaded = next(event for event in events if isinstance(event, Loaded))
    for event in events:
        if isinstance(event, Tokens):
            announced.learn(event)
    writer = RunWriter(path, loaded, announced)
    for event in events[[isinstance(event, Prefilled) for event in events].index(True) :]:
        writer.write(event)
    writer.close()
    return path


def exported(capsysbinary: pytest.CaptureFixture[bytes], *arguments: object) -> bytes:
    assert cli.main(["export", *map(str, arguments)]) == 0
    return capsysbinary.readouterr().out


def test_every_drawing_is_well_formed_and_shows_every_token(session: Session) -> None:
    for answer_round in session.answers[0].rounds:
        svg = tree_svg(answer_round, session.labels)
        root = ElementTree.fromstring(svg)
        texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
        for token in (answer_round.root_id, *answer_round.nodes.ids):
            assert session.labels(token)[0] in texts
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\u200b]", svg)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            right = float(text.attrib["x"]) + float(text.attrib.get("textLength", 0))
            assert 0 < right <= width
            assert 0 < float(text.attrib["y"]) < height
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_a_graph_has_the_tree_and_all_its_numbers(session: Session) -> None:
    for round_ in session.answers[0].rounds[:10]:
        graph = tree_graph(round_, session.vocabulary)
        shape = DraftShape.of(round_)
        assert networkx.is_arborescence(graph)
        assert graph.number_of_nodes() == 1 + len(round_.nodes.ids) + len(shape.extras(shape.end))
        for node, token_id in enumerate(round_.nodes.ids):
            attributes = graph.nodes[str(node)]
            assert attributes["token_id"] == token_id
            assert attributes["state"] == shape.states[node].value
            assert attributes["rank"] == round_.nodes.ranks[node]
            assert bytes.fromhex(attributes["bytes"]) == session.vocabulary.token_bytes(token_id)
            parent = round_.nodes.parents[node]
            assert list(graph.predecessors(str(node))) == ["root" if parent < 0 else str(parent)]
            assert attributes["target_id"] == round_.target.ids[node + 1]


def test_graphs_are_read_back_by_networkx(session: Session) -> None:
    for round_ in session.answers[0].rounds:
        graph = tree_graph(round_, session.vocabulary)
        again = networkx.read_graphml(io.BytesIO(graphml(graph).encode()))
        assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
        assert set(again.edges) == set(graph.edges)
        linked = networkx.node_link_graph(json.loads(node_link(graph)), edges="edges")
        assert dict(linked.nodes(data=True)) == dict(graph.nodes(data=True))
        assert set(linked.edges) == set(graph.edges)


def test_a_run_exported_as_a_trace_is_the_same_run(session: Session) -> None:
    again = session_of(list(run_events(session.answers[0])))
    ours, theirs = again.answers[0], session.answers[0]
    assert list(ours.rounds) == list(theirs.rounds)
    assert (ours.prefilled, ours.finished, again.loaded) == (
        theirs.prefilled,
        theirs.finished,
        session.loaded,
    )
    for round_ in theirs.rounds:
        for token in (*round_.nodes.ids, *round_.target.ids, *round_.committed_ids):
            assert again.vocabulary.token_bytes(token) == session.vocabulary.token_bytes(token)
            assert again.labels(token) == session.labels(token)
    assert again.vocabulary.special_ids <= session.vocabulary.special_ids
    assert (ours.text.answer, ours.text.thinking) == (theirs.text.answer, theirs.text.thinking)  # type: ignore[union-attr]


@pytest.mark.parametrize("format_", [kind for kind in FORMATS if kind.of_round], ids=lambda kind: kind.name)
def test_a_round_from_either_kind_of_file(
    format_: object, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    events = conversation(2, rounds=50)
    session = session_of(events)
    for path in (plain(tmp_path / "plain", events), in_blocks(tmp_path / "blocks", events)):
        for number in (1, 33, 50):
            expected = b"".join(
                exported_round(format_.name, session.vocabulary, session.rounds[number - 1][1])
            )  # type: ignore[attr-defined]
            assert exported(capsysbinary, path, f"--{format_.name}", number) == expected  # type: ignore[attr-defined]


def test_a_round_from_a_pipe(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Of which nothing can be read twice."""
    file = plain(tmp_path / "plain", conversation(2, rounds=5))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(file.read_bytes(),), daemon=True).start()
    assert exported(capsysbinary, pipe, "--json", 2) == exported(capsysbinary, file, "--json", 2)


def test_a_round_is_spelled_as_the_target_it_is_of_spells_it(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    events = conversation(1, rounds=2)
    answer = [event for event in events if isinstance(event, Prefilled | Round | Finished)]
    alone = exported(capsysbinary, plain(tmp_path / "alone", events), "--json", 1)
    other = msgspec.structs.replace(loaded(), target=msgspec.structs.replace(loaded().target, path="other"))
    spelled = Tokens(pieces={str(number): "elsewhere" for number in range(len(VOCABULARY))})
    both = plain(tmp_path / "both", [*events, other, spelled, *answer])
    assert exported(capsysbinary, both, "--json", 1) == alone
    assert b"elsewhere" in exported(capsysbinary, both, "--json", 3)


def test_a_recording_becomes_a_plain_trace(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    events = conversation(2, rounds=50)
    path = in_blocks(tmp_path / "blocks", events)
    again = tmp_path / "again.jsonl"
    again.write_bytes(exported(capsysbinary, path, "--jsonl"))
    kept = [event for event in events if not isinstance(event, Tokens)][-52:]
    assert [event for event in read_trace(again).events if not isinstance(event, Tokens)][-52:] == kept


def test_one_of_several_answers(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    recording = Recording(0)
    events = [*recording.start(), *recording.answer("alpha", rounds=3), *recording.answer("omega", rounds=4)]
    path = plain(tmp_path / "trace", events)
    assert b"alpha" in exported(capsysbinary, path, "--jsonl", "--answer", 1)
    last = exported(capsysbinary, path, "--jsonl")
    assert b"omega" in last
    assert b"alpha" not in last
    fifth = exported(capsysbinary, path, "--svg", 5)
    assert fifth == tree_svg(session_of(events).rounds[4][1], session_of(events).labels).encode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--svg", "0"], "There is no round 0: the trace has rounds 1 to 5."),
        (["--json", "6"], "There is no round 6"),
        (["--html", "--answer", "0"], "There is no answer 0: the trace has answers 1 to 1."),
        (["--jsonl", "--answer", "0"], "There is no answer 0"),
        (["--html", "--answer", "2"], "There is no answer 2: the trace has answers 1 to 1."),
        (["--svg", "x"], "The round cannot be 'x'."),
        (["--svg"], "The option --svg needs a value."),
        ([], "It is not said what to export. Add one of --html, --jsonl, --svg, --graphml, --json."),
        (["--html", "--jsonl"], "exclude each other"),
    ],
)
@pytest.mark.parametrize("kind", [plain, in_blocks])
def test_what_cannot_be_exported_is_said(
    kind: object, arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kind(tmp_path / "run", conversation(0, rounds=5))  # type: ignore[operator]
    assert cli.main(["export", str(path), *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"", b"\x1f\x8bxx", b"rubbish"])
def test_what_is_no_trace_ends_with_code_4(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    if content is not None:
        path.write_bytes(content)
    for arguments in (["--svg", "1"], ["--html"]):
        assert cli.main(["export", str(path), *arguments]) == 4
        assert capsys.readouterr().err.count("\n") == 1


def test_a_file_is_never_overwritten_and_never_left_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plain(tmp_path / "run", conversation(0, rounds=5))
    out = tmp_path / "out.svg"
    assert cli.main(["export", str(path), "--svg", "1", "-o", str(out)]) == 0
    before = out.read_bytes()
    assert cli.main(["export", str(path), "--svg", "2", "-o", str(out)]) == 4
    assert "exists already" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert cli.main(["export", str(path), "--svg", "2", "-o", str(tmp_path / "no" / "x")]) == 4

    def pieces() -> object:
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(EngineError, match="No space left"):
        write_new(tmp_path / "half", pieces())  # type: ignore[arg-type]
    assert not (tmp_path / "half").exists()


def test_a_run_of_ar_has_a_tree_of_the_root_and_the_bonus() -> None:
    answer = Recording(0).answer("x", rounds=3, settings=DecodeSettings(mode="ar"))
    session = session_of([*Recording(0).start(), *answer])
    for round_ in session.answers[0].rounds:
        assert isinstance(round_, Round)
        assert tree_graph(round_, session.vocabulary).number_of_nodes() == 2
        ElementTree.fromstring(tree_svg(round_, session.labels))

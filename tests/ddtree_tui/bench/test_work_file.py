from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made import CHAIN, measurement
from scripted_worker import Script

from ddtree_tui.bench.configuration import Condition
from ddtree_tui.bench.measurement import Failure, key
from ddtree_tui.bench.work_file import FloorLine, Session, WorkFile, work_path
from engine.errors import EngineError
from engine.events import Floor
from engine.settings import DecodeSettings, LoadSettings

LOADED = Script("").loaded()
SESSION = Session(load=LoadSettings(), decode=DecodeSettings(seed=3), loaded=LOADED)
RESULTS = [
    measurement("a"),
    measurement("a", CHAIN, lengths=[2], condition=Condition(thinking=True, temperature=0.8)),
    Failure(
        prompt="b", source="s", number=1, condition=Condition(), way=CHAIN, error="not_finite", message="\n|"
    ),
]


def test_everything_is_read_back(tmp_path):
    path = tmp_path / "w"
    with WorkFile(path) as work:
        work.begin(SESSION)
        for result in RESULTS:
            work.add(result)
        work.add(FloorLine(floor=Floor(bytes_per_second=1.5, target_bytes=2, drafter_bytes=3)))
    with WorkFile(path) as work:
        assert work.sessions == [SESSION]
        assert work.results == {key(result): result for result in RESULTS}
        assert work.measurements == RESULTS[:2]
        assert work.failures == RESULTS[2:]
        assert work.floor is not None
        assert work.floor.bytes_per_second == 1.5
        work.begin(SESSION)
    with WorkFile(path) as work:
        assert len(work.sessions) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_keeps_its_whole_lines_and_goes_on(tmp_path, data):
    path = tmp_path / "w"
    lines = [msgspec.json.encode(line) + b"\n" for line in (SESSION, *RESULTS)]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    with WorkFile(path) as work:
        assert len(work.sessions) + len(work.results) == kept
        work.begin(SESSION)
    if kept:
        assert path.read_bytes() == b"".join([*lines[:kept], lines[0]])


def test_other_settings_or_surroundings_are_refused(tmp_path):
    path = tmp_path / "w"
    with WorkFile(path) as work:
        work.begin(SESSION)
        work.check(SESSION.load, SESSION.decode)
        # What differs between answers anyway is no obstacle.
        work.check(SESSION.load, msgspec.structs.replace(SESSION.decode, mode="ar", thinking=True))
        for change, words in [
            ({"seed": 4}, r"another seed \(3, now 4\)"),
            ({"max_new_tokens": 9}, "max-new-tokens"),
            ({"verify": "naive"}, "another verify"),
            ({"top_p": 0.5}, "another top-p"),
        ]:
            with pytest.raises(EngineError, match=words):
                work.check(SESSION.load, msgspec.structs.replace(SESSION.decode, **change))
        with pytest.raises(EngineError, match="another model"):
            work.check(LoadSettings(model="x"), SESSION.decode)
        for change, words in [
            ({"device": "cuda:0 (GPU)"}, "another device"),
            ({"drafter": None}, "another drafter"),
            ({"versions": {"torch": "1"}}, "another version of torch"),
        ]:
            loaded = msgspec.structs.replace(LOADED, **change)
            with pytest.raises(EngineError, match=words):
                work.begin(msgspec.structs.replace(SESSION, loaded=loaded))
        assert len(work.sessions) == 1


def test_two_benchmarks_do_not_share_a_file(tmp_path):
    with WorkFile(tmp_path / "w") as work:
        work.begin(SESSION)
        with pytest.raises(EngineError, match="Another benchmark"):
            WorkFile(tmp_path / "w")


def test_a_file_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "w"
    path.write_bytes(b"dear diary\n")
    with pytest.raises(EngineError, match="Line 1"):
        WorkFile(path)
    assert path.read_bytes() == b"dear diary\n"
    with pytest.raises(EngineError, match="cannot be written"):
        WorkFile(tmp_path / "no" / "w")


def test_nothing_measured_leaves_no_file(tmp_path):
    with WorkFile(tmp_path / "w"):
        pass
    assert not (tmp_path / "w").exists()
    assert work_path(tmp_path / "r.json") == tmp_path / "r.json.work.jsonl"


def test_without_a_path_it_is_kept_in_memory():
    with WorkFile(None) as work:
        work.begin(SESSION)
        work.add(RESULTS[0])
        assert work.measurements == RESULTS[:1]
        work.remove()

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddtree_tui.bench.prompts import DEMO_SOURCE, Prompt, demo_prompts, read_prompts
from engine.errors import EngineError

ROWS = {
    "humaneval": {"task_id": "HumanEval/0", "prompt": "def f():\n", "test": "", "canonical_solution": "x"},
    "gsm8k": {"question": "How many?", "answer": "#### 18"},
    "math500": {"problem": "Find $x$.", "solution": "1", "answer": "1", "subject": "Algebra"},
    "mbpp": {"task_id": 2, "prompt": "Write a function.", "code": "", "test_list": []},
    "mbpp_first": {"task_id": 2, "text": "Write a function.", "code": ""},
}


def user(content: str) -> list[dict]:
    return [{"role": "user", "content": content}]


def read(path: Path, limit: int = 0, wrap: str | None = None) -> list[Prompt]:
    return read_prompts([path], limit, wrap, "m")


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("humaneval", "prompt"),
        ("gsm8k", "question"),
        ("math500", "problem"),
        ("mbpp", "prompt"),
        ("mbpp_first", "text"),
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_the_usual_sets_are_known_by_their_fields(tmp_path, name, field, as_list):
    row = ROWS[name]
    path = tmp_path / f"{name}.jsonl"
    write(path, row, row) if not as_list else path.write_text(json.dumps([row, row], indent=4))
    prompts = read(path)
    assert [prompt.messages for prompt in prompts] == [user(row[field])] * 2
    assert [(prompt.source, prompt.number) for prompt in prompts] == [(name, 0), (name, 1)]


def test_conversations_and_text_files(tmp_path):
    messages = [{"role": "system", "content": "Be brief."}, *user("你\u2028?")]
    path = write(tmp_path / "chats.jsonl", {"messages": messages})
    assert [prompt.turns(True) for prompt in read(path, wrap="no {prompt}")] == [messages]
    text = tmp_path / "one.txt"
    text.write_text("  Two\nlines \n", encoding="utf-8-sig")
    assert read(text)[0].messages == user("Two\nlines")


def test_a_prompt_can_be_wrapped(tmp_path):
    path = write(tmp_path / "a.jsonl", {"prompt": "x {y} {prompt}"})
    assert read(path, wrap="Do: {prompt}!")[0].messages == user("Do: x {y} {prompt}!")


def test_the_limit_is_of_each_file_and_spares_what_comes_after(tmp_path):
    one = write(tmp_path / "one.jsonl", *[{"prompt": str(number)} for number in range(5)], "no object")
    (tmp_path / "sub").mkdir()
    other = write(tmp_path / "sub" / "one.jsonl", {"prompt": "z"})
    prompts = read_prompts([one, other], 2, None, "m")
    assert [prompt.messages[0]["content"] for prompt in prompts] == ["0", "1", "z"]
    assert [prompt.source for prompt in prompts] == [str(one), str(one), str(other)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no prompts"),
        (b"\n \n", "holds no prompts"),
        (b"[]", "holds no prompts"),
        (b'{"prompt": "x"}\n{"prompt"', "line 2, is no JSON"),
        (b'["x"]', "entry 1, is no JSON object"),
        (b'{"answer": "x"}', "line 1, has no prompt"),
        (b'{"prompt": 5}', "has no prompt"),
        (b'{"prompt": " "}', "empty prompt"),
        (b'{"messages": []}', "empty prompt"),
        (b'{"messages": [{"role": "robot", "content": "x"}]}', "messages that are none"),
        (b'{"prompt": "\\ud800"}', "file.jsonl, line 1"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "is no JSON"),
    ],
)
def test_a_file_that_is_something_else_is_answered_by_a_sentence(tmp_path, content, words):
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    with pytest.raises(EngineError) as caught:
        read(path)
    assert caught.value.kind == "prompt_file"
    assert words in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_missing_or_a_folder(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(EngineError, match="cannot be read"):
            read(path)


def test_the_demo_has_questions_of_its_own_and_other_models_have_not():
    prompts = read_prompts([], 30, None, "demo")
    assert prompts == demo_prompts(30)
    assert len({prompt.digest for prompt in prompts}) == 30
    assert {prompt.source for prompt in prompts} == {DEMO_SOURCE}
    with_history = [prompt for prompt in demo_prompts(200) if len(prompt.messages) > 1]
    assert with_history
    for prompt in with_history:
        thought = [turn for turn in prompt.turns(True) if "reasoning_content" in turn]
        assert thought
        assert not any("reasoning_content" in turn for turn in prompt.turns(False))
    with pytest.raises(EngineError, match="no prompts to measure with"):
        read_prompts([], 0, None, "qwen3-4b")


def test_the_published_files_where_the_developer_has_them():
    import os

    place = os.environ.get("DDTREE_SHARED")
    folder = (Path(place) if place else Path(__file__).resolve().parents[4] / "shared") / "data" / "prompts"
    if not folder.is_dir():
        pytest.skip("no shared data (set DDTREE_SHARED)")
    counts = {"gsm8k_test.jsonl": 1319, "humaneval.jsonl": 164, "math500_test.jsonl": 500}
    for name, count in {**counts, "mbpp_sanitized.json": 427}.items():
        prompts = read(folder / name)
        assert len(prompts) == count
        assert all(len(prompt.messages) == 1 for prompt in prompts)

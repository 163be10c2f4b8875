"""What callers beside the command line ask of a prompt file: a field of their own, a prompt each line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.prompt_file import read_prompt_file

ROW = {
    "question": "How many?",
    "instruction": "Count them.",
    "messages": [{"role": "user", "content": "Talk."}],
    "number": 3,
}


def contents(path: Path, **options: object) -> list[str]:
    return [messages[-1]["content"] for messages in read_prompt_file(path, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "content"),
    [(None, "Talk."), ("messages", "Talk."), ("question", "How many?"), ("instruction", "Count them.")],
)
def test_a_field_goes_before_what_is_looked_for(tmp_path: Path, field: str | None, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    assert contents(path, field=field) == [content]


@pytest.mark.parametrize("field", ["number", "nothing"])
def test_a_field_that_holds_no_text_is_named(tmp_path: Path, field: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW | {field: 'first'})}\n{json.dumps(ROW)}\n")
    with pytest.raises(EngineError, match=f"line 2, has no text {field}"):
        read_prompt_file(path, field=field)
    assert contents(path, field=field, limit=1) == ["first"]


def test_a_text_file_is_one_prompt_or_one_each_line(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("\n  First line\nSecond\u2028line  \n\n\nThird\r\n")
    assert contents(path) == ["First line\nSecond\u2028line  \n\n\nThird"]
    assert contents(path, lines=True) == ["First line", "Second\u2028line", "Third"]
    assert contents(path, lines=True, limit=2) == ["First line", "Second\u2028line"]
    assert contents(path, lines=True, field="question", wrap="<{prompt}>") == [
        "<First line>",
        "<Second\u2028line>",
        "<Third>",
    ]


def test_lines_change_nothing_for_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([ROW, ROW], indent=1))
    assert contents(path, lines=True, field="question") == ["How many?", "How many?"]


def test_a_text_file_of_empty_lines_holds_no_prompts(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n \n")
    with pytest.raises(EngineError, match="no prompts"):
        read_prompt_file(path, lines=True)

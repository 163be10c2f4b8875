"""The exact prompt: every token of it, in every view and width."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from make_recording import IM_END, THINK, VOCABULARY, token_id
from rich.cells import cell_len
from test_answers_and_rounds import full_vocabulary, prefilled

from ddtree_tui.escape import decode_bytes, escape
from ddtree_tui.prompt_lines import PROMPT_VIEWS, prompt_lines
from ddtree_tui.vocabulary import SeenVocabulary

FULL = full_vocabulary()


@given(
    st.lists(st.integers(0, len(VOCABULARY) - 1), max_size=40),
    st.sampled_from(PROMPT_VIEWS),
    st.integers(2, 60),
)
def test_nothing_is_left_out_and_control_tokens_stand_out(ids: list[int], view: str, width: int) -> None:
    event = msgspec.structs.replace(prefilled(1), prompt_ids=ids)
    lines = prompt_lines(event, FULL, width, view)  # type: ignore[arg-type]
    for line in lines:
        assert cell_len("".join(text for text, _ in line).rstrip()) <= width
    shown = "".join(text for line in lines for text, _ in line)
    if view == "ids":
        assert "".join(shown.split()) == "".join(map(str, ids))
    special = "".join(text for line in lines for text, kind in line if kind == "special")
    names = [str(i) if view == "ids" else VOCABULARY[i].decode() for i in ids if i in FULL.special_ids]
    assert "".join(special.split()) == "".join(names)


def test_as_text_it_reads_as_it_was_given() -> None:
    ids = [IM_END, token_id(" A"), token_id(" draft"), token_id("\n"), token_id(" tree"), THINK]
    event = msgspec.structs.replace(prefilled(1), prompt_ids=ids)
    assert prompt_lines(event, FULL, 40, "text") == [
        [("<|im_end|>", "special"), (" A draft↵", "text")],
        [(" tree", "text"), ("<think>", "special")],
    ]
    assert prompt_lines(event, FULL, 40, "tokens")[1] == [("␣tree ", "text"), ("<think> ", "special")]


def test_without_a_vocabulary_it_is_the_text_of_the_template() -> None:
    event = msgspec.structs.replace(prefilled(1), prompt_text="<s>\x1b[0m\nhello", prompt_ids=[1, 2])
    lines = prompt_lines(event, SeenVocabulary(), 40, "text")
    assert lines == [[("<s>␛[0m↵", "text")], [("hello", "text")]]
    assert prompt_lines(event, SeenVocabulary(), 40, "tokens") == [[("#1 ", "text"), ("#2 ", "text")]]


def test_awkward_bytes_are_shown_as_hex() -> None:
    ids = [token_id("界".encode()[:2])]
    event = msgspec.structs.replace(prefilled(1), prompt_ids=ids)
    assert prompt_lines(event, FULL, 40, "text") == [[(escape(decode_bytes(VOCABULARY[ids[0]])), "text")]]

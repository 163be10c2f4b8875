from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_folders import MASK_ID, TEMPLATE, VOCAB_SIZE, write_tokenizer

from engine.codec import Codec
from engine.errors import EngineError
from engine.settings import Message
from engine.text_stream import TextStream

EditJson = Callable[..., None]

QUESTION: list[Message] = [{"role": "user", "content": "What is 12 + 30?"}]
CONVERSATION: list[Message] = [
    {"role": "system", "content": "Be brief.\n"},
    {"role": "user", "content": "  Zwölf? 日本語 🤖  "},
    {"role": "assistant", "content": "<b>12</b>", "reasoning_content": "Zwölf is\n\ntwelve."},
    {"role": "user", "content": 'Write {"a": [1, 2]} as YAML.'},
    {"role": "assistant", "content": "a:\n- 1\n- 2\n"},
    {"role": "user", "content": "Thanks </think> <|im_end|>\n"},
]


@pytest.fixture(scope="module")
def codec(tiny_pair_folder: Path) -> Codec:
    return Codec.from_folder(tiny_pair_folder / "target", vocab_size=VOCAB_SIZE)


def tokenizer_folder(folder: Path, shared: Path, name: str, template: Path | None = None) -> Path:
    """A copy of a real tokenizer, unpacked."""
    shutil.copytree(shared / "tokenizers" / name, folder)
    for packed in folder.glob("*.gz"):
        folder.chmod(0o755)
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    if template is not None:
        (folder / "chat_template.jinja").unlink()
        shutil.copyfile(template, folder / "chat_template.jinja")
    return folder


@pytest.fixture(scope="module")
def qwen(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tokenizer_folder(tmp_path_factory.mktemp("qwen") / "t", shared_data, "qwen3_5")


# -- the chat template, against transformers' own -----------------------------------------------------------


@lru_cache(maxsize=1)
def reference_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def assert_as_transformers(codec: Codec, folder: Path, messages: list[Message], thinking: bool) -> None:
    reference = reference_tokenizer(folder)
    kwargs: dict[str, Any] = {"add_generation_prompt": True, "enable_thinking": thinking}
    encoded = codec.encode_chat(messages, thinking)
    assert encoded.text == reference.apply_chat_template(messages, tokenize=False, **kwargs)
    ids = reference.apply_chat_template(messages, tokenize=True, return_dict=False, **kwargs)
    assert encoded.ids == ids


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("messages", [QUESTION, CONVERSATION])
def test_as_transformers_on_the_tiny_template(
    codec: Codec, tiny_pair_folder: Path, messages: list[Message], thinking: bool
) -> None:
    assert_as_transformers(codec, tiny_pair_folder / "target", messages, thinking)


# The template has two versions: 0.8B and 2B do not think by default, the larger ones do.
@pytest.mark.parametrize("size", ["2B", "27B"])
def test_as_transformers_on_the_real_templates(
    shared_data: Path, qwen: Path, tmp_path: Path, size: str
) -> None:
    folder = tmp_path / size
    shutil.copytree(qwen, folder)
    shutil.copyfile(
        shared_data / "templates" / "qwen3.5" / "upstream" / f"{size}.jinja", folder / "chat_template.jinja"
    )
    codec = Codec.from_folder(folder)
    assert codec.supports_thinking
    for thinking in (False, True):
        for messages in (QUESTION, CONVERSATION):
            assert_as_transformers(codec, folder, messages, thinking)
        encoded = codec.encode_chat(QUESTION, thinking)
        # The default differs between the sizes: a real bool must decide, in both directions.
        assert encoded.in_thinking is thinking
        assert encoded.text.endswith("<think>\n" if thinking else "<think>\n\n</think>\n\n")


@pytest.mark.parametrize("name", ["qwen3", "smollm2"])
def test_as_transformers_on_other_real_tokenizers(shared_data: Path, tmp_path: Path, name: str) -> None:
    folder = tokenizer_folder(tmp_path / "t", shared_data, name)
    codec = Codec.from_folder(folder)
    for messages in (QUESTION, CONVERSATION):
        assert_as_transformers(codec, folder, messages, False)
    if codec.supports_thinking:
        assert_as_transformers(codec, folder, CONVERSATION, True)


TRICKY = """\
{# transformers' additions to jinja #}
    {% set ns = namespace(turns=0) %}
{% for message in messages %}
    {% if message.role == 'tool' %}{% continue %}{% endif %}
    {% if message.role == 'assistant' %}
        {% generation %}A: {{ message.content }}{% endgeneration %}<|im_end|>
    {% else %}
Q{{ ns.turns }}: {{ message | tojson }}{{ {'ä': '<&>'} | tojson(indent=1) }}
    {% endif %}
    {% set ns.turns = ns.turns + 1 %}
{% endfor %}
{{ strftime_now('%Y') }} {{ eos_token }}
{%- if enable_thinking is true %}T{% elif enable_thinking is false %}F{% else %}?{% endif %}
{% if add_generation_prompt %}A: {% endif %}
"""


def test_as_transformers_on_everything_it_adds_to_jinja(tiny_pair_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(TRICKY, encoding="utf-8")
    codec = Codec.from_folder(folder)
    for thinking in (False, True):
        assert_as_transformers(codec, folder, CONVERSATION, thinking)
        assert f"<|im_end|>{'T' if thinking else 'F'}A: " in codec.encode_chat(CONVERSATION, thinking).text


def test_what_the_template_refuses_is_said_in_its_words(tiny_pair_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(
        "{{ raise_exception('Roles must alternate.') }}", encoding="utf-8"
    )
    codec = Codec.from_folder(folder)
    assert not codec.supports_thinking
    with pytest.raises(EngineError, match=r"Roles must alternate\.") as refused:
        codec.encode_chat(QUESTION)
    assert refused.value.kind == "template_refused"


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ("{% for message in %}", "bad_template"),
        ("{{ 1 / 0 }}", "template_refused"),
        ("{{ messages[7].content }}", "template_refused"),
        ("{{ range(10 ** 9) | length }}", "template_refused"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "template_refused"),
        ("{# renders nothing #}", "empty_prompt"),
    ],
)
def test_a_template_may_fail_in_any_way(
    tiny_pair_folder: Path, tmp_path: Path, template: str, kind: str
) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(folder).encode_chat(QUESTION)
    assert refused.value.kind == kind
    assert refused.value.message.endswith(".")


def test_a_template_cannot_reach_the_interpreter(tiny_pair_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(
        "{{ messages.__class__.__base__.__subclasses__() }}", encoding="utf-8"
    )
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(folder).encode_chat(QUESTION)
    assert refused.value.kind == "template_refused"


def test_the_bos_token_is_not_doubled(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, processors

    write_tokenizer(tmp_path, template="{{ bos_token }}" + TEMPLATE)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    bos = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", bos)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"bos_token": "<|endoftext|>"}))
    ids = Codec.from_folder(tmp_path).encode_chat(QUESTION).ids
    assert ids[0] == bos
    assert ids.count(bos) == 1

    (tmp_path / "chat_template.jinja").unlink()
    base = Codec.from_folder(tmp_path).encode_chat(QUESTION)
    assert base.ids[0] == bos
    assert base.ids.count(bos) == 1


# -- what a prompt knows of itself --------------------------------------------------------------------------


@pytest.mark.parametrize("thinking", [False, True])
def test_stable_is_where_the_next_turn_still_agrees(codec: Codec, thinking: bool) -> None:
    encoded = codec.encode_chat(QUESTION, thinking)
    assert 0 < encoded.stable < len(encoded.ids)
    assert codec.decode_bytes(encoded.ids[encoded.stable :]).startswith(b"<|im_start|>assistant")
    answer: list[Message] = [{"role": "assistant", "content": "42"}, {"role": "user", "content": "Why?"}]
    following = codec.encode_chat([*QUESTION, *answer], thinking)
    assert following.ids[: encoded.stable] == encoded.ids[: encoded.stable]


def test_stable_is_0_when_the_template_renders_something_else(tiny_pair_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(
        "{{ 'generate: ' if add_generation_prompt else 'history: ' }}{{ messages[0].content }}",
        encoding="utf-8",
    )
    assert Codec.from_folder(folder).encode_chat(QUESTION).stable == 0


def test_tags_in_words_that_a_template_moves_do_not_open_the_block(
    tiny_pair_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_pair_folder / "target", tmp_path / "t"))
    (folder / "chat_template.jinja").write_text(
        "{{ 'generate: ' if add_generation_prompt else 'history: ' }}{{ messages[0].content | trim }}"
        "{{ '<think>' if enable_thinking and add_generation_prompt }}",
        encoding="utf-8",
    )
    codec = Codec.from_folder(folder)
    asked: list[Message] = [{"role": "user", "content": "What does <think> do?\n"}]
    assert not codec.encode_chat(asked).in_thinking
    assert codec.encode_chat(asked, thinking=True).in_thinking


def test_tags_in_the_user_s_words_do_not_open_the_block(codec: Codec) -> None:
    asked: list[Message] = [{"role": "user", "content": "What does <think> do?"}]
    assert not codec.encode_chat(asked, thinking=False).in_thinking
    assert codec.encode_chat(asked, thinking=True).in_thinking


def test_a_base_model_gets_the_last_message_as_it_is(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, template=None)
    codec = Codec.from_folder(tmp_path)
    encoded = codec.encode_chat(CONVERSATION)
    assert encoded.text == CONVERSATION[-1]["content"]
    assert codec.decode_bytes(encoded.ids) == encoded.text.encode()
    assert not codec.has_template
    assert not codec.supports_thinking
    assert encoded.stable == len(encoded.ids)


def test_thinking_is_refused_where_the_template_has_none(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, template="{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(tmp_path).encode_chat(QUESTION, thinking=True)
    assert refused.value.kind == "thinking_unsupported"


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([], "empty_prompt"),
        ([{"role": "user", "content": " \n"}], "empty_prompt"),
        ([{"role": "system", "content": "Be brief."}], "empty_prompt"),
        ([{"role": "user", "content": "half \ud83d"}], "bad_prompt"),
        ([{"role": "user"}], "bad_prompt"),
        (["What is 2 + 2?"], "bad_prompt"),
        ([None], "bad_prompt"),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "bad_prompt"),
    ],
)
def test_prompts_that_cannot_be_answered(codec: Codec, messages: list[Message], kind: str) -> None:
    with pytest.raises(EngineError) as refused:
        codec.encode_chat(messages)
    assert refused.value.kind == kind


@pytest.mark.parametrize("thinking", ["false", "", 0, None])
def test_thinking_is_a_bool_and_nothing_else(codec: Codec, thinking: Any) -> None:
    with pytest.raises(EngineError) as refused:
        codec.encode_chat(QUESTION, thinking)
    assert refused.value.kind == "bad_setting"


# -- ids and bytes ------------------------------------------------------------------------------------------


@given(text=st.text())
def test_ids_spell_the_text_they_were_made_from(codec: Codec, text: str) -> None:
    ids = codec._encode(text)
    assert codec.decode_bytes(ids) == text.encode()


@given(ids=st.lists(st.integers(0, VOCAB_SIZE - 1), max_size=30))
def test_every_id_of_the_embedding_has_bytes_and_a_piece(codec: Codec, ids: list[int]) -> None:
    event = codec.tokens_event(ids)
    assert set(event.pieces) == {str(token_id) for token_id in ids}
    for token_id in ids:
        data = codec.token_bytes(token_id)
        assert data
        spelled = bytes.fromhex(event.raw[str(token_id)]) if str(token_id) in event.raw else None
        assert (spelled or event.pieces[str(token_id)].encode()) == data
    assert set(event.special) == set(ids) & codec.special_ids


def test_padding_of_the_embedding_is_visible_text(codec: Codec) -> None:
    assert codec.entries < MASK_ID < codec.vocab_size
    assert codec.token_bytes(MASK_ID).decode() == f"⟨id {MASK_ID}⟩"
    stream = TextStream(codec)
    stream.push(MASK_ID)
    assert stream.text == f"⟨id {MASK_ID}⟩"


def test_raw_bytes_are_told_where_a_piece_is_no_text(codec: Codec) -> None:
    ids = [i for i in codec._encode("🤖") if len(codec.token_bytes(i)) < 4]
    assert ids
    event = codec.tokens_event(ids)
    assert {bytes.fromhex(event.raw[str(i)]) for i in ids} == {codec.token_bytes(i) for i in ids}


@given(text=st.text(max_size=40))
def test_a_stream_agrees_with_the_tokenizer_s_own_decoding(codec: Codec, text: str) -> None:
    ids = codec._encode(text)
    ids = [i for i in ids if i not in (codec.think_open_id, codec.think_close_id)]
    stream = TextStream(codec)
    for token_id in ids:
        stream.push(token_id)
    stream.close()
    assert stream.text == codec._tokenizer.decode(ids, skip_special_tokens=True)


@given(st.text())
def test_a_text_has_no_fewer_tokens_than_the_bound_says(codec: Codec, text: str) -> None:
    assert codec.fewest_tokens(text) <= len(codec._encode(text))


def test_a_prompt_far_too_long_is_refused_before_it_is_tokenised(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_encode", lambda text: pytest.fail("it was tokenised"))
    with pytest.raises(EngineError) as refused:
        codec.encode_chat([{"role": "user", "content": "many words " * 100_000}], context=256)
    assert refused.value.kind == "prompt_too_long"
    assert "at least" in refused.value.message


def test_a_sentencepiece_vocabulary(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, normalizers

    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁": 3, "H": 4, "i": 5, "▁H": 6, "▁Hi": 7}
    words |= {f"<0x{byte:02X}>": 8 + byte for byte in range(256)}
    merges = [("▁", "H"), ("▁H", "i")]
    tokenizer = Tokenizer(models.BPE(words, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>", "bos_token": "<s>"}')
    codec = Codec.from_folder(tmp_path)
    ids = codec._encode("Hi 世 Hi")
    assert codec.decode_bytes(ids) == " Hi 世 Hi".encode()
    stream = TextStream(codec)
    for token_id in [1, *ids, 2]:
        stream.push(token_id)
    assert stream.text == "Hi 世 Hi" == tokenizer.decode(ids)
    assert codec.stop_ids == {2}


def test_the_real_qwen_vocabulary(qwen: Path) -> None:
    codec = Codec.from_folder(qwen, vocab_size=248_320)
    text = "def f(x):\n    return x  # Größe 日本語 🤖🏳️‍🌈\r\n"
    for read in (text, "e\u0301" * 1000, " " * 1000, "<|im_end|>" * 100):
        assert 0 < codec.fewest_tokens(read) <= len(codec._encode(read))
    assert codec.decode_bytes(codec._encode(text)) == text.encode()
    assert codec.token_bytes(248_319).decode() == "⟨id 248319⟩"
    assert codec.decode_bytes([codec.think_open_id or 0]) == b"<think>"


# -- ids that end an answer ---------------------------------------------------------------------------------


def test_stop_ids_come_from_all_who_name_one(codec: Codec) -> None:
    # generation_config.json names 400 (<|endoftext|>) and 402; tokenizer and template name <|im_end|>, 402.
    assert [codec.token_bytes(i) for i in sorted(codec.stop_ids)] == [b"<|endoftext|>", b"<|im_end|>"]


@pytest.mark.parametrize(("value", "expected"), [(7, {7}), ([7, 9], {7, 9}), (None, set()), (..., set())])
def test_stop_ids_of_the_generation_config(
    broken_pair_folder: Path, edit_json: EditJson, value: Any, expected: set[int]
) -> None:
    folder = broken_pair_folder / "target"
    edit_json(folder / "generation_config.json", eos_token_id=value)
    end = Codec.from_folder(folder)._tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert Codec.from_folder(folder).stop_ids == expected | {end}


def test_stop_ids_of_the_config_where_generation_has_none(
    broken_pair_folder: Path, edit_json: EditJson
) -> None:
    folder = broken_pair_folder / "target"
    (folder / "generation_config.json").unlink()
    edit_json(folder / "config.json", eos_token_id=None, text_config={"eos_token_id": 9})
    assert 9 in Codec.from_folder(folder).stop_ids


def test_the_end_of_a_turn_ends_an_answer_even_if_no_config_says_so(
    broken_pair_folder: Path, edit_json: EditJson
) -> None:
    folder = broken_pair_folder / "target"
    (folder / "generation_config.json").unlink()
    edit_json(folder / "tokenizer_config.json", eos_token="<|endoftext|>")
    codec = Codec.from_folder(folder)
    assert {codec.token_bytes(i) for i in codec.stop_ids} == {b"<|endoftext|>", b"<|im_end|>"}


# -- folders that hold no tokenizer -------------------------------------------------------------------------


def test_a_folder_without_tokenizer(broken_pair_folder: Path) -> None:
    (broken_pair_folder / "target" / "tokenizer.json").unlink()
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(broken_pair_folder / "target")
    assert refused.value.kind == "tokenizer_missing"


def test_a_tokenizer_that_is_cut_short(broken_pair_folder: Path) -> None:
    path = broken_pair_folder / "target" / "tokenizer.json"
    path.write_text(path.read_text()[:1000])
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(broken_pair_folder / "target")
    assert refused.value.kind == "bad_tokenizer"


def test_a_tokenizer_larger_than_the_embedding(tiny_pair_folder: Path) -> None:
    with pytest.raises(EngineError) as refused:
        Codec.from_folder(tiny_pair_folder / "target", vocab_size=300)
    assert refused.value.kind == "tokenizer_mismatch"

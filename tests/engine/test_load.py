from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_folders import LAYERS, MASK_ID, VOCAB_SIZE, drafter_dict, write_drafter, write_json, write_target

from engine.decode import generate
from engine.drafter import Drafter
from engine.errors import EngineError
from engine.event_lines import decode_event, encode_event
from engine.events import Finished, Loading, Prefilled
from engine.load import STAGES, load_pair, warm_up
from engine.pair import Pair
from engine.presets import PRESETS, Preset

EditJson = Callable[..., None]


def load(folder: Path, **changes: Any) -> Pair:
    return load_pair(str(folder / "target"), str(folder / "drafter"), **{"device": "cpu", **changes})


def refusal(action: Callable[[], object]) -> EngineError:
    """The error, which must be a sentence with a remedy and without a traceback."""
    with pytest.raises(EngineError) as refused:
        action()
    error = refused.value
    assert error.message.endswith(".")
    assert "\n" not in error.message
    assert "Traceback" not in error.message + error.hint
    assert len(error.message) < 400
    assert error.hint.endswith(".") or "hf auth login" in error.hint or "python -m" in error.hint
    return error


# -- a pair that is right -----------------------------------------------------------------------------------


def test_what_was_loaded(tiny_pair_folder: Path) -> None:
    pair = load(tiny_pair_folder)
    info = pair.info
    weights = load_file(tiny_pair_folder / "target" / "model.safetensors")
    assert info.target.architecture == "Qwen3_5ForCausalLM"
    assert info.target.layer_kinds == {"linear_attention": 3, "full_attention": 1}
    assert info.target.parameters == sum(weight.numel() for weight in weights.values())
    assert (info.target.name, info.target.dtype) == ("target", "float32")
    assert info.target.path == str(tiny_pair_folder / "target")
    assert info.drafter is not None
    assert (info.drafter.architecture, info.drafter.layer_kinds) == ("Drafter", {"full_attention": 2})
    assert (info.block_size, info.mask_token_id, info.target_layer_ids) == (8, MASK_ID, [0, 2, 3])
    assert (info.device, info.context_length, info.vocab_size) == ("cpu", 256, VOCAB_SIZE)
    assert info.thinking
    assert info.memory_bytes >= 4 * (info.target.parameters + info.drafter.parameters)
    assert 0 < info.seconds == info.t
    assert info.versions["torch"] == torch.__version__
    assert set(info.versions) >= {"torch", "transformers"}
    assert decode_event(encode_event(info)) == info


def test_the_weights_are_the_checkpoint_s(tiny_pair_folder: Path) -> None:
    pair = load(tiny_pair_folder)
    weights = load_file(tiny_pair_folder / "target" / "model.safetensors")
    loaded = pair.target.model.state_dict()
    for name, weight in weights.items():
        assert torch.equal(loaded[name], weight.float()), name
    assert not pair.target.model.training
    assert not any(parameter.requires_grad for parameter in pair.target.model.parameters())


def test_it_decodes_and_warming_up_leaves_nothing_behind(tiny_pair_folder: Path) -> None:
    pair = load(tiny_pair_folder)
    assert pair.session.ids == []
    first, second = (
        list(generate(pair, "Hello", mode=mode, max_new_tokens=20))[-1] for mode in ("ar", "tree")
    )
    assert isinstance(first, Finished)
    assert isinstance(second, Finished)
    assert first.output_ids == second.output_ids


def test_warming_up_runs_the_drafter(tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, drafted = load(tiny_pair_folder), []
    forward = Drafter.forward

    def counted(self: Drafter, *given: Any, **named: Any) -> Any:
        drafted.append(self)
        return forward(self, *given, **named)

    monkeypatch.setattr(Drafter, "forward", counted)
    warm_up(pair)
    assert drafted == [pair.drafter]


@pytest.mark.parametrize(
    "wish", [{"tp": 0}, {"tp": 2, "device_map": "auto"}, {"quantize": "int8", "device_map": {"": "cpu"}}]
)
def test_wishes_that_contradict_each_other_are_refused_first(wish: dict[str, Any]) -> None:
    with pytest.raises(EngineError) as caught:
        load_pair("no such model", **wish)
    assert caught.value.kind == "bad_setting"


def test_the_pair_that_was_warmed_up_is_handed_out(
    tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds that were captured while warming up are those of the first answer."""
    made: list[tuple[Pair, Any]] = []

    def on_device(*parts: Any) -> Pair:
        pair = Pair(*parts, on_device=True)
        made.append((pair, pair.session))
        return pair

    monkeypatch.setattr("engine.pair.Pair", on_device)
    pair = load(tiny_pair_folder)
    assert [session for _, session in made] == [pair.session]
    assert pair.info.seconds > 0
    runner = pair.runner
    assert made[0][0].runner is runner
    rounds = dict(runner._rounds)
    assert [(bucket.mode, bucket.greedy) for bucket in rounds] == [("tree", True)]

    assert pair.session.ids == []
    assert pair.session.cache.length == 0
    assert pair.session.context is not None
    assert pair.session.context.length == 0
    events = list(generate(pair, "Hello", max_new_tokens=20))
    assert runner._rounds == rounds
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    assert prefilled.cached == 0
    fresh = Pair(pair.target, pair.drafter, pair.codec, pair.info, on_device=True)
    assert answer_of(events) == answer_of(list(generate(fresh, "Hello", max_new_tokens=20)))


def answer_of(events: list[Any]) -> tuple[list[int], int, int]:
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished.output_ids, finished.rounds, finished.drafted


def test_progress_comes_stage_by_stage(tiny_pair_folder: Path) -> None:
    seen: list[Loading] = []
    load(tiny_pair_folder, progress=seen.append)
    assert [event.stage for event in seen] == list(STAGES)
    assert [event.done for event in seen] == list(range(len(STAGES)))
    assert {event.total for event in seen} == {len(STAGES)}
    times = [event.t for event in seen]
    assert times == sorted(times)


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_dense_targets(tmp_path: Path, family: str) -> None:
    write_target(tmp_path / "target", family)
    write_drafter(tmp_path / "drafter")
    pair = load(tmp_path)
    assert pair.info.target.layer_kinds == {"full_attention": LAYERS}
    assert isinstance(list(generate(pair, "Hello", max_new_tokens=5))[-1], Finished)


def test_a_target_alone(tiny_pair_folder: Path) -> None:
    pair = load_pair(str(tiny_pair_folder / "target"), device="cpu")
    assert pair.drafter is None
    assert (pair.info.drafter, pair.info.block_size, pair.info.mask_token_id) == (None, None, None)
    assert pair.info.target_layer_ids == []
    assert isinstance(list(generate(pair, "Hello", mode="ar", max_new_tokens=5))[-1], Finished)


def test_the_text_part_of_a_multimodal_target(
    tiny_pair_folder: Path, tmp_path: Path, edit_json: EditJson
) -> None:
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig

    folder = Path(shutil.copytree(tiny_pair_folder, tmp_path / "pair"))
    text = Qwen3_5TextConfig.from_pretrained(folder / "target").to_dict()
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32}
    torch.manual_seed(3)
    model = Qwen3_5ForConditionalGeneration(
        Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=True)
    ).to(torch.bfloat16)
    model.save_pretrained(folder / "target")
    # Where the two disagree, the multimodal class goes by the top level.
    edit_json(folder / "target" / "config.json", text_config=text | {"tie_word_embeddings": False})
    path = folder / "target" / "model.safetensors"
    weights = load_file(path)
    weights.pop("lm_head.weight", None)
    weights["mtp.fc.weight"] = torch.zeros(3, 3)
    save_file(weights, path, metadata={"format": "pt"})
    pair = load(folder)
    assert pair.info.target.architecture == "Qwen3_5ForCausalLM"
    loaded = pair.target.model.state_dict()
    for name, weight in weights.items():
        if name.startswith("model.language_model."):
            assert torch.equal(loaded[name.replace("language_model.", "")], weight.float())
    assert torch.equal(pair.target.head.weight, pair.target.embedding.weight)


def test_shards(broken_pair_folder: Path) -> None:
    folder = broken_pair_folder / "target"
    shard(folder)
    pair = load(broken_pair_folder)
    assert isinstance(list(generate(pair, "Hello", max_new_tokens=5))[-1], Finished)


def shard(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    parts: dict[str, dict[str, torch.Tensor]] = {"one.safetensors": {}, "two.safetensors": {}}
    for number, (name, weight) in enumerate(weights.items()):
        parts["one.safetensors" if number % 2 else "two.safetensors"][name] = weight
    index = {name: file for file, tensors in parts.items() for name in tensors}
    for file, tensors in parts.items():
        save_file(tensors, folder / file, metadata={"format": "pt"})
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": index})


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_other_dtypes(tiny_pair_folder: Path, dtype: str) -> None:
    pair = load(tiny_pair_folder, dtype=dtype)
    assert pair.info.drafter is not None
    assert (pair.info.target.dtype, pair.info.drafter.dtype) == (dtype, dtype)


def test_a_preset(tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafter = str(tiny_pair_folder / "target"), str(tiny_pair_folder / "drafter")
    preset = Preset(name="tiny", target=target, drafter=drafter, note="")
    monkeypatch.setitem(PRESETS, "tiny", preset)
    pair = load_pair("tiny", device="cpu")
    assert pair.info.drafter is not None
    assert (pair.info.target.name, pair.info.drafter.name) == ("tiny", "tiny drafter")
    # A drafter of one's own choice goes before the preset's.
    assert refusal(lambda: load_pair("tiny", target, device="cpu")).kind == "not_a_drafter"


def test_a_template_that_refuses_the_warming_up(broken_pair_folder: Path) -> None:
    template = "{{ raise_exception('A system message is needed.') if messages[0].role != 'system' }}Hi"
    (broken_pair_folder / "target" / "chat_template.jinja").write_text(template)
    pair = load(broken_pair_folder)
    assert pair.session.ids == []
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert isinstance(list(generate(pair, asked, max_new_tokens=5))[-1], Finished)  # type: ignore[arg-type]


def test_a_demo_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Preset(name="demo", target=str(tmp_path / "no"), drafter=str(tmp_path / "no"), note="")
    monkeypatch.setitem(PRESETS, "demo", missing)
    assert refusal(lambda: load_pair("demo")).kind == "demo_missing"


# -- folders that are no model ------------------------------------------------------------------------------


def test_no_such_model() -> None:
    assert refusal(lambda: load_pair("/no/such/model")).kind == "model_not_found"


def test_no_such_drafter(tiny_pair_folder: Path) -> None:
    target = str(tiny_pair_folder / "target")
    assert refusal(lambda: load_pair(target, "/no/such/drafter")).kind == "model_not_found"


@pytest.mark.parametrize("role", ["target", "drafter"])
def test_a_folder_without_config(broken_pair_folder: Path, role: str) -> None:
    (broken_pair_folder / role / "config.json").unlink()
    error = refusal(lambda: load(broken_pair_folder))
    assert error.kind == "no_config"
    assert role in error.message


@pytest.mark.parametrize("role", ["target", "drafter"])
def test_broken_json(broken_pair_folder: Path, role: str) -> None:
    (broken_pair_folder / role / "config.json").write_text('{"model_type": ')
    assert refusal(lambda: load(broken_pair_folder)).kind == "bad_json"


def test_a_broken_generation_config(broken_pair_folder: Path) -> None:
    (broken_pair_folder / "target" / "generation_config.json").write_text("{")
    assert refusal(lambda: load(broken_pair_folder)).kind == "bad_json"


@pytest.mark.parametrize("kind", ["gpt2", "mamba2", "no_such_type", None])
def test_architectures_that_are_not_supported(
    broken_pair_folder: Path, edit_json: EditJson, kind: str | None
) -> None:
    edit_json(broken_pair_folder / "target" / "config.json", model_type=kind)
    assert refusal(lambda: load(broken_pair_folder)).kind == "unsupported_architecture"


def test_a_layer_of_a_kind_that_is_not_supported(broken_pair_folder: Path, edit_json: EditJson) -> None:
    kinds = ["linear_attention", "chunked_attention", "linear_attention", "full_attention"]
    edit_json(broken_pair_folder / "target" / "config.json", layer_types=kinds)
    assert refusal(lambda: load(broken_pair_folder)).kind == "unsupported_architecture"


def test_code_of_a_checkpoint_is_never_run(broken_pair_folder: Path, edit_json: EditJson) -> None:
    folder = broken_pair_folder / "target"
    marker = broken_pair_folder / "it_ran"
    for name in ("configuration_evil", "modeling_evil"):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\nclass Evil: pass\n")
    classes = {"AutoConfig": "configuration_evil.Evil", "AutoModelForCausalLM": "modeling_evil.Evil"}
    edit_json(folder / "config.json", auto_map=classes)
    edit_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["modeling_evil.Evil", None]})
    load(broken_pair_folder)
    edit_json(folder / "config.json", model_type="evil")
    assert refusal(lambda: load(broken_pair_folder)).kind == "unsupported_architecture"
    assert not marker.exists()


def test_a_quantised_target(broken_pair_folder: Path, edit_json: EditJson) -> None:
    edit_json(broken_pair_folder / "target" / "config.json", quantization_config={"quant_method": "magic"})
    assert refusal(lambda: load(broken_pair_folder)).kind == "unsupported_quantization"


NONSENSE: list[dict[str, Any]] = [{"hidden_size": "wide"}, {"num_hidden_layers": None}, {"layer_types": 3}]


@pytest.mark.parametrize("changes", NONSENSE)
def test_a_target_config_with_nonsense(
    broken_pair_folder: Path, edit_json: EditJson, changes: dict[str, Any]
) -> None:
    edit_json(broken_pair_folder / "target" / "config.json", **changes)
    assert refusal(lambda: load(broken_pair_folder)).kind in ("bad_config", "unsupported_architecture")


def test_a_target_config_whose_values_make_no_model(broken_pair_folder: Path, edit_json: EditJson) -> None:
    edit_json(broken_pair_folder / "target" / "config.json", num_attention_heads=0)
    assert refusal(lambda: load(broken_pair_folder)).kind in ("bad_config", "bad_weights")


def test_no_tokenizer(broken_pair_folder: Path) -> None:
    (broken_pair_folder / "target" / "tokenizer.json").unlink()
    assert refusal(lambda: load(broken_pair_folder)).kind == "tokenizer_missing"


@pytest.mark.parametrize("role", ["target", "drafter"])
def test_pickled_weights_only(broken_pair_folder: Path, role: str) -> None:
    folder = broken_pair_folder / role
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert refusal(lambda: load(broken_pair_folder)).kind == "pickled_weights"


def test_a_missing_shard(broken_pair_folder: Path) -> None:
    shard(broken_pair_folder / "target")
    (broken_pair_folder / "target" / "two.safetensors").unlink()
    error = refusal(lambda: load(broken_pair_folder))
    assert error.kind == "missing_shard"
    assert "two.safetensors" in error.message


@pytest.mark.parametrize("role", ["target", "drafter"])
def test_weights_cut_short(broken_pair_folder: Path, role: str) -> None:
    path = broken_pair_folder / role / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert refusal(lambda: load(broken_pair_folder)).kind == "bad_weights"


def test_a_tensor_that_is_missing(broken_pair_folder: Path) -> None:
    path = broken_pair_folder / "target" / "model.safetensors"
    weights = load_file(path)
    del weights["model.layers.1.linear_attn.A_log"]
    save_file(weights, path, metadata={"format": "pt"})
    error = refusal(lambda: load(broken_pair_folder))
    assert error.kind == "bad_weights"
    assert "model.layers.1.linear_attn.A_log" in error.detail


def test_weights_of_another_shape(broken_pair_folder: Path, edit_json: EditJson) -> None:
    edit_json(broken_pair_folder / "target" / "config.json", intermediate_size=64)
    assert refusal(lambda: load(broken_pair_folder)).kind == "bad_weights"


# -- a drafter that does not fit ----------------------------------------------------------------------------


def taps(*layers: int, mask: int = MASK_ID) -> dict[str, Any]:
    return {"mask_token_id": mask, "target_layer_ids": list(layers)}


def redraft(folder: Path, **changes: Any) -> None:
    """Write the drafter's config anew; its weights stay, and must not be what is complained about."""
    write_json(folder / "drafter" / "config.json", drafter_dict(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 48}, "hidden size 48"),
        ({"vocab_size": 600}, "vocabulary of 600"),
        ({"dflash_config": taps(0, 2, LAYERS), "num_target_layers": 9}, f"layer {LAYERS}"),
        ({"num_target_layers": 8}, "8 layers"),
        ({"dflash_config": taps(0, 2, 3, mask=VOCAB_SIZE), "vocab_size": 600}, f"mask token id {VOCAB_SIZE}"),
    ],
)
def test_a_drafter_of_another_target(broken_pair_folder: Path, changes: dict[str, Any], words: str) -> None:
    redraft(broken_pair_folder, **changes)
    error = refusal(lambda: load(broken_pair_folder))
    assert error.kind == "drafter_mismatch"
    assert words in error.message


@pytest.mark.parametrize(
    "changes",
    [
        {"dflash_config": taps(0, 2, 3, mask=VOCAB_SIZE)},
        {"dflash_config": taps(0, 2, 3, mask=-1)},
        {"dflash_config": {"mask_token_id": MASK_ID}},
        {"block_size": 1},
        {"block_size": 100_000},
    ],
)
def test_a_drafter_config_that_cannot_be(broken_pair_folder: Path, changes: dict[str, Any]) -> None:
    redraft(broken_pair_folder, **changes)
    assert refusal(lambda: load(broken_pair_folder)).kind == "drafter_config"


def test_features_of_another_number_of_layers(broken_pair_folder: Path) -> None:
    redraft(broken_pair_folder, dflash_config=taps(0, 3))
    error = refusal(lambda: load(broken_pair_folder))
    assert error.kind == "drafter_weights"
    assert "2 target layers" in error.message


def test_a_folder_that_is_no_drafter(tiny_pair_folder: Path) -> None:
    target = str(tiny_pair_folder / "target")
    assert refusal(lambda: load_pair(target, target, device="cpu")).kind == "not_a_drafter"


def test_a_drafter_as_target(tiny_pair_folder: Path) -> None:
    drafter = str(tiny_pair_folder / "drafter")
    error = refusal(lambda: load_pair(drafter, device="cpu"))
    assert error.kind == "is_a_drafter"


def test_nothing_is_read_of_a_pair_that_does_not_fit(
    broken_pair_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr("engine.target_load.load_target", read)
    monkeypatch.setattr("engine.checkpoint.safe_open", read)
    redraft(broken_pair_folder, hidden_size=48)
    assert refusal(lambda: load(broken_pair_folder)).kind == "drafter_mismatch"


# -- where it runs ------------------------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_absent(tiny_pair_folder: Path) -> None:
    assert refusal(lambda: load(tiny_pair_folder, device="cuda")).kind == "no_gpu"


def test_settings_that_mean_nothing(tiny_pair_folder: Path) -> None:
    assert refusal(lambda: load(tiny_pair_folder, device="abacus")).kind == "bad_setting"
    assert refusal(lambda: load(tiny_pair_folder, dtype="int3")).kind == "bad_setting"


def test_too_large_for_the_memory(tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.place.free_memory", lambda: 100_000)
    assert refusal(lambda: load(tiny_pair_folder)).kind == "out_of_memory"


def test_ready_within_seconds_from_a_cold_start(tiny_pair_folder: Path) -> None:
    """The demo must be ready within 12 s of the start; imports are most of that. Of processor time, as others
    may have the machine; nothing is waited for but the disk."""
    code = (
        "import sys, time; started = time.process_time(); from engine import load_pair; seen = []; "
        "now = lambda *_: seen.append(time.process_time() - started); "
        "load_pair(*sys.argv[1:], device='cpu', progress=now); now(); print(seen[0], seen[-1])"
    )
    folders = [str(tiny_pair_folder / role) for role in ("target", "drafter")]
    done = subprocess.run([sys.executable, "-c", code, *folders], capture_output=True, text=True, check=True)
    first, ready = map(float, done.stdout.split())
    assert first < 1
    assert ready < 12

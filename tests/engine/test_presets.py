from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from engine.checkpoint import Checkpoint
from engine.pair_check import read_drafter_config
from engine.presets import PRESETS, demo_folder


def test_presets_are_complete_pairs() -> None:
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.note
        if preset.drafter_config is None:
            drafter = Checkpoint.open("drafter", Path(preset.drafter))  # it comes with the package
            assert read_drafter_config(drafter).block_size == 16
        else:
            for hub_id in (preset.target, preset.drafter):
                assert re.fullmatch(r"[\w.-]+/[\w.-]+", hub_id)
            # The published drafters are named after their target.
            size = preset.target.rpartition("-Instruct")[0] or preset.target
            assert size.rpartition("/")[2].lower().replace("llama-", "llama") in preset.drafter.lower()


def test_the_demo_lies_in_the_package() -> None:
    assert demo_folder().parts[-3:] == ("engine", "demo", "weights")
    assert PRESETS["demo"].target == str(demo_folder() / "target")


def test_listing_presets_and_asking_to_load_import_nothing_heavy() -> None:
    code = (
        "import sys, engine.presets, engine.load, engine.text_stream, engine.spelling; "
        "print({'torch', 'transformers', 'numpy', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def test_transformers_keeps_to_torch_without_a_gpu(tmp_path: Path) -> None:
    """With Triton installed and no GPU, transformers would run fla's Triton kernels on CPU tensors."""
    fla = tmp_path / "fla"
    (fla / "ops" / "gated_delta_rule").mkdir(parents=True)
    refuse = "def chunk_gated_delta_rule(*_, **__):\n    raise RuntimeError('0 active drivers')\n"
    (fla / "__init__.py").write_text(refuse)
    (fla / "ops" / "__init__.py").write_text("")
    (fla / "ops" / "gated_delta_rule" / "__init__.py").write_text(refuse)
    script = """
        import engine.cpu
        import torch
        from tiny_models import tiny_model
        if not torch.cuda.is_available():
            tiny_model("qwen3_5")(torch.tensor([[1, 2, 3]]))
    """
    here = Path(__file__).parent
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={"PYTHONPATH": f"{tmp_path}:{here}:{here.parents[1]}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr

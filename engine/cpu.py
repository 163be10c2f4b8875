"""Keeps transformers to its own torch code where there is no GPU. Import it before transformers' models.

transformers takes flash-linear-attention's Triton kernels wherever both can be imported, for tensors on the
CPU too, where they end in "0 active drivers". That is every machine without a GPU on which PyTorch brought
Triton along. The engine's own passes never call them; transformers' ``generate`` and training do.
"""

from __future__ import annotations

import sys

import torch

if not torch.cuda.is_available():
    # None in sys.modules makes an import fail, which is what transformers falls back on.
    sys.modules.setdefault("fla", None)  # type: ignore[arg-type]

"""Which content is kept out of training, by a hash that never changes."""

from __future__ import annotations

import hashlib
import re

HELD_OUT_ONE_IN = 16

_NOISE = re.compile(r"[^a-z0-9]+")


def is_heldout(key: str) -> bool:
    """Whether examples with this key are only for measuring: one key in ``HELD_OUT_ONE_IN``.

    The empty key marks what everybody asks first (2 + 2, the small tables): always trained on.
    """
    if not key:
        return False
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HELD_OUT_ONE_IN == 0


def wording_key(prompt: str) -> str:
    """Key for questions whose wording is their content: letters and digits only,
    without ``please`` and contractions."""
    words = _NOISE.sub(" ", re.sub(r"\bwhat'?s\b", "what is", prompt.lower())).split()
    return " ".join(word for word in words if word != "please")

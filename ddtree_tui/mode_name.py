"""What a mode of decoding is called."""

from __future__ import annotations


def mode_name(mode: str, budget: int) -> str:
    """``tree 64``, ``chain``, ``ar``: with the budget where that counts and is known."""
    return f"{mode} {budget}" if mode == "tree" and budget else mode

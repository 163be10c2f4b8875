"""Bytes for people."""

from __future__ import annotations


def size(count: int) -> str:
    """``8.2 GB``, ``37 MB``."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"

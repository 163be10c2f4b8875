"""The systems whose records can be imported. Imports nothing."""

SOURCES = ("auto", "reference", "vllm", "sglang", "json")
"""What ``--from`` takes; ``auto`` goes by what is in the file."""

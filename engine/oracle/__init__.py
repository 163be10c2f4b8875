"""Compares an answer with what the target alone writes, and its caches with what the target alone holds.

The target alone is transformers' own model over transformers' own cache: its attention, its gated delta rule.
Nothing of the tree takes part: no ancestors, no pending rows, no commit. Whatever differs by more than a
change of kernel explains is a defect of how the answer was decoded.
"""

"""The operations of the static decode path that torch lacks or launches too often.

Every operation has one function here and two implementations: Triton kernels (``engine.kernels.jit``, CUDA
tensors only) and a twin in plain torch of the same signature, which is what runs everywhere else and what the
kernels are tested against. All of them keep to what a CUDA graph can replay: shapes never depend on data,
lengths and counts are device tensors of one int32, nothing waits for the device.

    delta.py        the gated delta rule over a tree: solve, commit, one plain step
    delta_inputs.py causal convolution over a tree, and all that a gated-delta layer does before its solve
    attention.py    attention of a tree over preallocated keys and values, writing and committing them
    elementwise.py  norms, SwiGLU, rotary
    draft_tree.py   candidates of every depth and the draft tree
    logits.py       best entries, log-sum-exp and ranks of rows of logits
    walk.py         the accepted path and where it ends the text
    record.py       the record of a round and the text moved on
    experts.py      routing rows to experts, and the experts
"""

"""The Triton kernels and what launches them. Importing a module of this package imports Triton.

Launchers take the arguments of the functions they serve (see ``engine.kernels``). Under
``TRITON_INTERPRET=1`` they run on CPU tensors.
"""

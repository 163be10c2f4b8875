"""Rounds that stay on the device: fixed shapes, fixed addresses, CUDA graphs."""

"""Training of DFlash drafters for any supported target: ``python -m engine.train``."""

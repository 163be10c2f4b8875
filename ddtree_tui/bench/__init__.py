"""``ddtree-tui bench``: acceptance, speed and losslessness of modes and budgets, measured side by side."""

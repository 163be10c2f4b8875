"""Settings of the whole suite, made before torch is imported."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # see ddtree_tui.engine_process

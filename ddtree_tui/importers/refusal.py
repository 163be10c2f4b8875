"""Why a file is not imported, in a sentence."""

from __future__ import annotations

from engine.errors import EngineError

KIND = "import"


def refused(message: str, hint: str = "", detail: str = "") -> EngineError:
    """The error of a file that cannot be imported."""
    return EngineError(KIND, message, hint, detail)


def hostile(what: str) -> EngineError:
    """The error of a pickle that asks for more than data. ``what`` completes "The file ..."."""
    return refused(
        f"The file {what}.", "It was refused and nothing in it was run; do not unpickle it elsewhere."
    )


def damaged(what: str) -> EngineError:
    """The error of a file that is broken or cut short. ``what`` completes "The file ..."."""
    return refused(f"The file {what}.", "It is damaged or cut short; copy or save it again.")


def unfit(what: str) -> EngineError:
    """The error of a file that says what its source never would. ``what`` completes "The file ..."."""
    return refused(
        f"The file {what}.", "Correct it, or name its source with --from; docs/importing.md has the fields."
    )


def too_large(what: str) -> EngineError:
    """The error of a file that holds more than is read. ``what`` completes "The file ..."."""
    return refused(f"The file {what}.", "Save fewer answers to a file.")

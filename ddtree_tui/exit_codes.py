"""What the exit codes mean; documented by ``--help`` and the README."""

from __future__ import annotations

OK = 0
ENGINE_FAILED = 1
BAD_INPUT = 2
NOT_LOADED = 3
TRACE_FAILED = 4
TEXT_DIFFERS = 5
MOVED = 6
BROKEN_PIPE = 141
"""128 + SIGPIPE, as for any program whose reader went away."""

MEANINGS = {
    OK: "the answer is complete",
    ENGINE_FAILED: "the engine failed while it answered; doctor, check: not healthy, or not known to be",
    BAD_INPUT: "an option, a setting or the prompt is not valid",
    NOT_LOADED: "the models could not be loaded, or are not usable; attach: the server is not",
    TRACE_FAILED: "a trace or an import could not be read, or a file not be written",
    TEXT_DIFFERS: "bench, race: a text is not the one that mode ar writes, and no tie explains it",
    MOVED: "bench: a number is further from the baseline than its tolerance",
    130: "interrupted by Ctrl-C (143: by SIGTERM, 129: by SIGHUP)",
    BROKEN_PIPE: "whoever read the output went away",
}

_BAD_INPUT_KINDS = frozenset(
    {"usage", "bad_setting", "bad_text", "empty_prompt", "no_drafter", "no_terminal", "prompt_too_long"}
    | {"prompt_file", "bench_file"}
)
_MODEL_KINDS = frozenset({"bad_template"})
"""Found out when the first prompt is there, and yet a matter of the model's files."""
_REMOTE_KINDS = frozenset(
    {"remote_unreachable", "remote_key", "remote_moved", "remote_busy", "remote_refused", "remote_answer"}
    | {"remote_missing", "remote_lost"}
)
_TRACE_KINDS = frozenset(
    {"trace_read", "trace_write", "trace_version", "bad_trace", "export", "output", "import"}
)


def exit_code(error: str, *, loading: bool = False) -> int:
    """The exit code for an error of that kind; ``loading``: it came before the models were loaded."""
    if error in _BAD_INPUT_KINDS:
        return BAD_INPUT
    if error in _TRACE_KINDS:
        return TRACE_FAILED
    return NOT_LOADED if loading or error in _MODEL_KINDS | _REMOTE_KINDS else ENGINE_FAILED


def interrupted(signal_number: int) -> int:
    """The exit code after that signal."""
    return 128 + signal_number

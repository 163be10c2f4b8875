"""The keys of the main screen. Function and control keys work while one types, letters where one does not."""

from __future__ import annotations

from textual.binding import Binding


def _everywhere(key: str, action: str, description: str) -> Binding:
    return Binding(key, action, description, show=False, priority=True)


def _outside_prompt(key: str, action: str, description: str) -> Binding:
    return Binding(key, action, description, show=False)


BINDINGS = [
    _everywhere("ctrl+q", "quit", "Quit"),
    _everywhere("f2", "pause", "Pause or go on"),
    _everywhere("f3", "move_round(-1)", "Round back"),
    _everywhere("f4", "move_round(1)", "Round forth"),
    _everywhere("f5", "follow", "Newest round"),
    _everywhere("f6", "step_round", "One round"),
    _everywhere("f7", "turn('mode', 1)", "Mode"),
    _everywhere("f8", "edit('budget')", "Budget"),
    _everywhere("f9", "turn('thinking', 1)", "Thinking"),
    _everywhere("ctrl+o", "zoom", "Zoom"),
    _everywhere("ctrl+n", "new_conversation", "New conversation"),
    _everywhere("ctrl+t", "toggle_theme", "Light or dark"),
    _outside_prompt("escape", "stop", "Stop"),
    _outside_prompt("f1,question_mark", "help", "Keys"),
    _outside_prompt("space", "pause", "Pause or go on"),
    _outside_prompt("left,left_square_bracket", "move_round(-1)", "Round back"),
    _outside_prompt("right,right_square_bracket", "move_round(1)", "Round forth"),
    _outside_prompt("home", "first_round", "First round"),
    _outside_prompt("f,end", "follow", "Newest round"),
    _outside_prompt("n", "step_round", "One round"),
    _outside_prompt("m", "turn('mode', 1)", "Mode"),
    _outside_prompt("minus", "turn('budget', -1)", "Half the budget"),
    _outside_prompt("plus,equals_sign", "turn('budget', 1)", "Twice the budget"),
    _outside_prompt("t", "turn('thinking', 1)", "Thinking"),
    _outside_prompt("T", "edit('temperature')", "Temperature"),
    _outside_prompt("e", "unfold", "Unfold or fold"),
    _outside_prompt("a", "play_all", "All of the recording at once"),
    _outside_prompt("z", "zoom", "Zoom"),
    _outside_prompt("i,slash,enter", "focus_prompt", "Prompt"),
]

MAIN_SCREEN_ACTIONS = frozenset(
    binding.action.partition("(")[0] for binding in BINDINGS if binding.action not in ("quit", "toggle_theme")
)
"""Actions that make no sense while a dialog is open."""

HELP: tuple[tuple[str, str, str], ...] = (
    ("always", "not typing", "what it does"),
    ("Enter", "", "run the prompt; Shift+Enter, Ctrl+J: new line"),
    ("Esc", "", "stop the run; if none, leave the prompt"),
    ("F2", "Space", "pause, go on; a recording: play, pause"),
    ("F3 F4", "← →   [ ]", "show the round before, after; the run goes on"),
    ("", "Home", "show the first round"),
    ("F5", "f   End", "follow the newest round again"),
    ("F6", "n", "decode one round, then pause"),
    ("F7", "m", "mode: ar, chain, tree; from the next round"),
    ("F8", "- +", "budget: type, or halve, double; next round"),
    ("F9", "t", "thinking on or off; from the next run"),
    ("", "T", "temperature: type it; from the next run"),
    ("", "e", "unfold all branches, or fold to the height"),
    ("", "Shift+← →", "scroll the tree sideways; ↑ ↓: up, down"),
    ("Ctrl+O", "z", "show all, only the tree, only the text"),
    ("Tab", "", "next of prompt, text, tree, knobs"),
    ("", "i   /   Enter", "go to the prompt"),
    ("Ctrl+N", "", "new conversation"),
    ("Ctrl+T", "", "light or dark"),
    ("Ctrl+P", "", "all commands"),
    ("Ctrl+Q", "", "quit"),
)
"""Key while typing too, key outside the prompt box, what it does. The first row is the heading."""

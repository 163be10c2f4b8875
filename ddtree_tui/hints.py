"""Which keys to name in the last line, by what is going on. Pure."""

from __future__ import annotations

from dataclasses import dataclass

Hint = tuple[str, str, str]
"""Key as it is written, what it does, action to run when clicked."""


@dataclass(frozen=True)
class Situation:
    """What the keys depend on. ``typing``: the prompt box has the focus; ``looking_back``: an older round is
    shown; ``busy``: an answer is under way or waits for the model; ``pointing``: the keys move the cursor in
    the tree; ``searching``: one types what to look for in it; ``over_a_run``: a recording is open over the
    run; ``held``: every round waits for a key; ``reading``: the text has the focus; ``on_switch``: the knob
    in focus is turned, not typed; ``raced``: the recording holds a race; ``attached``: the engine is a
    server's; ``watching``: somebody else's answer is under way there; ``theirs``: it is another program's
    server, which takes prompts and no more."""

    typing: bool
    busy: bool
    paused: bool
    replay: bool
    rounds: bool
    looking_back: bool
    on_knob: bool = False
    on_switch: bool = False
    pointing: bool = False
    over_a_run: bool = False
    held: bool = False
    searching: bool = False
    reading: bool = False
    raced: bool = False
    attached: bool = False
    watching: bool = False
    theirs: bool = False


def hints(situation: Situation) -> tuple[Hint, ...]:
    """The keys, the most useful first."""
    if situation.searching:
        found = [("Enter", "stay there", ""), ("↑ ↓", "matches", ""), ("Esc", "give up", "")]
    elif situation.pointing:
        found = [*_POINTING, *_pause(situation)]
    elif situation.reading:
        found = [*_READING, *_pause(situation)]
    elif situation.replay:
        found = _replay(situation)
    elif situation.on_knob:
        found = [
            ("← →", "turn", ""),
            ("Enter", "turn" if situation.on_switch else "type a value", ""),
            ("Tab", "next", "focus_next"),
            *_prompt(),
        ]
    elif situation.busy:
        if situation.theirs:
            found = [("Esc", "stop", "stop"), *_rounds(situation), *([] if situation.typing else _view())]
        else:
            found = _asked(situation) if situation.attached else _running(situation)
    elif situation.typing:
        found = _typing(situation)
    else:
        found = [*_prompt(), *_requests(situation), *_pause(situation), *_rounds(situation), *_view()]
    return (*found, *_ALWAYS)


def _typing(situation: Situation) -> list[Hint]:
    if not situation.rounds:
        first = [("^L", "examples", "prompts"), ("Tab", "settings", "focus_next")]
        return [("Enter", "run", ""), *_requests(situation), *first, *_settings(situation), _RUNS]
    return [
        ("Enter", "run", ""),
        *_requests(situation),
        *_rounds(situation),
        *_settings(situation),
        ("^N", "new chat", "new_conversation"),
        _RUNS,
    ]


def _running(situation: Situation) -> list[Hint]:
    pause = "go on" if situation.paused else "pause"
    if situation.held:
        pause = "next round"
    if situation.typing:
        keys = [("Esc", "stop", "stop"), ("F2", pause, "pause"), ("F6", "one round", "step_round")]
        return [*keys, *_rounds(situation)]
    keys = [("Esc", "stop", "stop"), ("Space", pause, "pause"), ("n", "one round", "step_round")]
    if situation.held:
        keys[2] = ("H", "hold no more", "toggle_hold")
    return [
        *keys,
        *_rounds(situation),
        ("- +", "budget", "turn('budget', 1)"),
        ("m", "mode", "turn('mode', 1)"),
        *_view(),
    ]


def _asked(situation: Situation) -> list[Hint]:
    """A server does not wait between rounds."""
    key = "F2" if situation.typing else "Space"
    hold = "follow" if situation.looking_back else "hold the view"
    found: list[Hint] = [("Esc", "stop", "stop"), (key, hold, "pause"), *_rounds(situation)]
    return found if situation.typing else [*found, *_view()]


def _pause(situation: Situation) -> list[Hint]:
    if situation.attached and (situation.busy or situation.watching):
        return [("Space", "follow" if situation.looking_back else "hold the view", "pause")]
    return [("Space", "pause", "pause")] if situation.busy and not situation.theirs else []


def _requests(situation: Situation) -> list[Hint]:
    key = "F11" if situation.typing else "W"
    return [(key, "requests", "requests")] if situation.attached else []


def _replay(situation: Situation) -> list[Hint]:
    play = "play" if situation.paused else "pause"
    back: list[Hint] = [("Esc", "back", "stop")] if situation.over_a_run else []
    race: list[Hint] = [("F10", "the race", "race")] if situation.raced else []
    return [
        *back,
        *race,
        ("Space", play, "pause"),
        ("← →", "round", "move_round(1)"),
        ("Home", "first", "first_round"),
        ("End", "newest", "follow"),
        ("a", "all at once", "play_all"),
        ("< >", "speed", "change_speed(-1)"),
        ("w", "worst round", "worst_round"),
        *_view(),
    ]


def _rounds(situation: Situation) -> list[Hint]:
    if not situation.rounds:
        return []
    keys = ("F3 F4", "F5") if situation.typing else ("← →", "f")
    found = [(keys[0], "round", "move_round(-1)")]
    if not situation.typing and not situation.busy:
        found += [("p", "play", "play_rounds"), ("w", "worst round", "worst_round")]
    if situation.looking_back:
        found.append((keys[1], "newest", "follow"))
    return found


def _settings(situation: Situation) -> list[Hint]:
    ours = [("F7", "mode", "turn('mode', 1)"), ("F8", "budget", "edit('budget')")]
    return [
        *([] if situation.theirs else ours),
        ("F9", "thinking", "turn('thinking', 1)"),
        ("^G", "all settings", "settings"),
    ]


def _view() -> list[Hint]:
    return [
        ("c", "cursor", "tree_cursor"),
        ("e", "unfold", "unfold"),
        ("z", "zoom", "zoom"),
        ("x", "export", "export"),
        ("#", "numbers", "numbers"),
        ("y", "copy", "copy"),
    ]


def _prompt() -> list[Hint]:
    return [("i", "prompt", "focus_prompt")]


_RUNS: Hint = ("^R", "recorded runs", "recorded_runs")
_POINTING: tuple[Hint, ...] = (
    ("←↑↓→", "move", ""),
    ("Enter", "fold", "tree_fold"),
    ("/", "search", "tree_search"),
    ("[ ]", "round", "move_round(1)"),
    ("Esc", "leave", "tree_leave"),
)
_READING: tuple[Hint, ...] = (
    ("← →", "token", ""),
    ("Enter", "its node", "token_node"),
    ("v", "ids, bytes", "text_view"),
    ("b", "tint", "text_tint"),
    ("o", "fold thinking", "fold_thinking"),
    ("P", "exact prompt", "exact_prompt"),
    ("Esc", "leave", "token_leave"),
)
_ALWAYS: tuple[Hint, ...] = (
    ("^P", "commands", "command_palette"),
    ("F1", "keys", "help"),
    ("^Q", "quit", "quit"),
)

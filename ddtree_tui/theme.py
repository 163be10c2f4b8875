"""Colours. Each has one meaning, and none carries a meaning alone: glyphs and weights say the same."""

from __future__ import annotations

from textual.theme import Theme

DARK_ROLES = {
    "accepted": "#7bd88f",
    "bonus": "#f2c55c",
    "near-miss": "#f08fb4",
    "quiet": "#98a1b0",
    "faint": "#737c8b",
    "line": "#566171",
    "shown": "#6cb6ff",
    "wrong": "#f4555a",
    "on-wrong": "#1b0c0c",
    "bar": "#5a7ea6",
}
LIGHT_ROLES = {
    "accepted": "#1a7f37",
    "bonus": "#8a6100",
    "near-miss": "#b3306f",
    "quiet": "#5b6472",
    "faint": "#79818d",
    "line": "#aab1bb",
    "shown": "#0b63ce",
    "wrong": "#c4232d",
    "on-wrong": "#ffffff",
    "bar": "#86a5c9",
}

CONTRAST_ROLES = {
    "accepted": "#5dff7f",
    "bonus": "#ffe14d",
    "near-miss": "#ff9dff",
    "quiet": "#e0e0e0",
    "faint": "#c8c8c8",
    "line": "#b0b0b0",
    "shown": "#66d9ff",
    "wrong": "#ff6b6b",
    "on-wrong": "#000000",
    "bar": "#9fc5ff",
}
"""On black, each at least 7 to 1 brighter (WCAG 2, level AAA)."""

DARK = Theme(
    name="ddtree-dark",
    primary="#6cb6ff",
    secondary="#5a7ea6",
    accent="#6cb6ff",
    warning="#f2c55c",
    error="#ff6b6b",
    success="#7bd88f",
    foreground="#dce1e8",
    background="#14171c",
    surface="#1b2027",
    panel="#232a33",
    dark=True,
    variables={
        **DARK_ROLES,
        "button-focus-text-style": "bold",
        "footer-key-foreground": "#6cb6ff",
        "input-selection-background": "#6cb6ff 35%",
        "block-cursor-background": "#6cb6ff",
        "block-cursor-foreground": "#14171c",
        "scrollbar": "#2c343f",
        "scrollbar-hover": "#3a4553",
        "scrollbar-active": "#4a5869",
        "scrollbar-background": "#14171c",
        "scrollbar-background-hover": "#14171c",
        "scrollbar-background-active": "#14171c",
        "scrollbar-corner-color": "#14171c",
    },
)
LIGHT = Theme(
    name="ddtree-light",
    primary="#0b63ce",
    secondary="#86a5c9",
    accent="#0b63ce",
    warning="#8a6100",
    error="#c4232d",
    success="#1a7f37",
    foreground="#23292f",
    background="#fcfbf8",
    surface="#f3f1ec",
    panel="#e9e6df",
    dark=False,
    variables={
        **LIGHT_ROLES,
        "button-focus-text-style": "bold",
        "footer-key-foreground": "#0b63ce",
        "input-selection-background": "#0b63ce 25%",
        "block-cursor-background": "#0b63ce",
        "block-cursor-foreground": "#ffffff",
        "scrollbar": "#d9d5cc",
        "scrollbar-hover": "#c6c1b6",
        "scrollbar-active": "#aea89b",
        "scrollbar-background": "#fcfbf8",
        "scrollbar-background-hover": "#fcfbf8",
        "scrollbar-background-active": "#fcfbf8",
        "scrollbar-corner-color": "#fcfbf8",
    },
)
CONTRAST = Theme(
    name="ddtree-contrast",
    primary="#66d9ff",
    secondary="#9fc5ff",
    accent="#66d9ff",
    warning="#ffe14d",
    error="#ff6b6b",
    success="#5dff7f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables={
        **CONTRAST_ROLES,
        "button-focus-text-style": "bold",
        "footer-key-foreground": "#66d9ff",
        "input-selection-background": "#66d9ff 45%",
        "block-cursor-background": "#66d9ff",
        "block-cursor-foreground": "#000000",
        "scrollbar": "#808080",
        "scrollbar-hover": "#b0b0b0",
        "scrollbar-active": "#ffffff",
        "scrollbar-background": "#000000",
        "scrollbar-background-hover": "#000000",
        "scrollbar-background-active": "#000000",
        "scrollbar-corner-color": "#000000",
    },
)
THEMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST}
"""By their names in the configuration."""


def role_defaults(dark: bool) -> dict[str, str]:
    """Role colours for themes that do not define them."""
    return DARK_ROLES if dark else LIGHT_ROLES

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


def _theme(
    name: str,
    roles: dict[str, str],
    *,
    dark: bool,
    error: str,
    foreground: str,
    grounds: tuple[str, str, str],
    selection: int,
    on_cursor: str,
    scrollbars: tuple[str, str, str],
) -> Theme:
    """A theme around its roles.

    Args:
        error: of Textual's own widgets; ours have the role ``wrong``.
        grounds: the background, a surface on it and a panel on that.
        selection: how much of the colour of what is shown lies under selected text, in percent.
        on_cursor: text under a block cursor.
        scrollbars: at rest, under the mouse, dragged.
    """
    background, surface, panel = grounds
    behind = dict.fromkeys(
        (
            "scrollbar-background",
            "scrollbar-background-hover",
            "scrollbar-background-active",
            "scrollbar-corner-color",
        ),
        background,
    )
    return Theme(
        name=name,
        primary=roles["shown"],
        secondary=roles["bar"],
        accent=roles["shown"],
        warning=roles["bonus"],
        error=error,
        success=roles["accepted"],
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        dark=dark,
        variables={
            **roles,
            "button-focus-text-style": "bold",
            "footer-key-foreground": roles["shown"],
            "input-selection-background": f"{roles['shown']} {selection}%",
            "block-cursor-background": roles["shown"],
            "block-cursor-foreground": on_cursor,
            **dict(zip(("scrollbar", "scrollbar-hover", "scrollbar-active"), scrollbars, strict=True)),
            **behind,
        },
    )


DARK = _theme(
    "ddtree-dark",
    DARK_ROLES,
    dark=True,
    error="#ff6b6b",
    foreground="#dce1e8",
    grounds=("#14171c", "#1b2027", "#232a33"),
    selection=35,
    on_cursor="#14171c",
    scrollbars=("#2c343f", "#3a4553", "#4a5869"),
)
LIGHT = _theme(
    "ddtree-light",
    LIGHT_ROLES,
    dark=False,
    error=LIGHT_ROLES["wrong"],
    foreground="#23292f",
    grounds=("#fcfbf8", "#f3f1ec", "#e9e6df"),
    selection=25,
    on_cursor="#ffffff",
    scrollbars=("#d9d5cc", "#c6c1b6", "#aea89b"),
)
CONTRAST = _theme(
    "ddtree-contrast",
    CONTRAST_ROLES,
    dark=True,
    error=CONTRAST_ROLES["wrong"],
    foreground="#ffffff",
    grounds=("#000000", "#000000", "#1c1c1c"),
    selection=45,
    on_cursor="#000000",
    scrollbars=("#808080", "#b0b0b0", "#ffffff"),
)
THEMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST}
"""By their names in the configuration."""


def role_defaults(dark: bool) -> dict[str, str]:
    """Role colours for themes that do not define them."""
    return DARK_ROLES if dark else LIGHT_ROLES

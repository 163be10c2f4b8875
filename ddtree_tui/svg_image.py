"""Screenshots as files: SVG that looks the same everywhere, and PNG through headless Chromium."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from rich.cells import cell_len

CELL = 12.2
"""Width of a cell in the exported SVG, in its units."""
FONTS = (
    "'Fira Code', 'DejaVu Sans Mono', 'Noto Sans Mono', Menlo, Consolas, 'DejaVu Sans',"
    " 'Noto Sans Mono CJK SC', 'Noto Sans CJK SC', 'Noto Color Emoji', monospace"
)
CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)

_TEXT = re.compile(r'(<text [^>]*?)textLength="[^"]*"([^>]*>)(.*?)(</text>)', re.DOTALL)
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_MATRIX_FONT = re.compile(r"font-family: Fira Code, monospace;")
_WIDE_VARIANT = re.compile(r"\s*font-variant-east-asian: full-width;")
_VIEW_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def tidy_svg(svg: str) -> str:
    """Make an exported screenshot self-contained and its columns exact.

    No font is fetched from elsewhere; every text is as long as its cells, whatever font draws it.

    Raises:
        ElementTree.ParseError: if the result is not well-formed XML.
    """
    svg = _FONT_FACE.sub("", svg)
    svg = _MATRIX_FONT.sub(f"font-family: {FONTS};", svg)
    svg = _WIDE_VARIANT.sub("", svg)
    svg = _TEXT.sub(_exact_length, svg)
    ElementTree.fromstring(svg)
    return svg


def _exact_length(match: re.Match[str]) -> str:
    start, rest, content, end = match.groups()
    cells = cell_len(html.unescape(content))
    return f'{start}textLength="{cells * CELL:g}" lengthAdjust="spacingAndGlyphs"{rest}{content}{end}'


def find_chromium() -> str | None:
    """A Chromium to draw with, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def write_png(svg: str, png: Path, chromium: str, *, timeout_s: float = 60.0) -> None:
    """Draw a tidied SVG into a PNG of the same size.

    Raises:
        RuntimeError: if Chromium does not write it.
    """
    box = _VIEW_BOX.search(svg)
    if box is None:
        raise RuntimeError("the SVG has no viewBox")
    width, height = (round(float(side)) for side in box.groups())
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><style>body{{margin:0}}svg{{display:block;'
            f"width:{width}px;height:{height}px}}</style>{svg}",
            encoding="utf-8",
        )
        command = [
            chromium,
            *CHROMIUM_FLAGS,
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--screenshot={png.resolve()}",
            page.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
    if done.returncode or not png.exists():
        raise RuntimeError(f"Chromium wrote no picture: {done.stderr.decode(errors='replace')[-500:]}")

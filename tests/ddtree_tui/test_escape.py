"""Model text on the screen: nothing invisible, nothing that moves the cursor, valid XML."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree
from xml.sax.saxutils import escape as xml_escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ddtree_tui.escape import decode_bytes, escape, fit, hex_bytes, token_label

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
ALLOWED = "\u200d\ufe0e\ufe0f"

awkward = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from(
            "\x00\x07\x1b\t\n\r\x7f\x85\u00ad\u200b\u200d\u202e\u2066\ufeff\ufe0f\u0301\u115f🙂👩💻❤界"
        ),
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb", "a↵b"),
        ("a\tb", "a⇥b"),
        ("\x1b[31m", "␛[31m"),
        ("\x00\x07\r", "‹00›‹07›‹0d›"),
        ("\x7f\x85", "‹7f›‹85›"),
        ("x\u202ey", "x‹202e›y"),
        ("x\u200by", "x‹200b›y"),
        ("\ufeff", "‹feff›"),
        ("\u2028", "‹2028›"),
        ("\ue000", "‹e000›"),
        ("[/b]", "[/b]"),
        ("你好🙂", "你好🙂"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u200db", "a‹200d›b"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("a\ufe0f", "a‹fe0f›"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "◌\u0301"),
        ("\n\u0301", "↵◌\u0301"),
    ],
)
def test_escape_shows(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_newlines_are_kept_on_request() -> None:
    assert escape("a\nb\t", keep_newlines=True) == "a\nb⇥"


@given(awkward)
def test_escaped_text_is_visible_and_xml(text: str) -> None:
    shown = escape(text)
    for character in shown:
        assert unicodedata.category(character) not in INVISIBLE or character in ALLOWED
    ElementTree.fromstring(f"<a>{xml_escape(shown)}</a>")
    shown.encode()  # no lone surrogates left


@given(awkward)
def test_a_label_is_one_line_with_a_width(text: str) -> None:
    label = token_label(text)
    assert "\n" not in label
    assert " " not in label
    assert cell_len(label) > 0


@given(st.binary(max_size=12))
def test_bytes_are_kept(raw: bytes) -> None:
    text = decode_bytes(raw)
    assert text.encode("utf-8", "surrogateescape") == raw
    escape(text).encode()


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("界".encode()[:2], "⟨e795⟩"),
        ("界".encode()[2:], "⟨8c⟩"),
        ("🙂".encode()[:3], "⟨f09f99⟩"),
        (b"\xff", "⟨ff⟩"),
        (b"ab\xe4\xbd", "ab⟨e4bd⟩"),
        (b" the", "␣the"),
        (b"    return", "␣×4return"),
        (b"\n\n", "↵↵"),
        (b"", "∅"),
        ("\u00a0".encode(), "‹a0›"),
    ],
)
def test_token_labels(raw: bytes, label: str) -> None:
    assert token_label(decode_bytes(raw)) == label


def test_hex_bytes() -> None:
    assert hex_bytes(b"\xe4\xbd") == "⟨e4bd⟩"


@given(awkward, st.integers(min_value=0, max_value=12))
def test_fit_never_exceeds_its_cells(text: str, cells: int) -> None:
    shown = token_label(text)
    cut = fit(shown, cells)
    assert cell_len(cut) <= cells
    if cell_len(shown) <= cells:
        assert cut == shown
    elif cells:
        assert cut.endswith("…")

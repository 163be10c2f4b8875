"""What of a text's tokens is a sign that it degenerates, and what is not."""

from __future__ import annotations

from chain_events import chain_round, prefilled

from engine.detectors.text import Text, repeated
from engine.events import Finding, Tokens


def findings(text: str, prompt: str = "Hello") -> list[Finding]:
    """Of a text whose tokens are its characters: one of the prefill, then seven a round."""
    detector = Text()
    ids = [ord(letter) for letter in text]
    raw = {str(i): "ff" for i in ids if chr(i) == "\ufffd"}
    list(detector.take(Tokens(pieces={str(i): chr(i) for i in ids}, raw=raw)))
    list(detector.take(prefilled(prompt, first_id=ids[0])))
    found = []
    for index, start in enumerate(range(1, len(ids), 7)):
        found += detector.take(chain_round(ids[start : start + 7], index=index))
    return found + list(detector.end())


def test_a_loop_is_named_with_its_period_and_the_round_it_begins_in() -> None:
    found = findings("The answer to this is simple enough to say. " + "no no " * 20)
    assert [finding.cause for finding in found] == ["degenerate-text"]
    assert found[0].severity == "warning"
    assert found[0].evidence["period"] == 3
    assert found[0].round == 6  # character 47, where "no no" has begun again


def test_a_loop_begins_with_the_first_token_that_comes_again() -> None:
    (finding,) = findings("abcd" * 20)
    assert finding.evidence["token"] == 4
    assert finding.round == 0
    assert "0.50 nats a token, before that 0.50" in finding.seen


def test_a_paragraph_that_comes_again_is_a_loop_too() -> None:
    paragraph = "A rather long paragraph of some seventy letters, once more and again. "
    assert findings(paragraph * 4)
    assert not findings(paragraph * 2)


def test_tables_code_and_numbers_are_none() -> None:
    table = "".join(f"| {number:3d} | {number * 7:4d} |\n" for number in range(40))
    assert not findings(table)
    assert not findings("for i in range(10):\n    print(i)\n" * 2)
    assert not findings(", ".join(str(number) for number in range(100)))


def test_three_scripts_letter_by_letter() -> None:
    mixed = "Thinking題目вопрос答案to解the" * 8
    found = findings(mixed)
    assert [finding.evidence["sign"] for finding in found] == ["mixed scripts"]
    assert not findings(mixed, prompt="Explain 題目 and вопрос")


def test_two_languages_and_formulas_are_none() -> None:
    assert not findings("In Python schreibt man 列表 als list, und das Wort 程序 heißt Programm. " * 2)
    assert not findings("Let α and β be angles, so that sin α + cos β ≤ 2, as ∑ ∂x/∂t shows for all ω. ")


def test_bytes_that_form_no_character() -> None:
    words = "every now and then a byte of this long sentence does not belong to any character at all, which "
    broken = "".join("\ufffd" if place % 11 == 5 else letter for place, letter in enumerate(words))
    assert [finding.evidence["sign"] for finding in findings(broken)] == ["no text"]
    assert not findings(words)


def test_periods() -> None:
    assert repeated([*range(60)]) is None
    assert repeated([5] * 64) == 1
    assert repeated([1, 2, 3] * 30) == 3
    assert repeated([*range(60), *([7, 8] * 10)]) is None

"""What a prompt should be by the target's own template and tokenizer, against what is fed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast
from weakref import WeakKeyDictionary

from engine.codec import Codec
from engine.detectors.found import found
from engine.detectors.prompt import SHOWN, tail_of, two_bos
from engine.events import Finding
from engine.observer import Observation, Observer, Start
from engine.settings import Message

WHOLE = 8000
"""Characters of a prompt that are tokenised again as a whole; of a longer one its end alone is."""
ANSWER_TOKENS = 8
_WORDS = "What is the capital of France?"
_QUESTION: list[Message] = [{"role": "user", "content": _WORDS}]
_ENDINGS: WeakKeyDictionary[Codec, dict[bool, str]] = WeakKeyDictionary()


def check_template(codec: Codec) -> Iterator[Finding]:
    """Whether the chat template knows thinking, where the tokenizer does."""
    if not codec.has_template or codec.think_open_id is None:
        return
    on, off = (rendered(codec, _QUESTION, thinking=thinking) for thinking in (True, False))
    if on is not None and on == off:
        yield found(
            "no-thinking-tags",
            "The tokenizer has <think> and </think>, but the chat template renders a question the same with "
            f"thinking on and off: it ends with {on[-SHOWN:]!r}.",
            severity="note" if on.rstrip().endswith("<think>") else "warning",
            tail=on[-SHOWN:],
        )


class Template(Observer):
    """Renders and tokenises an answer's prompt once more, and compares."""

    def started(self, start: Start) -> Iterator[Observation]:
        self._codec, self._prompt = start.pair.codec, start.encoded
        codec, text, ids = start.pair.codec, start.encoded.text, start.encoded.ids
        yield from two_bos(ids, codec.special_ids)
        if start.encoded.plain:
            return
        yield from wrong_tail(codec, start.messages, text, thinking=start.settings.thinking)
        yield from wrong_border(codec, text, ids)

    def ending(self, output: list[int]) -> Iterator[Observation]:
        if not self._prompt.plain:
            yield from joined_border(self._codec, self._prompt.text, self._prompt.ids, output)


def rendered(codec: Codec, messages: Sequence[Message], *, thinking: bool, turn: bool = True) -> str | None:
    """What the template makes of these messages; None if it refuses them. ``turn``: with the beginning of the
    assistant's."""
    try:
        text = codec.tokenizer.apply_chat_template(
            cast("list[dict[str, str]]", [*messages]),
            tokenize=False,
            add_generation_prompt=turn,
            enable_thinking=thinking,
        )
    except Exception:  # a template is a program, and fails in as many ways
        return None
    return str(text)


def usual_ending(codec: Codec, *, thinking: bool) -> str:
    """What the template writes behind a question, rendered once for a codec; empty if it cannot be told."""
    endings = _ENDINGS.setdefault(codec, {})
    if thinking not in endings:
        _, asked, ending = (rendered(codec, _QUESTION, thinking=thinking) or "").rpartition(_WORDS)
        endings[thinking] = ending if asked else ""
    return endings[thinking]


def wrong_tail(codec: Codec, messages: Sequence[Message], text: str, *, thinking: bool) -> Iterator[Finding]:
    """The prompt ends otherwise than the template says for this way to think."""
    usual = usual_ending(codec, thinking=thinking)
    if usual and text.endswith(usual):
        return
    wanted = rendered(codec, messages, thinking=thinking)
    if wanted is None or text == wanted:
        return
    bare = rendered(codec, messages, thinking=thinking, turn=False)
    other = rendered(codec, messages, thinking=not thinking)
    if bare is None or other is None or not wanted.startswith(bare):
        return
    tails = [whole.removeprefix(bare) for whole in (wanted, other)]
    shown = tail_of(messages, text)[-SHOWN:]
    if tails[0] and not any(tail and text.endswith(tail) for tail in tails):
        yield found(
            "no-generation-prompt",
            f"The prompt ends with {shown!r}; by the template it ends with {tails[0][-SHOWN:]!r}.",
            tail=shown,
            wanted=tails[0][-SHOWN:],
        )
    elif tails[0] != tails[1] and text.endswith(tails[1]) and not text.endswith(tails[0]):
        if thinking:
            yield found(
                "no-thinking-tags",
                f"Thinking is on, but the prompt ends as it does with thinking off: {shown!r}.",
                tail=shown,
                wanted=tails[0][-SHOWN:],
            )
        else:
            yield found(
                "thinking-left-on",
                f"Thinking is off, but the prompt ends as it does with thinking on: {shown!r}.",
                tail=shown,
                wanted=tails[0][-SHOWN:],
            )


def wrong_border(codec: Codec, text: str, ids: Sequence[int]) -> Iterator[Finding]:
    """The ids at the prompt's end are not those of its text.

    A control token parts what is before it from what is behind it, so the end can be tokenised alone."""
    start = 0 if len(text) <= WHOLE else _first_control(codec, text, len(text) - WHOLE)
    wanted = codec.tokenise(text[start:])
    if not wanted or [*ids[-len(wanted) :]] == wanted:
        return
    fed = _ending(codec, ids, codec.decode_bytes(wanted))
    if fed is None:
        return  # another text: not a matter of how it is cut into tokens
    at = next(
        (at for at, pair in enumerate(zip(fed, wanted, strict=False)) if pair[0] != pair[1]), len(wanted)
    )
    yield found(
        "prompt-border",
        f"The prompt ends with the tokens {_last(fed, at)}; its text is tokenised to {_last(wanted, at)}.",
        fed=_last(fed, at),
        wanted=_last(wanted, at),
        differs_before_end=len(fed) - at,
    )


def _ending(codec: Codec, ids: Sequence[int], spelled: bytes) -> list[int] | None:
    """The last of the ids, as many as it takes to spell this; None if they spell something else."""
    left = len(spelled)
    for at in range(len(ids) - 1, -1, -1):
        left -= len(codec.token_bytes(ids[at]))
        if left <= 0:
            ending = [*ids[at:]]
            return ending if codec.decode_bytes(ending) == spelled else None
    return None


def joined_border(codec: Codec, text: str, ids: Sequence[int], output: Sequence[int]) -> Iterator[Finding]:
    """A text tokenised whole would have other tokens where the prompt ends: a target that was trained on
    such texts has not seen this border."""
    start = _last_control(codec, text)
    answer = [*output[:ANSWER_TOKENS]]
    tail = codec.tokenise(text[start:])
    if not tail or [*ids[-len(tail) :]] != tail:
        return
    try:
        spelled = codec.decode_bytes(answer).decode()
    except UnicodeDecodeError:  # a character that goes on behind these tokens
        return
    whole = codec.tokenise(text[start:] + spelled)
    if whole[: len(tail)] != tail:
        yield found(
            "prompt-border",
            f"Tokenised together, prompt and answer have {whole[len(tail) - 2 : len(tail) + 2]} at the "
            f"border; apart, as here, {[*tail, *answer][len(tail) - 2 : len(tail) + 2]}.",
            severity="note",
            together=[*whole[: len(tail) + 2]],
            apart=[*tail, *answer[:2]],
        )


def _last_control(codec: Codec, text: str) -> int:
    """Where the last but one control token of the text begins; 0 if there are none."""
    places = sorted(
        place
        for token_id in codec.special_ids
        if (place := text.rfind(codec.token_bytes(token_id).decode("utf-8", "replace"))) >= 0
    )
    return places[-2] if len(places) > 1 else 0


def _first_control(codec: Codec, text: str, start: int) -> int:
    """Where the first control token from there on begins; 0 if there is none."""
    spelled = (codec.token_bytes(token_id).decode("utf-8", "replace") for token_id in codec.special_ids)
    return min((place for name in spelled if (place := text.find(name, start)) >= 0), default=0)


def _last(ids: Sequence[int], at: int) -> list[int | float | str]:
    """From the token before the first difference on, a handful."""
    return [*ids[max(0, at - 1) : at + 5]]

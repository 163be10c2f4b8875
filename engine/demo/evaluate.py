"""What the target can do: answers to held-out questions, judged by the tasks' own checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import Qwen3_5ForCausalLM

from engine.demo.chat import END_OF_TEXT, THINK_CLOSE, TURN_END, render_prompt
from engine.demo.conversation import example_conversation, prompt_messages
from engine.demo.corpus import encode_conversation
from engine.demo.example import Example
from engine.demo.tasks import check
from engine.demo.train_target import weighted_loss
from engine.train.batches import batches
from engine.train.corpus import corpus_of
from engine.train.generate_batch import generate_batch
from engine.train.progress import Progress


@dataclass(frozen=True)
class Answer:
    """One reply of the target.

    Attributes:
        reply_ids: with the token that ended the turn, if ``ended``.
        text: the answer without thoughts; empty when the reply never left its thoughts.
        right: None where the question has no checkable truth.
    """

    example: Example
    thinking: bool
    prompt_ids: list[int]
    reply_ids: list[int]
    ended: bool
    text: str
    right: bool | None


def answer_examples(
    model: Qwen3_5ForCausalLM,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    thinking: bool,
    *,
    limit: int,
    rows: int,
) -> list[Answer]:
    """Greedy replies to all examples, in order. ``rows``: most replies written at once."""
    stop = token_id(tokenizer, TURN_END)
    prompts = [
        tokenizer.encode(
            render_prompt(prompt_messages(each, thinking), thinking), add_special_tokens=False
        ).ids
        for each in examples
    ]
    progress, answers = Progress("answers"), list[Answer]()
    for first in range(0, len(examples), rows):
        some = range(first, min(first + rows, len(examples)))
        for index, reply in zip(some, generate_batch(model, [prompts[i] for i in some], limit), strict=True):
            ended = bool(reply) and reply[-1] == stop
            text = _answer_text(
                tokenizer.decode(reply[: -1 if ended else None], skip_special_tokens=False), thinking
            )
            right = None if examples[index].truth is None else check(examples[index], text)
            answers.append(Answer(examples[index], thinking, prompts[index], reply, ended, text, right))
        right_so_far = _share([a.right for a in answers if a.right is not None])
        label = "thinking on" if thinking else "thinking off"
        progress.update(len(answers) / len(examples), f"{label}: {right_so_far or 0:.1%} right")
    return answers


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a token that must be there.

    Raises:
        ValueError: it is not.
    """
    found = tokenizer.token_to_id(token)
    if found is None:
        raise ValueError(f"the tokenizer has no token {token}")
    return found


def _answer_text(reply: str, thinking: bool) -> str:
    if not thinking:
        return reply.strip()
    _, closed, answer = reply.partition(THINK_CLOSE)
    return answer.strip() if closed else ""


def summarize_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """Accuracy by task and overall (checkable questions only), share that ended, reply lengths."""
    by_task: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_task[answer.example.task].append(answer)
    return {
        "questions": len(answers),
        "accuracy": _share([a.right for a in answers if a.right is not None]),
        "ends_by_itself": _share([a.ended for a in answers]),
        "mean_reply_tokens": round(sum(len(a.reply_ids) for a in answers) / max(len(answers), 1), 1),
        "tasks": {
            task: {
                "questions": len(some),
                "checkable": sum(a.right is not None for a in some),
                "accuracy": _share([a.right for a in some if a.right is not None]),
                "ends_by_itself": _share([a.ended for a in some]),
            }
            for task, some in sorted(by_task.items())
        },
        "kinds": _kinds(answers),
    }


def _kinds(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Accuracy by task and kind, to see what to train more."""
    groups: dict[str, list[bool | None]] = defaultdict(list)
    for answer in answers:
        if answer.right is not None:
            groups[f"{answer.example.task}/{answer.example.kind}"].append(answer.right)
    return {name: _share(values) for name, values in sorted(groups.items())}


def wrong_answers(answers: Sequence[Answer], count: int) -> list[dict[str, str]]:
    """The first few answers that were wrong, for a person to read."""
    wrong = [a for a in answers if a.right is False]
    return [
        {
            "task": f"{a.example.task}/{a.example.kind}",
            "prompt": a.example.prompt,
            "expected": a.example.answer if a.thinking else a.example.answer_direct,
            "answer": a.text,
        }
        for a in wrong[:count]
    ]


@torch.inference_mode()
def heldout_loss(
    model: Qwen3_5ForCausalLM, tokenizer: Tokenizer, examples: Sequence[Example], thinking: bool, tokens: int
) -> float:
    """Mean loss per reply token (nats) on the written-out answers of held-out examples."""
    encoded = [encode_conversation(tokenizer, example_conversation(each, thinking)) for each in examples]
    longest = max(len(each.ids) for each in encoded)
    total, count = 0.0, 0
    pad_id = token_id(tokenizer, END_OF_TEXT)
    data = corpus_of((each.ids, each.answer) for each in encoded)
    source = batches(
        data, tokens=max(tokens, longest + 64), pad_id=pad_id, seed=0, skip=0, max_length=longest
    )
    rows = 0
    while rows < len(examples):
        batch = next(source).to(model.device)
        amount = int(batch.reply.sum())
        loss = weighted_loss(model(input_ids=batch.ids, use_cache=False).logits, batch, 0.0)[1]
        total, count, rows = total + float(loss) * amount, count + amount, rows + len(batch.ids)
    return total / max(count, 1)


def _share(values: Sequence[bool | None]) -> float | None:
    return round(sum(bool(v) for v in values) / len(values), 4) if values else None

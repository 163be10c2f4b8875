"""Synthetic but faithful event streams: what the engine would report, without an engine.

A seeded drafter and a seeded target speak over a vocabulary with everything that is awkward to show:
markup, control and bidirectional characters, half UTF-8 characters, CJK, Hebrew, Arabic, emoji. Trees are
built best-first, walked and missed by the rules of the design, so every invariant of a real round holds.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.event_lines import encode_event
from engine.events import (
    TOP_CANDIDATES,
    AnyEvent,
    Candidates,
    Finished,
    Loaded,
    Loading,
    Miss,
    ModelInfo,
    Nodes,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.settings import DecodeSettings, Message, Mode

BLOCK = 16
LISTED = 64
"""Candidates per depth that the drafter's tree is built from."""

IM_END, THINK, END_THINK, MASK = 0, 1, 2, 3
SPECIAL = ("<|im_end|>", "<think>", "</think>", "<|mask|>")

PROSE = (
    " The| quick| brown| fox| jumps| over| the| lazy| dog| and| then| runs| home| because| it| is| late|.|,|"
    " A| model| draft| tree| grows| from| root| to| leaf|;| each| branch| is| a| guess|"
    " that| may| be| right|!|"
    " We| count|:| one| two| three| four| five|?| So| far| this| was| only| an| example| of| ordinary| text|"
    "\n|\n\n| def| add|(|a|b|)|:| return| +| -| *| =| 1|2|3|4|5|6|7|8|9|0| 12| 30| 42|    |        |import"
).split("|")

AWKWARD: tuple[bytes, ...] = (
    b"[/b]",
    b"[bold red]",
    b"[link=x]",
    b"\x1b[31m",
    b"\x1b",
    b"\x07",
    b"\x00",
    b"\t",
    b"\r\n",
    "\u202e".encode(),
    "\u200b".encode(),
    "你好".encode(),
    "世".encode(),
    "界".encode()[:2],
    "界".encode()[2:],
    "🙂".encode(),
    "🙂".encode()[:3],
    "🙂".encode()[3:],
    "👩\u200d💻".encode(),
    "e\u0301".encode(),
    "\u0301".encode(),
    "한국".encode(),
    b"\xff",
    b"&amp;<br/>",
    b"]]>",
    " שלום".encode(),
    "مرحبا".encode(),
    "لا".encode(),
)

VOCABULARY: tuple[bytes, ...] = (
    *(text.encode() for text in SPECIAL),
    *(text.encode() for text in dict.fromkeys(PROSE) if text),
    *AWKWARD,
)


def token_id(text: str | bytes) -> int:
    """The id of a token of the vocabulary."""
    raw = text.encode() if isinstance(text, str) else text
    return VOCABULARY.index(raw)


def spelled(ids: list[int]) -> Tokens:
    """The announcement of some ids, as the engine's codec writes it."""
    pieces, raw = {}, {}
    for token in ids:
        data = VOCABULARY[token]
        try:
            pieces[str(token)] = data.decode()
        except UnicodeDecodeError:
            pieces[str(token)] = data.decode("utf-8", "replace")
            raw[str(token)] = data.hex()
    return Tokens(pieces=pieces, raw=raw, special=[token for token in ids if token < len(SPECIAL)])


def loaded(*, hybrid: bool = True) -> Loaded:
    """A pair like the demo's."""
    kinds = {"linear_attention": 9, "full_attention": 3} if hybrid else {"full_attention": 12}
    target = ModelInfo(
        name="demo",
        path="demo/target",
        architecture="Qwen3_5ForCausalLM",
        parameters=16_200_000,
        dtype="float32",
        layer_kinds=kinds,
    )
    drafter = ModelInfo(
        name="demo", path="demo/drafter", architecture="DFlash", parameters=4_300_000, dtype="float32"
    )
    return Loaded(
        target=target,
        drafter=drafter,
        device="cpu",
        versions={"torch": "2.13.0", "transformers": "5.24.0"},
        block_size=BLOCK,
        mask_token_id=MASK,
        target_layer_ids=[1, 6, 10],
        memory_bytes=90_000_000,
        seconds=2.1,
        context_length=4096,
        vocab_size=len(VOCABULARY),
    )


@dataclass
class Recording:
    """A generator of answers.

    Args:
        skill: how likely the drafter's first choice is the target's, at depth 1; falls with depth.
        awkward: share of tokens that are hard to show.
        ms: what a round takes, in milliseconds.
    """

    seed: int = 0
    skill: float = 0.85
    awkward: float = 0.1
    ms: float = 33.0
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def start(self) -> Iterator[AnyEvent]:
        """Loading, loaded, and the whole vocabulary announced."""
        for done, stage in enumerate(("reading the tokenizer", "reading the target", "reading the drafter")):
            yield Loading(stage=stage, done=done, total=3, t=0.3 * done)
        yield loaded()
        yield spelled(list(range(len(VOCABULARY))))

    def answer(
        self,
        prompt: str,
        *,
        settings: DecodeSettings | None = None,
        rounds: int = 40,
        history: tuple[Message, ...] = (),
        thinking_rounds: int = 10,
    ) -> Iterator[AnyEvent]:
        """One answer of ``rounds`` rounds; the last one is cut by the stop token."""
        settings = settings or DecodeSettings()
        root = self.pick()
        position = 20 + 7 * len(history)
        tail = "<think>\n" if settings.thinking else "<think>\n\n</think>\n\n"
        t = 0.05
        yield Prefilled(
            prompt_ids=list(range(4, position + 4)),
            prompt_text=f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{tail}",
            messages=[*history, {"role": "user", "content": prompt}],
            thinking=settings.thinking,
            settings=settings,
            stop_ids=[IM_END],
            seconds=0.05,
            first_id=root,
            t=t,
        )
        output = [root]
        done: list[Round] = []
        for index in range(rounds):
            last = index == rounds - 1
            forced = END_THINK if settings.thinking and index == thinking_rounds else None
            round_ = self.round(settings, index, position, root, stop=last, forced_bonus=forced, t=t)
            t = round_.t
            yield round_
            done.append(round_)
            output += round_.committed_ids
            position += round_.acceptance_length
            root = output[-1]
        yield self.finished(settings, output, done, t, "stop")

    def pick(self) -> int:
        """A token of the text."""
        if self.rng.random() < self.awkward:
            return len(VOCABULARY) - 1 - self.rng.randrange(len(AWKWARD))
        return len(SPECIAL) + self.rng.randrange(len(VOCABULARY) - len(SPECIAL) - len(AWKWARD))

    def round(
        self,
        settings: DecodeSettings,
        index: int,
        position: int,
        root: int,
        *,
        stop: bool = False,
        forced_bonus: int | None = None,
        t: float = 0.0,
    ) -> Round:
        """Draft, build, walk: one round that starts at ``root``."""
        mode: Mode = settings.mode
        truth = [self.pick() for _ in range(BLOCK - 1)]
        if forced_bonus is not None:
            truth = [*truth[: self.rng.randrange(3)], forced_bonus, *truth]
            truth = truth[: BLOCK - 1]
        lists = [] if mode == "ar" else [self.candidates(truth[d], d + 1) for d in range(BLOCK - 1)]
        nodes = build(lists, settings.budget if mode == "tree" else BLOCK - 1, chain=mode == "chain")
        accepted: list[int] = []
        parent, wanted = -1, iter(truth)
        bonus = next(wanted)
        children = {(p, i): n for n, (p, i) in enumerate(zip(nodes.parents, nodes.ids, strict=True))}
        while (node := children.get((parent, bonus))) is not None:
            accepted.append(node)
            parent = node
            following = next(wanted, None)
            bonus = self.pick() if following is None else following
            if forced_bonus is not None and nodes.ids[node] == forced_bonus:
                break
        depth = len(accepted) + 1
        miss = None
        if mode != "ar" and depth < BLOCK:
            listed = [token for token, _ in lists[depth - 1]]
            rank = listed.index(bonus) if bonus in listed else LISTED + self.rng.randrange(20)
            logprob = dict(lists[depth - 1]).get(bonus, math.log(2e-4))
            miss = Miss(depth=depth, id=bonus, rank=rank, logprob=logprob, beyond=bonus not in listed)
        bonus_id: int | None = bonus
        committed = [nodes.ids[node] for node in accepted] + [bonus]
        if stop:
            committed[-1] = IM_END
            bonus_id = IM_END
            miss = None
        rows = 1 + len(nodes.ids)
        target_ids = [self.pick() for _ in range(rows)]
        for row, chosen in zip([0, *(node + 1 for node in accepted)], committed, strict=True):
            target_ids[row] = chosen
        times = self.times(len(nodes.ids), mode)
        logprobs = [-self.rng.random() for _ in range(rows)]
        return Round(
            index=index,
            mode=mode,
            position=position,
            root_id=root,
            nodes=nodes,
            target=TargetRows(ids=target_ids, logprobs=logprobs, gaps=[2.5] * rows),
            accepted=accepted,
            bonus_id=bonus_id,
            miss=miss,
            committed_ids=committed,
            acceptance_length=len(committed),
            ms=times,
            budget=settings.budget,
            drafter_topk=best(lists) if settings.detail and lists else None,
            target_topk=self.thought_of(target_ids, logprobs) if settings.detail else None,
            t=t + times.total / 1000,
        )

    def thought_of(self, chosen: list[int], logprobs: list[float]) -> Candidates:
        """The target's best candidates in every row: its choice, and others behind it."""
        rows = []
        for token, logprob in zip(chosen, logprobs, strict=True):
            others = random.Random(token).sample([i for i in range(len(VOCABULARY)) if i != token], LISTED)
            rest = math.log(max(1e-4, 1 - math.exp(logprob)))
            falling = [(other, min(logprob, rest) - place) for place, other in enumerate(others, 1)]
            rows.append([(token, logprob), *falling])
        return best(rows)

    def candidates(self, wanted: int, depth: int) -> list[tuple[int, float]]:
        """The drafter's list at a depth, best first: (id, log-prob)."""
        skill = self.skill * math.exp(-(depth - 1) / 14)
        others = [token for token in range(len(SPECIAL), len(VOCABULARY)) if token != wanted]
        picks = self.rng.sample(others, min(LISTED, len(others)))
        draw = self.rng.random()
        place = 0 if draw < skill else 1 + int(self.rng.expovariate(0.35))
        if place < len(picks):
            picks.insert(place, wanted)
        picks = picks[:LISTED]
        flat = 0.35 + 2.4 * self.rng.random() ** 2 * max(0.1, 1.2 - skill)
        weights = [math.exp(-rank / flat) + 2e-4 for rank in range(len(picks))]
        total = sum(weights) * 1.02
        return [(token, math.log(weight / total)) for token, weight in zip(picks, weights, strict=True)]

    def times(self, nodes: int, mode: Mode) -> StageTimes:
        """Stage times that add up to about ``ms``."""
        total = self.ms * self.rng.uniform(0.85, 1.2)
        if mode == "ar":
            return StageTimes(verify=0.9 * total, walk=0.01 * total, commit=0.05 * total, total=total)
        build = total * 0.02 * (1 + nodes / 64)
        return StageTimes(
            draft=0.2 * total,
            build=build,
            verify=0.68 * total,
            walk=0.01 * total,
            commit=0.06 * total,
            total=total + build,
        )

    def finished(
        self, settings: DecodeSettings, output: list[int], rounds: list[Round], t: float, reason: str
    ) -> Finished:
        """Totals over the rounds, and the texts."""
        thinking, answer = split_text(output, settings.thinking)
        histogram = [0] * (max((r.acceptance_length for r in rounds), default=0) + 1)
        for round_ in rounds:
            histogram[round_.acceptance_length] += 1
        tokens = sum(r.acceptance_length for r in rounds)
        total = sum(r.ms.total for r in rounds)
        return Finished(
            reason="stop" if reason == "stop" else "cancelled",
            output_ids=output,
            text=answer,
            thinking_text=thinking,
            rounds=len(rounds),
            tokens=len(output),
            mean_acceptance_length=tokens / max(1, len(rounds)),
            acceptance_histogram=histogram,
            tokens_per_second=1000 * tokens / total if total else 0.0,
            ttft_s=0.05,
            ms=StageTimes(
                draft=sum(r.ms.draft for r in rounds),
                build=sum(r.ms.build for r in rounds),
                verify=sum(r.ms.verify for r in rounds),
                walk=sum(r.ms.walk for r in rounds),
                commit=sum(r.ms.commit for r in rounds),
                total=total,
            ),
            drafted=sum(len(r.nodes.ids) for r in rounds),
            accepted=sum(len(r.accepted) for r in rounds),
            t=t,
        )


def best(lists: list[list[tuple[int, float]]]) -> Candidates:
    """The first few of each list, as an event holds them."""
    return Candidates(
        ids=[[token for token, _ in row[:TOP_CANDIDATES]] for row in lists],
        logprobs=[[logprob for _, logprob in row[:TOP_CANDIDATES]] for row in lists],
    )


def build(lists: list[list[tuple[int, float]]], budget: int, *, chain: bool) -> Nodes:
    """The ``budget`` best prefixes of the product distribution, best-first with a heap (DDTree)."""
    ids: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    logprobs: list[float] = []
    ranks: list[int] = []
    order = itertools.count()
    heap: list[tuple[float, int, int, int, int]] = []  # -weight, order, parent, depth, rank

    def offer(weight: float, parent: int, depth: int, rank: int) -> None:
        if depth <= len(lists) and rank < len(lists[depth - 1]) and not (chain and rank):
            step = lists[depth - 1][rank][1]
            heapq.heappush(heap, (-(weight + step), next(order), parent, depth, rank))

    offer(0.0, -1, 1, 0)
    while heap and len(ids) < budget:
        negative, _, parent, depth, rank = heapq.heappop(heap)
        token, logprob = lists[depth - 1][rank]
        node = len(ids)
        ids.append(token)
        parents.append(parent)
        depths.append(depth)
        logprobs.append(logprob)
        ranks.append(rank)
        offer(-negative - logprob, parent, depth, rank + 1)
        offer(-negative, node, depth + 1, 0)
    return Nodes(ids=ids, parents=parents, depths=depths, logprobs=logprobs, ranks=ranks)


def split_text(output: list[int], in_thinking: bool) -> tuple[str, str]:
    """Thinking and answer, decoded as the engine decodes them."""
    texts = {True: b"", False: b""}
    for token in output:
        if token in (THINK, END_THINK):
            in_thinking = token == THINK
        elif token >= len(SPECIAL):
            texts[in_thinking] += VOCABULARY[token]
    return tuple(texts[key].decode("utf-8", "replace") for key in (True, False))  # type: ignore[return-value]


def conversation(
    seed: int = 0,
    *,
    rounds: int = 40,
    budget: int = 64,
    thinking: bool = True,
    mode: Mode = "tree",
    detail: bool = False,
) -> list[AnyEvent]:
    """A whole recorded run of one answer."""
    recording = Recording(seed)
    settings = DecodeSettings(budget=budget, thinking=thinking, mode=mode, detail=detail)
    return [*recording.start(), *recording.answer("What is 12 + 30?", settings=settings, rounds=rounds)]


def main() -> None:
    """Write a recording to standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--mode", choices=("ar", "chain", "tree"), default="tree")
    parser.add_argument("--no-thinking", action="store_true")
    parser.add_argument("--detail", action="store_true")
    options = parser.parse_args()
    for event in conversation(
        options.seed,
        rounds=options.rounds,
        budget=options.budget,
        thinking=not options.no_thinking,
        mode=options.mode,
        detail=options.detail,
    ):
        sys.stdout.buffer.write(encode_event(event) + b"\n")


if __name__ == "__main__":
    main()

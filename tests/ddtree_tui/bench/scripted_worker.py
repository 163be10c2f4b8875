"""A worker that answers by arithmetic: the text depends on the prompt and the seed alone, the acceptance
length on the mode, the time on both. Usage: python scripted_worker.py COMMANDS_FILE [FAULT].

Faults: ``differs`` (chain writes another token at index 5, at a gap of 0.125), ``die`` (killed in the
third answer of full length), ``wait`` (the fourth never ends), ``alone`` (no drafter), ``torn`` (no memory
for trees).
"""

from __future__ import annotations

import os
import signal
import sys
import time
import zlib
from pathlib import Path

from engine.commands import Generate, Load, MeasureFloor, MeasureMemory, MeasureNoise, decode_command
from engine.event_lines import encode_event
from engine.events import (
    AnyEvent,
    Failed,
    Finished,
    Floor,
    Loaded,
    MemoryUse,
    ModelInfo,
    Nodes,
    Noise,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
)
from engine.settings import DecodeSettings

PROMPT_IDS = [1, 2, 3, 4]
LENGTHS = {"ar": 1, "chain": 2, "tree": 4}
MILLISECONDS = {"ar": 10.0, "chain": 12.0, "tree": 16.0}


def text_of(prompt: str, settings: DecodeSettings, most: int) -> list[int]:
    """Between 9 and 24 tokens."""
    mixed = zlib.crc32(f"{prompt} {settings.thinking} {settings.temperature} {settings.seed}".encode())
    return [100 + mixed % (place + 7) for place in range(9 + mixed % 16)][:most]


class Script:
    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.full = 0

    def answer(self, command: Generate) -> None:
        settings, prompt = command.settings, command.messages[-1]["content"]
        assert command.fresh
        if prompt == "too long":
            return emit(Failed(error="prompt_too_long", message="The prompt has 900 tokens."))
        if self.fault == "torn" and settings.mode == "tree":
            return emit(Failed(error="out_of_memory", message="There is not enough memory."))
        self.full += settings.max_new_tokens == 99
        if self.fault == "die" and self.full == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "wait" and self.full == 4:
            time.sleep(600)
        return self.decode(settings, text_of(prompt, settings, settings.max_new_tokens))

    def decode(self, settings: DecodeSettings, text: list[int]) -> None:
        if "differs" in self.fault and settings.mode == "chain" and len(text) > 5:
            text[5] = 7
        emit(
            Prefilled(
                prompt_ids=PROMPT_IDS,
                prompt_text="",
                messages=[],
                thinking=settings.thinking,
                settings=settings,
                stop_ids=[0],
                seconds=0.05,
                first_id=text[0],
            )
        )
        done, index, histogram = 1, 0, [0] * 6
        while done < len(text):
            committed = text[done : done + LENGTHS[settings.mode]]
            emit(self.round(settings, index, done, committed, text[done - 1]))
            histogram[len(committed)] += 1
            done, index = done + len(committed), index + 1
        emit(
            Finished(
                t=1.0,
                reason="stop",
                output_ids=text,
                text="",
                thinking_text="",
                rounds=index,
                tokens=len(text),
                mean_acceptance_length=0.0,
                acceptance_histogram=histogram,
                tokens_per_second=0.0,
                ttft_s=0.05,
                ms=StageTimes(),
                drafted=0,
                accepted=0,
            )
        )

    def round(self, settings: DecodeSettings, index: int, done: int, ids: list[int], root: int) -> Round:
        drafted = ids[:-1]
        total = MILLISECONDS[settings.mode]
        gaps = [0.125 if done + place == 5 else 2.0 for place in range(len(ids))]
        return Round(
            index=index,
            mode=settings.mode,
            position=len(PROMPT_IDS) + done - 1,
            root_id=root,
            nodes=Nodes(
                ids=drafted,
                parents=list(range(-1, len(drafted) - 1)),
                depths=list(range(1, len(drafted) + 1)),
                logprobs=[-0.1] * len(drafted),
                ranks=[0] * len(drafted),
            ),
            target=TargetRows(ids=ids, logprobs=[-0.1] * len(ids), gaps=gaps),
            accepted=list(range(len(drafted))),
            bonus_id=ids[-1],
            miss=None,
            committed_ids=ids,
            acceptance_length=len(ids),
            ms=StageTimes(draft=total / 4, verify=total / 2, total=total),
            budget=settings.budget,
        )

    def loaded(self) -> Loaded:
        target = ModelInfo(name="t", path="", architecture="T", parameters=1, dtype="float32")
        return Loaded(
            target=target,
            drafter=None if self.fault == "alone" else target,
            device="cpu",
            versions={"torch": "0"},
            block_size=16,
            mask_token_id=0,
            target_layer_ids=[0],
            memory_bytes=1,
            seconds=0.1,
            context_length=100,
            vocab_size=200,
        )


def emit(event: AnyEvent) -> None:
    os.write(1, encode_event(event) + b"\n")


def main() -> None:
    script = Script(sys.argv[2] if len(sys.argv) > 2 else "")
    with Path(sys.argv[1]).open("ab", buffering=0) as log:
        for line in sys.stdin.buffer:
            log.write(line)
            match command := decode_command(line):
                case Load():
                    emit(script.loaded())
                case Generate():
                    script.answer(command)
                case MeasureMemory():
                    emit(MemoryUse(of="process", bytes=2**20, peak_bytes=3 * 2**20))
                case MeasureNoise():
                    emit(Noise(lead=0.25 if "noisy" in script.fault else None))
                case MeasureFloor():
                    emit(Floor(bytes_per_second=1e9, target_bytes=5_000_000, drafter_bytes=1_000_000))


if __name__ == "__main__":
    main()

"""A scripted engine for the server: a byte is a token, and the answer is the question. Real pipes, no torch.

Usage: python echo_worker.py SCENARIO LOG. What a question begins with may change how it is answered:
``slow`` a round every 20 ms until cancelled, ``flood`` rounds as fast as can be, ``silent`` the first token
and then nothing, ``die`` the end of the process, ``garble`` a line that is no event, ``fail`` an error,
``late`` a finding behind the end; after ``unmeasured`` the memory cannot be measured. The scenarios say what
is wrong with the engine itself; one that is ``told`` loads when there is a file LOG.go, and fails to once
where there is LOG.fail.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from engine.commands import AnyCommand, Cancel, Generate, Load, MeasureMemory, Quit, decode_command
from engine.events import (
    Candidates,
    Checked,
    Failed,
    Finding,
    Finished,
    Loading,
    MemoryUse,
    Nodes,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.text_stream import TextStream

sys.path.append(str(Path(__file__).parent.parent))
from stand_in import emit, made_up_pair

EOS = 256
LATE_SECONDS = 0.2
"""Time for the next request to come, if the server let it."""
CONTEXT = 200
scenario = sys.argv[1] if len(sys.argv) > 1 else "ok"
cancelled = threading.Event()


def load() -> None:
    emit(Loading(stage="Reading", done=0, total=2))
    if scenario == "not_loaded":
        emit(Failed(error="model_not_found", message="There is no model x.", hint="Choose another."))
        return
    if scenario == "told":
        fail, go = (Path(f"{sys.argv[2]}.{what}") for what in ("fail", "go"))
        if fail.exists():
            fail.unlink()
            emit(Failed(error="out_of_memory", message="The memory is full.", hint="Buy more."))
            return
        while not go.exists():
            time.sleep(0.02)
    emit(made_up_pair("echo", block_size=8, mask_id=255, context=CONTEXT, vocab_size=257))


def start(command: Generate, prompt: list[int], first: int) -> None:
    every = [*range(256)]
    emit(
        Tokens(
            pieces={str(i): bytes([i]).decode(errors="replace") for i in every} | {str(EOS): "<|im_end|>"},
            raw={str(i): f"{i:02x}" for i in every if i > 127},
            special=[EOS],
        )
    )
    emit(
        Prefilled(
            prompt_ids=prompt,
            prompt_text=command.messages[-1]["content"],
            messages=command.messages,
            thinking=command.settings.thinking,
            settings=command.settings,
            stop_ids=[EOS],
            seconds=0.001,
            first_id=first,
            first_logprob=-0.5,
            first_topk=Candidates(ids=[[first, 63]], logprobs=[[-0.5, -2.0]]),
        )
    )


def send_round(index: int, ids: list[int]) -> None:
    depths = len(ids) - 1
    emit(
        Round(
            index=index,
            mode="tree",
            position=index,
            root_id=0,
            nodes=Nodes(
                ids=ids[:-1],
                parents=[*range(-1, depths - 1)],
                depths=[*range(1, depths + 1)],
                logprobs=[-0.1] * depths,
                ranks=[0] * depths,
            ),
            target=TargetRows(ids=ids, logprobs=[-0.25] * len(ids), gaps=[1.0] * len(ids)),
            accepted=[*range(depths)],
            bonus_id=ids[-1],
            miss=None,
            committed_ids=ids,
            acceptance_length=len(ids),
            ms=StageTimes(draft=0.1, verify=0.9, total=1.0),
            budget=64,
            target_topk=Candidates(ids=[[i, 63] for i in ids], logprobs=[[-0.25, -3.0]] * len(ids)),
        )
    )


class Bytes:
    """The vocabulary."""

    special_ids = frozenset([EOS])
    think_open_id = think_close_id = None
    strips_first_space = False

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])


def read(ids: list[int], stop: Sequence[str] = ()) -> TextStream:
    """The text of ids, up to a stop string."""
    stream = TextStream(Bytes(), stop=stop)
    for token_id in ids:
        if stream.push(token_id):
            return stream
    stream.close()
    return stream


def finish(
    reason: Literal["stop", "length", "cancelled"], ids: list[int], rounds: int, stop: Sequence[str] = ()
) -> None:
    emit(
        Finished(
            reason=reason,
            output_ids=ids,
            text=read(ids, stop).text,
            thinking_text="",
            rounds=rounds,
            tokens=len(ids),
            mean_acceptance_length=(len(ids) - 1) / max(1, rounds),
            acceptance_histogram=[0, 0, 0, rounds],
            tokens_per_second=100.0,
            ttft_s=0.001,
            ms=StageTimes(total=float(rounds)),
            drafted=2 * rounds,
            accepted=2 * rounds,
        )
    )


def answer(command: Generate) -> None:
    cancelled.clear()
    text = command.messages[-1]["content"]
    prompt = [*text.encode()]
    if len(prompt) >= CONTEXT:
        message = f"The prompt has {len(prompt)} tokens and the model's context ends at {CONTEXT}."
        emit(Failed(error="prompt_too_long", message=message, hint="Shorten the prompt."))
        return
    if text.startswith("fail"):
        emit(Failed(error="out_of_memory", message="There is not enough memory for this.", hint="Buy more."))
        return
    if scenario == "slow_check" and command.fresh:
        time.sleep(1.3)
    whole = [*prompt, EOS][: command.settings.max_new_tokens]
    stream = read(whole, command.settings.stop)
    whole = whole[: stream.tokens]
    start(command, prompt, whole[0])
    if text.startswith("die"):
        os._exit(7)
    if text.startswith("silent"):
        signal.pause()
    rounds = 0
    if text.startswith("garble"):
        os.write(1, b"no event\n")
    if text.startswith("slow"):
        done = [whole[0]]
        while not cancelled.wait(0.02):
            send_round(rounds, [*b"abc"])
            done += b"abc"
            rounds += 1
        finish("cancelled", done, rounds)
        return
    if text.startswith("flood"):
        while not cancelled.is_set():
            send_round(rounds, [*b"abc"])
            rounds += 1
        finish("cancelled", [*b"fabc"], rounds)
        return
    for at in range(1, len(whole), 3):
        send_round(rounds, whole[at : at + 3])
        rounds += 1
    stopped = whole[-1] == EOS or stream.stopped is not None
    finish("stop" if stopped else "length", whole, rounds, command.settings.stop)
    if text.startswith("late"):
        time.sleep(LATE_SECONDS)
        emit(FINDING)
    if command.settings.oracle != "off":
        check(len(whole))


FINDING = Finding(
    cause="mask-id",
    severity="defect",
    seen="The mask id is 7, the drafter was trained with 255.",
    why="It reads a mask as a word.",
    todo="Take mask_token_id from the drafter's config.json.",
)


def measure_memory(behind: str) -> None:
    if behind.startswith("unmeasured"):
        time.sleep(LATE_SECONDS)
        emit(Failed(error="internal", message="The engine failed unexpectedly.", command="measurememory"))
    else:
        emit(MemoryUse(of="process", bytes=1000, peak_bytes=2000))


def check(positions: int) -> None:
    emit(
        Checked(
            oracle="full",
            verdict="identical",
            positions=positions,
            compared=positions,
            ties=0,
            defects=0,
            noise=0.0,
            seconds=0.01,
        )
    )


def read_commands(commands: queue.SimpleQueue[AnyCommand]) -> None:
    for line in sys.stdin.buffer:
        command = decode_command(line)
        if isinstance(command, Cancel):
            cancelled.set()
        elif isinstance(command, Quit):
            break
        else:
            commands.put(command)
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands: queue.SimpleQueue[AnyCommand] = queue.SimpleQueue()
    threading.Thread(target=read_commands, args=(commands,), daemon=True).start()
    asked = ""
    while True:
        match commands.get():
            case Load():
                load()
            case Generate() as command:
                answer(command)
                asked = command.messages[-1]["content"]
            case MeasureMemory():
                measure_memory(asked)


if __name__ == "__main__":
    main()

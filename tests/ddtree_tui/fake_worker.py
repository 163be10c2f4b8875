"""A scripted stand-in for the engine's worker: real commands and events, no torch.

Usage: python fake_worker.py SCENARIO LOG [PID_FILE]. The scenarios are the functions named ``answer_*``
(how a ``generate`` command is answered) and the few words ``main`` looks at.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

from engine.commands import AnyCommand, Cancel, Generate, Load, Quit, decode_command
from engine.detectors.found import found
from engine.events import (
    Failed,
    Finished,
    Loading,
    Nodes,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)

sys.path.append(str(Path(__file__).parent))  # workers are started so that they do not find their own folder
from stand_in import emit, made_up_pair

EOS, THINK, END_THINK = 0, 1, 2
PIECES = {0: "<|im_end|>", 1: "<think>", 2: "</think>", 3: "12", 4: " +", 5: " 30", 6: " =", 7: " 42", 8: "."}
PIECES |= {9: "\n\n", 12: "[/b]", 13: "\x1b[31m", 14: "Q:"}
RAW = {10: b"\xe4\xbd", 11: b"\xa0"}  # one CJK character in two tokens

cancelled = threading.Event()


def start(command: Generate, first_id: int) -> None:
    emit(
        Tokens(
            pieces={str(token_id): piece for token_id, piece in PIECES.items()},
            raw={str(token_id): data.hex() for token_id, data in RAW.items()},
            special=[EOS],
        )
    )
    thinking = command.settings.thinking
    emit(
        Prefilled(
            prompt_ids=[3, 4, 5],
            prompt_text="<|im_start|>assistant\n" + ("<think>\n" if thinking else "<think>\n\n</think>\n\n"),
            messages=command.messages,
            thinking=thinking,
            settings=command.settings,
            stop_ids=[EOS],
            seconds=0.01,
            first_id=first_id,
        )
    )


def send_round(index: int, ids: list[int]) -> None:
    accepted = ids[:-1]
    nodes = Nodes(
        ids=accepted,
        parents=list(range(-1, len(accepted) - 1)),
        depths=list(range(1, len(accepted) + 1)),
        logprobs=[-0.1] * len(accepted),
        ranks=[0] * len(accepted),
    )
    emit(
        Round(
            index=index,
            mode="tree",
            position=3 + index,
            root_id=3,
            nodes=nodes,
            target=TargetRows(ids=ids, logprobs=[-0.1] * len(ids), gaps=[1.0] * len(ids)),
            accepted=list(range(len(accepted))),
            bonus_id=ids[-1],
            miss=None,
            committed_ids=ids,
            acceptance_length=len(ids),
            ms=StageTimes(total=1.0),
            budget=64,
        )
    )


def finish(reason: str, ids: list[int], text: str, thinking: str = "", rounds: int = 2) -> None:
    emit(
        Finished(
            reason=reason,
            output_ids=ids,
            text=text,
            thinking_text=thinking,
            rounds=rounds,
            tokens=len(ids),
            mean_acceptance_length=(len(ids) - 1) / max(1, rounds),
            acceptance_histogram=[0, 0, 1, 1],
            tokens_per_second=100.0,
            ttft_s=0.01,
            ms=StageTimes(total=2.0),
            drafted=4,
            accepted=3,
        )
    )


def answer_plain(command: Generate) -> None:
    start(command, 3)
    send_round(0, [4, 5, 6])
    send_round(1, [7, 8, EOS])
    finish("stop", [3, 4, 5, 6, 7, 8, EOS], "12 + 30 = 42.")


def answer_thinking(command: Generate) -> None:
    start(command, 3)
    send_round(0, [4, 5, END_THINK])
    send_round(1, [9, 7, 8, EOS])
    finish("stop", [3, 4, 5, END_THINK, 9, 7, 8, EOS], " 42.", "12 + 30")


def answer_noticed(command: Generate) -> None:
    """A detector notices something that cannot be printed as it is."""
    start(command, 3)
    send_round(0, [4, 5, 6])
    emit(found("quantised-target", "It may be.", severity="note"))
    emit(found("wrong-leaf", "Node [7]\x1b[2J is another.", round=0, node=7))
    send_round(1, [7, 8, EOS])
    finish("stop", [3, 4, 5, 6, 7, 8, EOS], "12 + 30 = 42.")


def answer_bytes(command: Generate) -> None:
    """Markup, a terminal escape and a character cut in two."""
    start(command, 12)
    send_round(0, [13, 10])
    send_round(1, [11, EOS])
    finish("stop", [12, 13, 10, 11, EOS], "[/b]\x1b[31m\u4f60")


def answer_stop_string(command: Generate) -> None:
    """The stop string is two line breaks and ``Q:``; the line breaks come a round before the rest."""
    start(command, 7)
    send_round(0, [8, 9])
    send_round(1, [14, 7])
    finish("stop", [7, 8, 9, 14], " 42.")


def answer_slow(command: Generate) -> None:
    """A round every 20 ms until cancelled."""
    start(command, 3)
    rounds = 0
    while not cancelled.wait(0.02):
        send_round(rounds, [4])
        rounds += 1
    finish("cancelled", [3] + [4] * rounds, "12" + " +" * rounds, rounds=rounds)


def answer_failing(command: Generate) -> None:
    start(command, 3)
    emit(Failed(error="out_of_memory", message="There is not enough memory for this.", hint="Buy more."))


def answer_killed(command: Generate) -> None:
    start(command, 3)
    send_round(0, [4, 5])
    print("about to be killed", file=sys.stderr, flush=True)
    os.write(1, b'{"v":1,"type":"round","ind')  # cut short in the middle of an event
    os.kill(os.getpid(), signal.SIGKILL)


def answer_silent(command: Generate) -> None:
    """One round, then nothing, until it is killed or cancelled."""
    start(command, 3)
    send_round(0, [4, 5])
    cancelled.wait()
    finish("cancelled", [3, 4, 5], "12 + 30", rounds=1)


def answer_closed_output(command: Generate) -> None:
    start(command, 3)
    send_round(0, [4, 5])
    os.close(1)
    time.sleep(60)


def answer_exit(command: Generate) -> None:
    print("leaving with 7", file=sys.stderr, flush=True)
    sys.stderr.flush()
    os._exit(7)


def answer_garbage(command: Generate) -> None:
    os.write(1, b"this is no event\n")
    answer_plain(command)


def answer_flood(command: Generate) -> None:
    start(command, 3)
    for index in range(2000):
        send_round(index, [4, 5, 6] * 20)
    finish("length", [3] + [4, 5, 6] * 40_000, "12" + " + 30 =" * 40_000, rounds=2000)


def read_commands(commands: queue.SimpleQueue[AnyCommand]) -> None:
    for line in sys.stdin.buffer:
        command = decode_command(line)
        if sys.argv[1] == "closed_input":
            os.close(0)
            commands.put(command)
            return
        if isinstance(command, Cancel):
            cancelled.set()
        elif isinstance(command, Quit):
            break
        else:
            commands.put(command)
    os._exit(0)


def main() -> None:
    scenario, log = sys.argv[1], Path(sys.argv[2])
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(str(os.getpid()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if scenario == "deaf":  # neither reads its commands nor minds their end
        while True:
            time.sleep(60)
    commands: queue.SimpleQueue[AnyCommand] = queue.SimpleQueue()
    threading.Thread(target=read_commands, args=(commands,), daemon=True).start()
    while True:
        command = commands.get()
        if isinstance(command, Load):
            emit(Loading(stage="weights", done=0, total=2))
            if scenario == "not_loaded":
                emit(Failed(error="model_not_found", message="There is no model x.", hint="Choose another."))
                continue
            if scenario == "loading_forever":
                continue
            emit(made_up_pair("fake", block_size=16, mask_id=15, context=100, vocab_size=16))
        elif isinstance(command, Generate):
            globals()[f"answer_{scenario}"](command)


if __name__ == "__main__":
    main()

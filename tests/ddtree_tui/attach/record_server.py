"""Records what a real server answers, for ``recorded/*.json``, which ``recorded_server`` plays back.

    python tests/ddtree_tui/attach/record_server.py http://127.0.0.1:8000 vllm.json --command "vllm serve ..."

Asks what ``ddtree-tui attach`` asks: models, counters, answers as the app asks for them with counters before
and after, and requests that are refused. ``--command`` is how the server was started, without its folders.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ddtree_tui.attach.plain_counters import WATCHED
from ddtree_tui.attach.plain_request import request_body
from engine.settings import DecodeSettings

CHAT = "/v1/chat/completions"
PATHS = ("/v1/models", "/version", "/server_info", "/get_server_info")
LIST = "List the colours red, green and blue four times, like: red, green, blue. red, green, blue."
PROMPTS = {
    "list": (LIST, 64),
    "stop": ("What is the capital of France? Answer in one short sentence.", 64),
    "shared": (LIST, 48),  # while another answer is written
}
SETTLE_SECONDS = 1.0
"""Counters are added up now and then."""


def ask(url: str, path: str, body: Any = None) -> dict[str, Any]:
    """Status and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return {"status": answer.status, "body": answer.read().decode()}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": error.read().decode()}


def counters(url: str) -> dict[str, Any]:
    """``/metrics``, as far as anybody here reads it."""
    found = ask(url, "/metrics")
    lines = [
        line for line in found["body"].splitlines() if line.startswith(WATCHED) and "_created" not in line
    ]
    return found | {"body": "".join(f"{line}\n" for line in lines)}


def answer(url: str, model: str, system: str, kind: str) -> dict[str, Any]:
    """One answer, with what was counted before it and after it."""
    prompt, tokens = PROMPTS[kind]
    messages: list[Any] = [{"role": "user", "content": prompt}]
    body = request_body(model, messages, DecodeSettings(max_new_tokens=tokens), system=system)
    other = threading.Thread(target=ask, args=(url, CHAT, body | {"stream": False, "stream_options": None}))
    before = counters(url)
    if kind == "shared":
        other.start()
    chat = ask(url, CHAT, body)
    if kind == "shared":
        other.join()
    time.sleep(SETTLE_SECONDS)
    return {"asked": body, "chat": chat, "metrics": [before, counters(url)]}


def record(url: str, command: str, system: str, kinds: list[str]) -> dict[str, Any]:
    """All of it."""
    gets = {path: ask(url, path) for path in PATHS}
    model = json.loads(gets["/v1/models"]["body"])["data"][0]["id"]
    ask(url, CHAT, {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2})  # warm
    time.sleep(SETTLE_SECONDS)
    answers = {kind: answer(url, model, system, kind) for kind in kinds}
    body = answers[kinds[0]]["asked"]
    return {
        "what": "recorded by record_server.py",
        "command": command,
        "get": gets,
        "answers": answers,
        "refused": {
            "too much": ask(url, CHAT, body | {"max_tokens": 10**6}),
            "prompt": ask(url, CHAT, body | {"messages": [{"role": "user", "content": "word " * 2000}]}),
            "model": ask(url, CHAT, body | {"model": "another"}),
            "value": ask(url, CHAT, body | {"temperature": -1}),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("name")
    parser.add_argument("--command", required=True)
    parser.add_argument("--system", default="vllm")
    parser.add_argument("--answers", default=",".join(PROMPTS))
    given = parser.parse_args()
    found = record(given.url.rstrip("/"), given.command, given.system, given.answers.split(","))
    path = Path(__file__).parent / "recorded" / given.name
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

"""A model hub on this machine: serves folders the way huggingface_hub asks for them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """``repositories``: id -> folder, or the error code (``GatedRepo``) of one that may not be read."""

    repositories: dict[str, Path | str]
    url: str = ""
    fetched: list[str] = field(default_factory=list)
    """Names of the files whose contents were sent."""


@contextmanager
def serve(repositories: dict[str, Path | str]) -> Iterator[Hub]:
    hub = Hub(repositories)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.partition("?")[0].strip("/").split("/")
            if path[:2] == ["api", "models"]:
                folder = self.repository("/".join(path[2:4]))
                if folder is not None:
                    self.send_json(info(folder) if path[4] == "revision" else tree(folder), body)
                return
            folder = self.repository("/".join(path[:2]))
            if folder is not None:
                self.send_file(folder, "/".join(path[4:]), body)

        def repository(self, name: str) -> Path | None:
            found = hub.repositories.get(name, "RepoNotFound")
            if isinstance(found, Path):
                return found
            self.send(404 if found == "RepoNotFound" else 403, b"", {"X-Error-Code": found}, True)
            return None

        def send_json(self, value: Any, body: bool) -> None:
            self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"}, body)

        def send_file(self, folder: Path, name: str, body: bool) -> None:
            if not (folder / name).is_file():
                self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
                return
            data = (folder / name).read_bytes()
            if body:
                hub.fetched.append(name)
            etag = hashlib.sha1(data).hexdigest()
            self.send(200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body)

        def send(self, status: int, data: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for key, value in (headers | {"Content-Length": str(len(data))}).items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def info(folder: Path) -> dict[str, Any]:
    names = [{"rfilename": path.name} for path in folder.iterdir()]
    facts = {"private": False, "tags": [], "downloads": 0, "likes": 0}
    return {"id": "x/y", "sha": COMMIT, "siblings": names, **facts}


def tree(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            "type": "file",
            "path": path.name,
            "size": path.stat().st_size,
            "oid": hashlib.sha1(path.read_bytes()).hexdigest(),
        }
        for path in folder.iterdir()
    ]

"""A server on the loopback that makes vectors: texts that speak of one thing, by a short list of words, are alike."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

CONCEPTS = (
    ("passport", "travel document", "ausweis", "identité"),
    ("bill", "invoice", "rechnung", "facture", "power company"),
    ("call", "ring me", "telephone", "anrufen"),
)
Mode = Literal["good", "broken", "no json", "too few", "no numbers", "empty"]


@dataclass
class Embeddings:
    """``asked`` are the bodies of the requests; ``mode`` may be changed at any time."""

    url: str
    mode: Mode = "good"
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(body)
        texts: list[str] = body["input"]
        match self.mode:
            case "broken":
                return 500, b'{"error": {"message": "oops"}}'
            case "no json":
                return 200, b"<html>"
            case "empty":
                return 200, b'{"object": "list", "data": [], "model": "m", "usage": {}}'
            case "too few":
                texts = texts[1:]
        data = [{"object": "embedding", "index": n, "embedding": self._vector(text)} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, json.dumps({"object": "list", "data": data, "model": body["model"], "usage": usage}).encode()

    def _vector(self, text: str) -> list[Any]:
        if self.mode == "no numbers":
            return ["a", "b"]
        said = text.casefold()
        return [0.1, *(float(any(word in said for word in concept)) for concept in CONCEPTS)]


@contextmanager
def embeddings() -> Iterator[Embeddings]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = server.answer(body) if self.path == "/v1/embeddings" else (404, b"{}")
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        server = Embeddings(f"http://127.0.0.1:{listening.server_address[1]}/v1")
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()

"""The HTTP server: chat completions, streamed or not, and the list of models. A record of every request is kept."""

import base64
import hashlib
import io
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

from pipeline.models import ModelError
from scripts.scripted_model_server.answer_file import FileAnswer
from scripts.scripted_model_server.rule_answers import RuleAnswers, smallest_answer

NAME = "scripted"
"""Names of the models that are served begin with it."""
BYTES_PER_TOKEN, TOKENS_PER_PICTURE = 4, 800
CHUNK_CHARACTERS = 400


@dataclass(frozen=True)
class ReceivedRequest:
    """One question as it was received, and how it was answered."""

    kind: str
    model: str
    prompt: str
    pictures: tuple[dict[str, Any], ...]
    """Width and height in pixels and the SHA-256 of each."""
    answered_by: str
    """"file", "rules", "schema" (a value that only fits) or "error"."""
    answer: str


class ServerError(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class ScriptedServer:
    """The server, in background threads. A context manager."""

    def __init__(
        self, answers: Sequence[FileAnswer] = (), log: Path | None = None, address: tuple[str, int] = ("127.0.0.1", 0)
    ):
        """`answers` come before the rules; `log` gets a JSON line for each request."""
        self.model = f"{NAME}-rules"
        self.requests: list[ReceivedRequest] = []
        """Every question so far."""
        self._answers, self._rules, self._log, self._lock = answers, RuleAnswers(), log, threading.Lock()
        self._web = ThreadingHTTPServer(address, _handler(self))
        self._web.daemon_threads = True
        self.url = f"http://{address[0]}:{self._web.server_port}/v1"
        threading.Thread(target=self._web.serve_forever, args=(0.05,), daemon=True).start()

    def complete(self, body: dict[str, Any]) -> tuple[str, dict[str, int]]:
        """Return the answer's text and the token counts. Raises ServerError."""
        model = str(body.get("model", ""))
        if not model.startswith(NAME):
            raise ServerError(404, f"The model {model} does not exist here; this server has {self.model} only.")
        kind, schema = _asked(body)
        prompt, pictures = _content(body["messages"][0]["content"])
        with self._lock:
            answered_by, answer, error = self._answer(kind, schema, prompt)
            self._keep(ReceivedRequest(kind, model, prompt, pictures, answered_by, answer))
        if error:
            raise ServerError(error, answer)
        prompt_tokens = len(json.dumps(body["messages"][1:])) // BYTES_PER_TOKEN + len(prompt) // BYTES_PER_TOKEN
        used = {
            "prompt_tokens": prompt_tokens + TOKENS_PER_PICTURE * len(pictures) + 1,
            "completion_tokens": len(answer) // BYTES_PER_TOKEN + 1,
        }
        return answer, used | {"total_tokens": sum(used.values())}

    def _answer(self, kind: str, schema: dict[str, Any], prompt: str) -> tuple[str, str, int]:
        """Return who answers, the text, and the HTTP status of an error or 0."""
        for one in self._answers:
            if one.take(kind, prompt):
                text = one.answer if isinstance(one.answer, str) else json.dumps(one.answer)
                return "file", text, one.error
        try:
            answer = self._rules.answer(kind, prompt)
        except ModelError as error:
            return "error", f"the rules have no answer: {error}", 422
        except Exception as error:  # a fault of the rules ends this question only
            return "error", f"the rules failed: {type(error).__name__}: {error}", 500
        if answer is None:
            return "schema", json.dumps(smallest_answer(schema)), 0
        return "rules", json.dumps(answer), 0

    def _keep(self, request: ReceivedRequest) -> None:
        self.requests.append(request)
        if self._log:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(request), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Stop serving."""
        self._web.shutdown()
        self._web.server_close()

    def __enter__(self) -> "ScriptedServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _asked(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind of question and the schema of its answer."""
    form = (body.get("response_format") or {}).get("json_schema") or {}
    if not form and body.get("tools"):
        function = body["tools"][0]["function"]
        form = {"name": function["name"], "schema": function["parameters"]}
    return str(form.get("name", "")), form.get("schema") or {}


def _content(content: str | list[dict[str, Any]]) -> tuple[str, tuple[dict[str, Any], ...]]:
    """Return the text and the pictures of a message."""
    if isinstance(content, str):
        return content, ()
    text = "".join(part["text"] for part in content if part["type"] == "text")
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    return text, tuple(_picture(base64.b64decode(url.partition("base64,")[2])) for url in urls)


def _picture(data: bytes) -> dict[str, Any]:
    with Image.open(io.BytesIO(data)) as image:
        return {"width": image.width, "height": image.height, "sha256": hashlib.sha256(data).hexdigest()}


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class ScriptedHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answer, usage = server.complete(body)
            except ServerError as error:
                self._send(error.status, {"error": {"message": str(error)}})
                return
            head = {"id": "scripted", "created": 0, "model": body["model"]}
            if body.get("stream"):
                self._stream(head, answer, usage)
            else:
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
                self._send(200, head | {"object": "chat.completion", "choices": [choice], "usage": usage})

        def do_GET(self) -> None:
            models = [{"id": server.model, "object": "model", "owned_by": "scripted: rules, not a language model"}]
            self._send(200, {"object": "list", "data": models})

        def log_message(self, format: str, *_: object) -> None:
            pass

        def _stream(self, head: dict[str, Any], answer: str, usage: dict[str, int]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            head = head | {"object": "chat.completion.chunk"}
            parts = [answer[start : start + CHUNK_CHARACTERS] for start in range(0, len(answer), CHUNK_CHARACTERS)]
            for part in parts:
                self._event(head | {"choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]})
            self._event(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            self._event(head | {"choices": [], "usage": usage})
            self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, value: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
            self.wfile.flush()

        def _send(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return ScriptedHandler

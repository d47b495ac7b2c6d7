"""A local server with the OpenAI API that behaves well or badly: one behaviour per request, the last one repeated.

with HostileServer(error_reply(503), answer('{"colour": "red"}')) as server:
    ModelSettings(service="openai", base_url=server.url)
"""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[Any], None]
SSE = "text/event-stream"
USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
NASTY = "<script>document.title='owned'</script>\x1b[31mred\x1b[2J\x07"


class HostileServer:
    def __init__(self, *behaviours: Behaviour):
        self.requests: list[dict] = []
        self.headers: list[dict] = []
        self.models = ["m"]
        self.cut_off = threading.Event()
        """Set when a client closes its connection in the middle of an answer."""
        self.behaviours = list(behaviours)
        self._web = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._web.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._web.server_port}/v1"
        threading.Thread(target=self._web.serve_forever, args=(0.01,), daemon=True).start()

    def behave(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)

    def __enter__(self) -> "HostileServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.cut_off.set()
        self._web.shutdown()
        self._web.server_close()


def _handler(server: HostileServer) -> type[BaseHTTPRequestHandler]:
    class HostileHandler(BaseHTTPRequestHandler):
        hostile = server

        def do_POST(self) -> None:
            self.sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.body = json.loads(self.sent) if server.models else {}
            server.requests.append(self.body)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            try:
                (server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0])(self)
            except (BrokenPipeError, ConnectionResetError):
                server.cut_off.set()

        def do_GET(self) -> None:
            if not server.models:
                return self.do_POST()
            models = [{"id": name, "object": "model"} for name in server.models]
            _send(self, 200, json.dumps({"object": "list", "data": models}))

        def log_message(self, format: str, *_: object) -> None:
            pass

    return HostileHandler


@contextmanager
def serving(prepared: Callable[[str, bytes], tuple]) -> Iterator[str]:
    """Serve another API: status, body, and the length that is claimed if it is another, by path and what was sent."""

    def behave(handler: Any) -> None:
        status, body, *claimed = prepared(handler.path, handler.sent)
        handler.send_response(status)
        handler.send_header("content-length", str(*claimed or [len(body)]))
        handler.end_headers()
        handler.wfile.write(body)

    with HostileServer(behave) as server:
        server.models = []
        yield server.url.removesuffix("/v1")


def answer(text: str, usage: Any = USAGE, finish: str = "stop", chunks: int = 5, pause: float = 0.0) -> Behaviour:

    def behave(handler: Any) -> None:
        if not handler.body.get("stream"):
            _send(handler, 200, json.dumps(completion(text, usage, finish)))
            return
        begin(handler)
        step = max(1, -(-len(text) // chunks))
        for start in range(0, len(text), step):
            _event(handler, {"content": text[start : start + step]})
            time.sleep(pause)
        _event(handler, {}, finish)
        if usage is not None:
            _data(handler, {"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": usage})
        handler.wfile.write(b"data: [DONE]\n\n")

    return behave


def unstreamed(text: str, usage: Any = USAGE) -> Behaviour:
    return lambda handler: _send(handler, 200, json.dumps(completion(text, usage)))


def message(content: dict, finish: str = "stop") -> Behaviour:
    """An answer of this form: a chunk's delta and an end without one, or the message if none is streamed."""

    def behave(handler: Any) -> None:
        if not handler.body.get("stream"):
            choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **content}}
            _send(handler, 200, json.dumps({"id": "1", "choices": [choice], "usage": None}))
            return
        begin(handler)
        _event(handler, content)
        _event(handler, None, finish)
        handler.wfile.write(b"data: [DONE]\n\n")

    return behave


def called(arguments: Any) -> Behaviour:
    function = {"name": "name_colour", "arguments": arguments}
    return message({"content": None, "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]})


def sends(body: Any, content_type: str = "application/json", status: int = 200) -> Behaviour:
    return lambda handler: _send(handler, status, body if isinstance(body, str) else json.dumps(body), content_type)


def unable_to_stream(status: int) -> Behaviour:

    def behave(handler: Any) -> None:
        refused = error_reply(status, "Streaming is not supported")
        (refused if handler.body.get("stream") else answer('{"colour": "red", "sure": 0.9}'))(handler)

    return behave


def error_reply(status: int, text: str = "no", **headers: str) -> Behaviour:
    return lambda handler: _send(handler, status, json.dumps({"error": {"message": text}}), **headers)


def refuses_form(*forms: str) -> Behaviour:
    """Status 400 for requests with one of the formats "json_schema", "tools", "json_object"; else a valid answer."""

    def behave(handler: Any) -> None:
        kind = (handler.body.get("response_format") or {}).get("type") or ("tools" if handler.body.get("tools") else "")
        if kind in forms:
            error_reply(400, f"Unsupported: {'tools' if kind == 'tools' else 'response_format ' + kind}")(handler)
        else:
            answer('{"colour": "red", "sure": 0.9}')(handler)

    return behave


html = sends("<html><body>Welcome to nginx!</body></html>", "text/html")


def resets(handler: Any) -> None:
    """Half an answer, then the connection is reset."""
    begin(handler)
    _event(handler, {"content": '{"colour": "re'})
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def stalls(handler: Any) -> None:
    handler.connection.settimeout(0.05)
    while not handler.hostile.cut_off.is_set():
        try:
            if not handler.connection.recv(1):
                handler.hostile.cut_off.set()
        except TimeoutError:
            continue
        except OSError:
            handler.hostile.cut_off.set()


def stalls_midway(handler: Any) -> None:
    begin(handler)
    _event(handler, {"content": '{"colour": "re'})
    stalls(handler)


def drips(handler: Any) -> None:
    """One letter at a time, without end."""
    begin(handler)
    _event(handler, {"content": '{"colour": "r'})
    while not handler.hostile.cut_off.is_set():
        _event(handler, {"content": "e"})
        time.sleep(0.05)


def drips_headers(handler: Any) -> None:
    """One letter of a header at a time, without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nServer: ")
    while not handler.hostile.cut_off.is_set():
        handler.wfile.write(b"s")
        time.sleep(0.05)


def floods(handler: Any) -> None:
    """As many bytes as are taken, without end."""
    begin(handler)
    while not handler.hostile.cut_off.is_set():
        handler.wfile.write(b"\0" * 100_000)


def huge(handler: Any) -> None:
    begin(handler)
    for _ in range(200):
        _event(handler, {"content": "word " * 20_000})


def refuses_pictures_after(text: Behaviour) -> Behaviour:

    def behave(handler: Any) -> None:
        if isinstance(handler.body["messages"][0]["content"], list):
            error_reply(500, "image input is not supported - hint: you may need to provide the mmproj")(handler)
        else:
            text(handler)

    return behave


refuses_pictures = refuses_pictures_after(answer('{"colour": "red", "sure": 0.9}'))


def kind_of(handler: Any) -> str:
    form = handler.body.get("response_format") or {}
    return form.get("json_schema", {}).get("name", "")


def honest(handler: Any, pause: float = 0.0) -> None:
    """A model that sees a mug in everything and proposes one task."""
    words = json.dumps(handler.body["messages"])
    task = {"name": "tidy_up", "instruction": "Push the first thing aside.", "goals": ["it is aside"], "kind": ""}
    reply: dict[str, Any] = {
        "describe_segment": {
            "is_object": True, "name": "red_mug", "caption": "a red mug", "colour": "red", "material": "",
            "text": "", "confidence": 0.9,
        },
        "weigh_object": {
            "lightest_g": 20, "likely_g": 90, "heaviest_g": 200, "least_friction": 0.3, "likely_friction": 0.5,
            "most_friction": 0.8, "shortest_cm": 3, "longest_cm": 20, "reason": "Wood.",
        },
        "choose_match": {"choice": 0, "reason": "none is a mug", "confidence": 0.9},
        "propose_tasks": {"tasks": [task | {"objects": re.findall(r'name\\+": ?\\+"(\w+)', words)[:1]}]},
    }.get(kind_of(handler), {"ok": True})  # fmt: skip
    answer(json.dumps(reply), pause=pause)(handler)


def refusing() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def completion(text: str, usage: Any, finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def begin(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", SSE)
    handler.end_headers()


def _event(handler: Any, delta: dict | None, finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    _data(handler, {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]})


def _data(handler: Any, value: dict) -> None:
    handler.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
    handler.wfile.flush()


def _send(handler: Any, status: int, body: str, content_type: str = "application/json", **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body.encode())))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body.encode())

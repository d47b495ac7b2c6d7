"""A local server with the OpenAI API that behaves well or badly: one behaviour per request, the last one repeated."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[Any], None]
SSE = "text/event-stream"
USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
ABSURD = {"prompt_tokens": -5, "completion_tokens": 10**12, "total_tokens": "many"}
NASTY = "<script>document.title='owned'</script>\x1b[31mred\x1b[2J\x07"


class HostileServer:
    def __init__(self, *behaviours: Behaviour):
        self.requests: list[dict] = []
        """Body of every request."""
        self.headers: list[dict] = []
        self.models = ["m"]
        """Names in its list of models."""
        self.cut_off = threading.Event()
        """Set when a client closes its connection in the middle of an answer."""
        self.behaviours = list(behaviours)
        self._web = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._web.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._web.server_port}/v1"
        threading.Thread(target=self._web.serve_forever, args=(0.01,), daemon=True).start()

    def behave(self, *behaviours: Behaviour) -> None:
        """Replace the behaviours: one per request, the last one repeated."""
        self.behaviours = list(behaviours)

    def next_behaviour(self) -> Behaviour:
        return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]

    def close(self) -> None:
        self.cut_off.set()
        self._web.shutdown()
        self._web.server_close()

    def __enter__(self) -> "HostileServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _handler(server: HostileServer) -> type[BaseHTTPRequestHandler]:
    class HostileHandler(BaseHTTPRequestHandler):
        hostile = server

        def do_POST(self) -> None:
            self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(self.body)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            try:
                server.next_behaviour()(self)
            except (BrokenPipeError, ConnectionResetError):
                server.cut_off.set()

        def do_GET(self) -> None:
            listed = [{"id": name, "object": "model"} for name in server.models]
            _send(self, 200, json.dumps({"object": "list", "data": listed}))

        def log_message(self, format: str, *_: object) -> None:
            pass

    return HostileHandler


def completion(text: str, usage: Any, finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def answer(text: str, usage: Any = USAGE, finish: str = "stop", chunks: int = 5, pause: float = 0.0) -> Behaviour:
    def behave(handler: Any) -> None:
        if not handler.body.get("stream"):
            _send(handler, 200, json.dumps(completion(text, usage, finish)))
            return
        _begin(handler)
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
    return reply(json.dumps(completion(text, usage)))


def called(arguments: str) -> Behaviour:
    def behave(handler: Any) -> None:
        _begin(handler)
        name = handler.body["tools"][0]["function"]["name"]
        call = {"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
        _event(handler, {"tool_calls": [call]})
        _event(handler, {}, "tool_calls")
        handler.wfile.write(b"data: [DONE]\n\n")

    return behave


def reply(body: str, status: int = 200, **headers: str) -> Behaviour:
    return lambda handler: _send(handler, status, body, **headers)


def error_reply(status: int, text: str = "no", **headers: str) -> Behaviour:
    return reply(json.dumps({"error": {"message": text}}), status, **headers)


def refuses_form(*forms: str) -> Behaviour:
    """Status 400 for requests with one of the formats "json_schema", "tools", "json_object"; else a valid answer."""

    def behave(handler: Any) -> None:
        kind = (handler.body.get("response_format") or {}).get("type") or ("tools" if handler.body.get("tools") else "")
        if kind in forms:
            error_reply(400, f"Unsupported: {'tools' if kind == 'tools' else 'response_format ' + kind}")(handler)
        else:
            answer('{"colour": "red", "sure": 0.9}')(handler)

    return behave


def resets(handler: Any) -> None:
    _begin(handler)
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
    _begin(handler)
    _event(handler, {"content": '{"colour": "re'})
    stalls(handler)


def drips(handler: Any) -> None:
    _begin(handler)
    _event(handler, {"content": '{"colour": "r'})
    while not handler.hostile.cut_off.is_set():
        _event(handler, {"content": "e"})
        time.sleep(0.05)


def huge(handler: Any) -> None:
    _begin(handler)
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


html = reply("<html><body>Welcome to nginx!</body></html>", content_type="text/html")
CASES: dict[str, Behaviour] = {
    "401": error_reply(401, "Incorrect API key provided"),
    "429": error_reply(429, "Slow down"),
    "429 with Retry-After": error_reply(429, "Slow down", **{"Retry-After": "3600"}),
    "500s in a row": error_reply(500, "The server had an error"),
    "resets mid-stream": resets,
    "stalls": stalls,
    "stalls mid-stream": stalls_midway,
    "slow drip": drips,
    "HTML instead of JSON": html,
    "empty choices": reply(json.dumps(completion("", USAGE) | {"choices": []})),
    "truncated JSON": answer('{"colour": "red", "su'),
    "wrong types": answer('{"colour": 7, "sure": "very"}'),
    "a 20 MB reply": huge,
    "a 20 MB body": lambda handler: _send(handler, 200, json.dumps(completion("x" * 20_000_000, USAGE))),
    "a script tag and terminal codes": answer(NASTY),
    "wrong token counts": answer('{"colour": "red", "sure": 0.9}', ABSURD),
}
"""Kinds of failures, except an unreachable server: see `refusing()`."""


def refusing() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def _begin(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", SSE)
    handler.end_headers()


def _event(handler: Any, delta: dict, finish: str | None = None) -> None:
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

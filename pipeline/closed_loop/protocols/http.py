"""Our own protocol: a POST of JSON that is answered with JSON, in the actions of the exported environment.

Sent: {"layout", "instruction", "seconds", "begins": whether this is an episode's first observation, "observation":
{"state": [...], "objects": [[7 numbers], ...], and pictures as PNG in base64, such as "image"}}. Expected: {"action":
[A numbers]}, or {"actions": [[A numbers], ...]} to be carried out one after the other, as chunked policies answer.
"""

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import cv2
import httpx2
import numpy as np

from pipeline.closed_loop import policy
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols.what_answers import SPECS, server_protocol
from pipeline.closed_loop.serving import MakeServed, RunningServer, failure_text
from pipeline.errors import StudioError, single_line
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS
from pipeline.models.client.connection import BoundedTransport, ReplyEncoded, ReplyTooLong, event_loop
from pipeline.store import parse_json

MAX_ANSWER_BYTES = 1_000_000
MAX_QUESTION_BYTES = 16_000_000
UPGRADE_STATUSES = (400, 404, 405, 426, 501)
"""Statuses with which a websocket server answers a POST."""


class HttpPolicy:
    """A server that answers a POST of JSON with JSON."""

    def __init__(self, address: str):
        self._address = address
        self.times = policy.AnswerTimes()
        self._client = httpx2.AsyncClient(transport=BoundedTransport(MAX_ANSWER_BYTES), timeout=policy.ANSWER_SECONDS)
        self._episode: dict[str, Any] = {}

    def begin(self, layout: int, instruction: str) -> None:
        self._episode = {"layout": layout, "instruction": instruction, "begins": True}
        self.times = policy.AnswerTimes()

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> Any:
        values = {name: value if value.dtype == np.uint8 else value.tolist() for name, value in observation.items()}
        seen = {name: _png(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}
        begun = time.monotonic()
        answer = self._ask(self._episode | {"seconds": seconds, "observation": seen})
        self.times.add(time.monotonic() - begun, CONTROL_SECONDS)
        self._episode["begins"] = False
        if not isinstance(answer, dict) or not ({"action", "actions"} & set(answer)):
            raise PolicyError(f'{self._address} answered without "action" or "actions"')
        return answer.get("actions", answer.get("action"))

    def close(self) -> None:
        """Close the connection."""
        asyncio.run_coroutine_threadsafe(self._client.aclose(), event_loop()).result()

    def _ask(self, question: dict[str, Any]) -> Any:
        asked = asyncio.run_coroutine_threadsafe(self._post(question), event_loop())
        try:
            reply = asked.result()
        except (TimeoutError, httpx2.TimeoutException):
            failure = f"did not answer within {policy.ANSWER_SECONDS:g} s"
            raise PolicyError(f"{self._address} {self._other_protocol() or failure}") from None
        except ReplyTooLong as error:
            raise PolicyError(f"{self._address} answered {error}") from None
        except ReplyEncoded:
            raise PolicyError(f"{self._address} compressed its answer; switch compression off there") from None
        except httpx2.HTTPError as error:
            failure = f"cannot be reached ({type(error).__name__}); start the policy's server first"
            raise PolicyError(f"{self._address} {self._other_protocol() or failure}") from None
        finally:
            asked.cancel()  # for Ctrl-C
        if reply.status_code in UPGRADE_STATUSES and "websocket" in (other := self._other_protocol()):
            raise PolicyError(f"{self._address} {other}")
        if reply.status_code != 200:
            raise PolicyError(f"{self._address} answered HTTP {reply.status_code}: {_reason(reply.content)}")
        try:
            return parse_json(reply.content, finite=False)
        except ValueError:
            raise PolicyError(f"{self._address} answered something that is not JSON") from None

    async def _post(self, question: dict[str, Any]) -> httpx2.Response:
        async with asyncio.timeout(policy.ANSWER_SECONDS):  # httpx2 bounds each read, and not their sum
            return await self._client.post(self._address, json=question)

    def _other_protocol(self) -> str:
        """Return what answers instead of a policy's server, and what to do; empty if that is not known."""
        parts = urlsplit(self._address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        found = server_protocol(parts.hostname or "", port, parts.path)
        if not found or found.endswith(f"({parts.scheme}://)"):
            return ""
        advice = "change the address" if found.endswith("://)") else f"begin it with {SPECS[found]}"
        return f"is the address of {found}; {advice}"


def _png(picture: np.ndarray) -> str:
    return base64.b64encode(cv2.imencode(".png", picture[..., ::-1])[1].tobytes()).decode()


def _reason(body: bytes) -> str:
    """Return the error that an answer tells, or what was expected."""
    try:
        return single_line(str(parse_json(body)["error"])[:300])
    except (ValueError, KeyError, TypeError):
        return "200 is expected"


def serve(make: MakeServed, host: str, port: int) -> RunningServer:
    """Return a server that answers `HttpPolicy`, one client at a time."""
    served = make()

    class Handler(BaseHTTPRequestHandler):
        timeout = policy.ANSWER_SECONDS

        def do_POST(self) -> None:
            try:
                length = int(self.headers.get("content-length", 0))
                if length > MAX_QUESTION_BYTES:
                    raise ValueError(f"a question has over {MAX_QUESTION_BYTES // 1_000_000} MB")
                question = parse_json(self.rfile.read(length))
                if question.get("begins"):
                    served.begin(question.get("layout"), str(question.get("instruction", "")))
                status, answer = 200, {"actions": served.act(question["observation"], question["seconds"]).tolist()}
            except (StudioError, ValueError, KeyError, TypeError, AttributeError) as error:
                status, answer = 400, {"error": failure_text(error)}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer((host, port), Handler)
    return RunningServer(server.server_port, server.serve_forever, server.shutdown)

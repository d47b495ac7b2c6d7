"""One-line error messages for server failures: what happened and what to do, never with the key."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai

from pipeline.errors import single_line
from pipeline.models.client.connection import ReplyEncoded, ReplyTooLong
from pipeline.models.client.redaction import Redactor
from pipeline.models.model import ModelError

MAX_RAW_CHARS = 200_000
"""Characters of a raw reply that are kept."""
STATUS_PREFIX = re.compile(r"^Error code: \d+ - ")
"""Prefix that the OpenAI client adds to a server's message."""
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
ERROR_FIELDS = ("error", "message", "detail", "msg", "errors")
"""Fields in which servers say what is wrong: OpenAI's form, vLLM's older one, FastAPI's, and those of gateways."""


class ConnectionLost(Exception):
    """The connection closed in the middle of a reply."""


class ModelRefused(ModelError):
    """The model refused to answer; the server works."""


def server_name(base_url: str) -> str:
    """Return the server's host and port, without the user and password that an address may contain."""
    parts = urlsplit(base_url or "https://api.openai.com")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or base_url


def truncate_raw(raw: str) -> str:
    """Return a raw reply, cut after MAX_RAW_CHARS."""
    excess = len(raw) - MAX_RAW_CHARS
    return raw if excess <= 0 else f"{raw[:MAX_RAW_CHARS]}\n... {excess} more characters"


def server_words(body: Any) -> str:
    """Return what a server says in an error's body, in any of the usual forms; empty if it says nothing."""
    if isinstance(body, str):
        # 10_000: characters of an error's text that are searched for the server's words
        return single_line(MARKUP.sub(" ", body[:10_000]))
    if isinstance(body, Mapping):
        words = next(filter(None, (server_words(body.get(name)) for name in ERROR_FIELDS)), "")
        place = body.get("loc")  # FastAPI names the rejected field beside its message
        return f"{'.'.join(map(str, place))}: {words}" if words and isinstance(place, list) else words
    return "; ".join(filter(None, map(server_words, body[:5]))) if isinstance(body, list) else ""


class FailureMessages:
    """Error messages of one server."""

    def __init__(self, server: str, redact: Redactor, timeout: float):
        """`redact` removes the key from what the server sent."""
        self._server, self.redact, self._timeout = server, redact, timeout

    def to_model_error(self, error: Exception, model: str, arrived: str = "") -> ModelError:
        """Return a ModelError with a readable message; `arrived` is the part of the reply that was received."""
        if isinstance(error, ModelError):
            return ModelError(self.redact(single_line(str(error))), self.redact(error.raw))
        raw = error.response.text if isinstance(error, openai.APIStatusError) else arrived
        return ModelError(
            self.redact(single_line(self._describe(error, model, started=bool(arrived)))),
            truncate_raw(self.redact(raw)),
        )

    def server_message(self, error: Exception) -> str:
        """Return the server's own message as one line; empty for other errors."""
        return single_line(self._excerpt(error)) if isinstance(error, openai.APIError) else ""

    def _describe(self, error: Exception, model: str, started: bool) -> str:
        server = self._server
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return f"{server} refused the key ({error.status_code}): {self._excerpt(error)}; check OPENAI_API_KEY."
            case openai.NotFoundError():
                return f"{server} has no model {model} (404): {self._excerpt(error)}; check GRS_MODEL and GRS_BASE_URL."
            case openai.RateLimitError():
                return self._busy(error)
            case TimeoutError() | openai.APITimeoutError():
                outcome = "did not finish its answer" if started else "did not answer"
                return f"{model} {outcome} within {self._timeout:g} s; raise GRS_TIMEOUT or try again."
            case openai.InternalServerError():
                return f"{server} has an internal error ({error.status_code}): {self._excerpt(error)}; try again later."
            case openai.APIStatusError() if error.status_code in range(300, 400):
                return f"{server} redirects to {_redirect_target(error)}, which is not followed; set that address."
            case openai.APIStatusError():
                return f"{server} answered {error.status_code}: {self._excerpt(error)}"
            case ConnectionLost():
                return f"{server} closed the connection in the middle of its answer; try again."
            case openai.APIConnectionError():
                return (
                    f"{server} cannot be reached: is a server running there? Check its address (GRS_BASE_URL), "
                    "or use the offline rules (--model offline)."
                )
            case ReplyTooLong():
                return f"{server} sent a reply of {error}, which cannot be an answer; check GRS_BASE_URL and GRS_MODEL."
            case ReplyEncoded():
                return f"{server} sent a compressed reply, which is not read; switch compression off there."
            case openai.APIError():
                return f"{server} failed while it answered: {self._excerpt(error)}; try again."
            case _:
                return f"{server} sent a reply that cannot be read; check GRS_BASE_URL."

    def _excerpt(self, error: openai.APIError) -> str:
        """Return the start of the server's message; the key is removed first, for the cut may leave half of it."""
        words = server_words(error.body) or single_line(STATUS_PREFIX.sub("", str(error.message)))
        return self.redact(words)[:200].rstrip(".")

    def _busy(self, error: openai.RateLimitError) -> str:
        if error.code == "insufficient_quota":
            return f"The account at {self._server} has no credit left (429): {self._excerpt(error)}"
        after = error.response.headers.get("retry-after", "")
        wait = f"asks to wait {after} s" if after.isdecimal() else "does not say how long to wait"
        return f"{self._server} is busy (429) and {wait}; try again later, or lower the concurrency."


def _redirect_target(error: openai.APIStatusError) -> str:
    """Return the host that a server redirects to; the rest of the address may repeat the request."""
    target = urlsplit(error.response.headers.get("location", "")).hostname
    return target or "another of its pages"

"""What went wrong with a server, in one line that says what to do, without the key."""

import re
from urllib.parse import urlsplit

import openai

from pipeline.models.connection import TooLong
from pipeline.models.model import ModelError

LONGEST_RAW = 200_000
"""Letters of a raw reply that are kept."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Terminal codes and other letters that nobody reads."""
CODE = re.compile(r"^Error code: \d+ - ")
"""What the client writes before a server's own words."""


class BrokenOff(Exception):
    """The connection ended in the middle of a reply."""


class Refused(ModelError):
    """The model would not answer; its server is well."""


def host(base_url: str) -> str:
    """The server's name and port; never the user and password an address may carry."""
    parts = urlsplit(base_url or "https://api.openai.com")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or base_url


def kept(raw: str) -> str:
    """A reply as it came, its end left out where it is very long."""
    more = len(raw) - LONGEST_RAW
    return raw if more <= 0 else f"{raw[:LONGEST_RAW]}\n... {more} more letters"


def readable(text: str) -> str:
    """One line without terminal codes."""
    return " ".join(CONTROL.sub("", text).split())


class Failures:
    """Of one server."""

    def __init__(self, where: str, key: str, timeout: float):
        self._where, self._key, self._timeout = where, key, timeout

    def told(self, error: Exception, model: str, arrived: str = "") -> ModelError:
        """The error as a person reads it; `arrived` is what there was of a reply."""
        if isinstance(error, ModelError):
            return ModelError(self.hide(readable(str(error))), self.hide(error.raw))
        raw = error.response.text if isinstance(error, openai.APIStatusError) else arrived
        return ModelError(self.hide(readable(self._text(error, model, bool(arrived)))), self.hide(kept(raw)))

    def short(self, error: Exception) -> str:
        """What the server itself said, in one line."""
        return self.hide(readable(_short(error))) if isinstance(error, openai.APIError) else ""

    def hide(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) > 5 else text

    def _text(self, error: Exception, model: str, begun: bool) -> str:
        where = self._where
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return f"{where} refused the key ({error.status_code}); check OPENAI_API_KEY."
            case openai.NotFoundError():
                return f"{where} has no model {model} (404); check GRS_MODEL and GRS_BASE_URL."
            case openai.RateLimitError():
                return self._busy(error)
            case TimeoutError() | openai.APITimeoutError():
                did = "did not finish its answer" if begun else "did not answer"
                return f"{model} {did} within {self._timeout:g} s; raise GRS_TIMEOUT or try again."
            case openai.InternalServerError():
                return f"{where} is in trouble ({error.status_code}): {_short(error)}; try again later."
            case openai.APIStatusError():
                return f"{where} answered {error.status_code}: {_short(error)}"
            case BrokenOff():
                return f"{where} broke off in the middle of its answer; try again."
            case openai.APIConnectionError():
                return (
                    f"{where} cannot be reached: is a server running there? Check its address (GRS_BASE_URL), "
                    "or go on with the written rules (--model offline)."
                )
            case TooLong():
                return f"{where} sent a reply of {error}, which is no answer; check GRS_BASE_URL and GRS_MODEL."
            case openai.APIError():
                return f"{where} failed while it answered: {_short(error)}; try again."
            case _:
                return f"{where} answered with what cannot be read; check GRS_BASE_URL."

    def _busy(self, error: openai.RateLimitError) -> str:
        if error.code == "insufficient_quota":
            return f"The account at {self._where} has no credit left (429): {_short(error)}"
        after = error.response.headers.get("retry-after", "")
        wait = f"asks to wait {after} s" if after.isdecimal() else "says nothing of when to come back"
        return f"{self._where} is busy (429) and {wait}; try again then, or lower the concurrency."


def _short(error: openai.APIError) -> str:
    return " ".join(CODE.sub("", str(error.message)).split())[:200].rstrip(".")

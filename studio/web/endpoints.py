"""Endpoints: requests that a page sends outside Gradio's queue, so that they are answered at once."""

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studio.accounts.roles import Role, require
from studio.texts import translated
from studio.web.errors import RequestError, error_message

_LONG = threading.BoundedSemaphore(6)
Request = dict[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """Answers requests {kind, seq, ...}: calls the handler of that kind.

    The answer is what the handler returns, or {error} with one line if it raised, whatever was sent. It repeats the
    request's `seq`, and `ms` says how long it took.
    """

    handlers: Mapping[str, Callable[..., Answer]]
    """By kind. Each is called with the context and the request."""
    context: Callable[[Request], tuple[Any, ...]]
    """Checks whether the page may send the request; returns the handlers' first arguments. Raises StudioError."""
    default_kind: str = ""
    """The kind of requests that name none, or one that there is not."""
    format_error: Callable[[str], str] = str
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Roles that the kinds need. Those that are not named need Role.WORK."""
    long_kinds: tuple[str, ...] = ()
    """Kinds that take a tenth of a second or more: a few are answered at once, so that they hold no page up."""

    def __call__(self, request: Request) -> Answer:
        began = time.perf_counter()
        seq = request.get("seq") if isinstance(request, dict) else None
        echo = {"seq": seq} if isinstance(seq, int) and is_exact(seq) else {}
        if not isinstance(request, dict) or not is_exact(request):
            return {
                **echo,
                "error": self.format_error(translated("The studio does not know this request; reload the page.")),
            }
        try:
            kind = self._kind(request)
            require(self.needed_role(kind))
            context = self.context(request)
            if self.edits(kind) and context and (editor := getattr(context[0], "editor", None)):
                editor.require()
            answer = self._answer(kind, context, request)
        except Exception as error:
            return {**echo, "error": self.format_error(translated(error_message(error)))}
        return {**echo, **answer, "ms": round((time.perf_counter() - began) * 1000)}

    def _answer(self, kind: str, context: tuple[Any, ...], request: Request) -> Answer:
        if kind not in self.long_kinds:
            return self.handlers[kind](*context, request)
        if not _LONG.acquire(blocking=False):
            raise RequestError("The studio is busy with other requests of this kind; try again in a moment.")
        try:
            return self.handlers[kind](*context, request)
        finally:
            _LONG.release()

    def needed_role(self, kind: str) -> Role:
        """Return the role that requests of a kind need."""
        return self.roles.get(kind, Role.WORK)

    def edits(self, kind: str) -> bool:
        """Whether requests of a kind, if they are about a project, are refused while another person edits it."""
        return self.needed_role(kind) is Role.WORK

    def _kind(self, request: Request) -> str:
        kind = str(request.get("kind"))
        kind = kind if kind in self.handlers else self.default_kind
        if kind not in self.handlers:
            raise RequestError("The studio does not know this request; reload the page.")
        return kind


def is_exact(value: object) -> bool:
    """Whether all integers of a JSON value are some that a page can count with."""
    if isinstance(value, int):
        # Largest integer above which a page cannot count, and no number of ours lies
        return abs(value) <= (1 << 53)
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(is_exact, values))


class PageToken:
    """A secret that a page gets when it loads, so that requests of other pages can be told apart."""

    def __init__(self):
        self.value = secrets.token_urlsafe(24)

    def context(self, *arguments: Any) -> Callable[[Request], tuple[Any, ...]]:
        """Return a context for an `Endpoint` that checks the request's token and gives its handlers `arguments`."""

        def check(request: Request) -> tuple[Any, ...]:
            if request.get("page_token") != self.value:
                raise RequestError("The studio was restarted after this page was loaded; reload the page.")
            return arguments

        return check

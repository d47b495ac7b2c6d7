"""Errors as a person reads them in the app: one line, shown as a notice."""

import logging
import secrets
from collections.abc import Callable, Iterator
from functools import wraps
from html import escape
from inspect import isgeneratorfunction, signature
from typing import Any

import gradio as gr

from pipeline.errors import StudioError
from pipeline.store import storage_error
from studio.texts import translated

log = logging.getLogger("studio")
NOTICE_SECONDS = 14
"""How long a notice stays on the screen."""


def error_message(error: BaseException) -> str:
    """Return one line for a person. Errors of studio and disk say what to do; others are logged, under an id."""
    if told := error if isinstance(error, StudioError) else storage_error(error):
        return " ".join(str(told).split())
    id = secrets.token_hex(3)
    log.error("internal error %s", id, exc_info=error)
    return (
        f"Something went wrong on our side ({type(error).__name__}). Your decisions up to here are saved. The server's "
        f"log has details under {id}."
    )


def show_notice(text: str) -> None:
    """Show a notice in the page whose event is being handled. Escapes the text, which Gradio would take for HTML."""
    gr.Warning(escape(translated(text), quote=False), title="Notice", duration=NOTICE_SECONDS)


def with_notices(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a handler so that its errors become notices and leave the page as it was."""
    if isgeneratorfunction(handle):

        @wraps(handle)
        def streamed(*arguments: Any) -> Iterator[Any]:
            try:
                yield from handle(*arguments)
            except Exception as error:
                show_notice(error_message(error))
                yield gr.skip()

        streamed.__signature__ = signature(handle)  # type: ignore[attr-defined]
        return streamed

    @wraps(handle)
    def plain(*arguments: Any) -> Any:
        try:
            return handle(*arguments)
        except Exception as error:
            show_notice(error_message(error))
            return gr.skip()

    return plain

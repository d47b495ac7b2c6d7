"""The one place where an error becomes something a person reads in the app."""

import logging
import secrets
from collections.abc import Callable, Iterator
from functools import wraps
from html import escape
from inspect import isgeneratorfunction, signature
from typing import Any

import gradio as gr

from pipeline.errors import StudioError

log = logging.getLogger("studio")
SECONDS = 14


def sentence(error: BaseException) -> str:
    """One line for a person: what a StudioError says, else that it is our fault and under which id the log has it."""
    if isinstance(error, StudioError):
        return " ".join(str(error).split())
    id = secrets.token_hex(3)
    log.error("our fault %s", id, exc_info=error)
    return (
        f"Something went wrong on our side ({type(error).__name__}). What you decided is saved. The log has it as {id}."
    )


def notify(text: str) -> None:
    """Shows a notice in the page whose event is being handled. Gradio takes it for HTML; a text is a text."""
    gr.Warning(escape(text, quote=False), title="Notice", duration=SECONDS)


def noticed(handle: Callable[..., Any]) -> Callable[..., Any]:
    """A handler whose errors become notices and leave the page as it was."""
    if isgeneratorfunction(handle):

        @wraps(handle)
        def streamed(*arguments: Any) -> Iterator[Any]:
            try:
                yield from handle(*arguments)
            except Exception as error:
                notify(sentence(error))
                yield gr.skip()

        streamed.__signature__ = signature(handle)  # type: ignore[attr-defined]
        return streamed

    @wraps(handle)
    def plain(*arguments: Any) -> Any:
        try:
            return handle(*arguments)
        except Exception as error:
            notify(sentence(error))
            return gr.skip()

    return plain

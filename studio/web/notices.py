"""Notices: errors as the page shows them."""

from collections.abc import Callable, Iterator
from functools import wraps
from html import escape
from inspect import isgeneratorfunction, signature
from typing import Any

import gradio as gr

from studio.texts import translated
from studio.web.errors import error_message


def show_notice(text: str) -> None:
    """Show a notice in the page whose event is being handled. Escapes the text, which Gradio would take for HTML."""
    # How long a notice stays on the screen
    gr.Warning(escape(translated(text), quote=False), title="Notice", duration=14)


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

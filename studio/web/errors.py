"""Errors of requests, and every error as a person reads it in the app: one line."""

import logging
import secrets

from pipeline.errors import StudioError
from pipeline.store import storage_error

log = logging.getLogger("studio")


class RequestError(StudioError):
    """A request that cannot be met: its project is closed, or its data makes no sense for the project as it is now."""


def error_message(error: BaseException) -> str:
    """Return one line for a person. Errors of studio and disk say what to do; others are logged, once, under an id."""
    if told := error if isinstance(error, StudioError) else storage_error(error):
        return " ".join(str(told).split())
    if not hasattr(error, "log_id"):
        error.log_id = secrets.token_hex(3)  # type: ignore[attr-defined]
        log.error("internal error %s", error.log_id, exc_info=error)  # type: ignore[attr-defined]
    return (
        f"Something went wrong on our side ({type(error).__name__}). Your decisions up to here are saved. The server's "
        f"log has details under {error.log_id}."  # type: ignore[attr-defined]
    )

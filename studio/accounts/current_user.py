"""The person for whom the server is working: set for each request and each event, and seen by the threads they use."""

from contextvars import ContextVar

current_user: ContextVar[str] = ContextVar("current_user", default="")
"""Name of the login; empty in a studio without one, and in background threads."""

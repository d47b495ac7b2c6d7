"""The error that answers a request which a page may not make, or which no longer applies."""

from pipeline.errors import StudioError


class RequestError(StudioError):
    """A request that cannot be met: its project is closed, or its data makes no sense for the project as it is now."""

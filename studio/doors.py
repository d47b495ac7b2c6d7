"""What a page asks outside Gradio's queue: it proves that it is of this start, and is told what is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.errors import StudioError
from studio.notices import sentence
from studio.session import SessionError


def behind(door: str, acts: Mapping[str, Callable[..., dict[str, Any]]], request: dict, *hosts: Any) -> dict[str, Any]:
    """What the act that the request names answers, called with `hosts` and the request; {"error"} in one line else."""
    try:
        if request.get("door") != door:
            raise SessionError("This page is from before the studio was started anew; reload it.")
        act = acts.get(str(request.get("kind")))
        if act is None:
            raise SessionError("That cannot be asked here; reload the page.")
        return act(*hosts, request)
    except (StudioError, OSError) as error:
        return {"error": sentence(error)}

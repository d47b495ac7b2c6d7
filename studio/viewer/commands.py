"""Commands to a view, checked in one place: every number is finite and within bounds before it is used."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pipeline.errors import single_line
from studio.viewer.motion import ViewerError

MAX_MESSAGE_LENGTH = 4096
"""Characters of a command as JSON."""
Number = Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)]
"""Metres, radians or seconds."""
Point = Annotated[list[Number], Field(min_length=3, max_length=3)]
Index = Annotated[int, Field(ge=0, lt=2**31)]


class _Command(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Control(_Command):
    """A button."""

    op: Literal["play", "pause", "reset", "release"]


class Step(_Command):
    """Advance by some steps of the physics, or poses of a recording."""

    op: Literal["step"]
    count: Annotated[int, Field(ge=1, le=1000)] = 1


class Speed(_Command):
    """Play at a multiple of real time."""

    op: Literal["speed"]
    value: Annotated[float, Field(ge=0.05, le=1000, allow_inf_nan=False)]


class Seek(_Command):
    """Go to a time in seconds, or so many seconds on from where the motion is."""

    op: Literal["seek"]
    time: Number
    is_relative: bool = False


class Contacts(_Command):
    """Send the contacts, or not."""

    op: Literal["contacts"]
    on: bool


class Push(_Command):
    """Pull a point of a body, in the body's axes, towards a target in the world, both in metres."""

    op: Literal["push"]
    body: Index
    point: Point
    target: Point


class Joint(_Command):
    """Set a joint, in radians or metres."""

    op: Literal["joint"]
    number: Index
    value: Number


Command = Annotated[Control | Step | Speed | Seek | Contacts | Push | Joint, Field(discriminator="op")]
_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


def parse_command(message: str | Mapping[str, Any]) -> Command:
    """Return the command of a message, as JSON or as its content. Raises ViewerError."""
    try:
        if not isinstance(message, str):
            return _COMMANDS.validate_python(dict(message))
        if len(message) <= MAX_MESSAGE_LENGTH:
            return _COMMANDS.validate_json(message)
        reason = f"it is longer than {MAX_MESSAGE_LENGTH} characters"
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = " ".join(str(part) for part in first["loc"][1:])
        reason = single_line(f"{place} {first['msg']}")[:300]
    text = str(message if isinstance(message, str) else dict(message))[:80]
    text = "".join(c if c.isprintable() else " " for c in text)
    raise ViewerError(f"The viewer did not understand {text} ({reason}); reload the page.")

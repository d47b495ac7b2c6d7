"""The choice of the surface that carries the objects, where several are likely."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.frame import Frame, FrameError, Ground, likely_grounds
from studio.sessions.session import Session


def ground_records(frame: Frame) -> list[dict[str, Any]]:
    """Return [{outline: [[x, y]], pixel: [x, y], share}] of the surfaces that may carry the objects, current one first.

    `share` is the probability as a percentage.
    """
    return [
        {"outline": one.outline.tolist(), "pixel": list(one.pixel), "share": f"{one.probability:.0%}"}
        for one in likely_grounds(frame)
    ]


def numbered_grounds(frame: Frame) -> tuple[Ground, ...]:
    """Return the surfaces that may carry the objects, in the same order whichever of them a person chose."""
    return likely_grounds(frame if frame.ground_pixel is None else replace(frame, ground_pixel=None))


def ground_of_number(frame: Frame, number: int) -> list[int]:
    """Return the pixel [x, y] of the ground with a number from 1, as `describe_grounds` counts. Raises FrameError."""
    grounds = numbered_grounds(frame)
    if not 1 <= number <= len(grounds):
        raise FrameError(f"There is no ground {number}; found: {describe_grounds(frame) or 'none'}.")
    return list(grounds[number - 1].pixel)


def describe_grounds(frame: Frame) -> str:
    """Return a line on each surface that may carry the objects: its probability, distance and place in the picture."""
    listed = [
        f"{number} ({ground.probability:.0%} likely, {frame.depth[ground.pixel[::-1]]:.2f} m away, at pixel "
        f"{ground.pixel[0]}, {ground.pixel[1]})"
        for number, ground in enumerate(numbered_grounds(frame), 1)
    ]
    return "; ".join(listed) + ("; choose with --ground N" if len(listed) > 1 else "")


def choose_ground(session: Session, message: Mapping[str, Any]) -> None:
    """Record the ground at a person's {pixel: [x, y]}; everything measured is measured again. Raises FrameError."""
    session.decisions.record("ground", pixel=parse_pixel(message, session.project.frame))
    if session.project.segments() is None:
        session.prepare()


def parse_pixel(message: Mapping[str, Any], frame: Frame) -> list[int]:
    """Read a pixel [x, y] of this frame. Raises FrameError if it lies outside."""
    try:
        x, y = (int(value) for value in message["pixel"])
    except (KeyError, TypeError, ValueError):
        raise FrameError("A ground needs a pixel: two whole numbers, x and y.") from None
    h, w = frame.depth.shape
    if not (0 <= x < w and 0 <= y < h):
        raise FrameError(f"The pixel {x}, {y} lies outside the picture of {w} x {h} pixels; choose one inside.")
    return [x, y]

"""The choice of the surfaces that carry the objects, where several are likely."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.frame import Frame, FrameError, Ground, find_support, offered_grounds
from studio.sessions.session import Session


def ground_records(frame: Frame) -> list[dict[str, Any]]:
    """Return [{outline: [[x, y]], pixel: [x, y], share, chosen, parallel}] of the surfaces that may carry the objects.

    The current one comes first. `share` is the probability as a percentage; `parallel` surfaces may be added to it.
    """
    return [
        {
            "outline": one.outline.tolist(),
            "pixel": list(one.pixel),
            "share": f"{one.probability:.0%}",
            "chosen": one.chosen,
            "parallel": one.parallel,
        }
        for one in offered_grounds(frame)
    ]


def numbered_grounds(frame: Frame) -> tuple[Ground, ...]:
    """Return the surfaces that may carry the objects, in the same order whichever of them a person chose."""
    return offered_grounds(frame if frame.ground_pixel is None else with_grounds(frame, []))


def with_grounds(frame: Frame, pixels: Sequence[Sequence[int]]) -> Frame:
    """Return the frame with a pixel [x, y] on each surface that a person chose; none to find the surface."""
    chosen = [(int(x), int(y)) for x, y in pixels]
    return replace(frame, ground_pixel=chosen[0] if chosen else None, also_ground_pixels=tuple(chosen[1:]))


def grounds_of_numbers(frame: Frame, text: str) -> list[list[int]]:
    """Return a pixel [x, y] of each ground in "2" or "1,3", counted from 1 as `describe_grounds` does.

    Raises FrameError.
    """
    grounds = numbered_grounds(frame)
    try:
        numbers = list(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        raise FrameError(f'Grounds are numbers with commas between them, such as 1,2, not "{text}".') from None
    for number in numbers:
        if not 1 <= number <= len(grounds):
            raise FrameError(f"There is no ground {number}; found: {describe_grounds(frame) or 'none'}.")
    return [list(grounds[number - 1].pixel) for number in numbers]


def describe_grounds(frame: Frame) -> str:
    """Return a line on each surface that may carry the objects: its probability, distance and place in the picture."""
    grounds = numbered_grounds(frame)
    listed = [
        f"{number} ({ground.probability:.0%} likely, {frame.depth[ground.pixel[::-1]]:.2f} m away, at pixel "
        f"{ground.pixel[0]}, {ground.pixel[1]})"
        for number, ground in enumerate(grounds, 1)
    ]
    together = [str(number) for number, ground in enumerate(grounds, 1) if ground.parallel]
    several = f", or several with --ground {','.join(together)}" if len(together) > 1 else ""
    return "; ".join(listed) + (f"; choose with --ground N{several}" if len(listed) > 1 else "")


def ground_decision(frame: Frame, pixels: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the data of the decision "ground" for a pixel [x, y] on each surface.

    Raises FrameError for surfaces that cannot carry objects together.
    """
    find_support(with_grounds(frame, pixels))
    first, *others = (list(pixel) for pixel in pixels)
    return {"pixel": first} | ({"also": others} if others else {})


def choose_ground(session: Session, message: Mapping[str, Any]) -> None:
    """Record the ground at a person's {pixel: [x, y]}, with further ones at {also: [[x, y]]}; measure all again.

    Raises FrameError.
    """
    frame = session.project.frame
    also = message.get("also") or []
    pixels = [parse_pixel(one, frame) for one in (message, *({"pixel": pixel} for pixel in also))]
    session.decisions.record("ground", **ground_decision(frame, pixels))
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

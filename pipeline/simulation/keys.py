"""What things are put in order by: size, height, width, mass, colour, name."""

from collections.abc import Callable
from typing import Any

from pipeline.simulation.objects import Object

RAINBOW = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")
"""The rainbow's order; what is not in the rainbow comes after it, dark to light."""

KEYS: dict[str, Callable[[Object], Any]] = {
    "size": lambda thing: round(thing.volume * 1e6),
    "height": lambda thing: round(float(thing.size[2]) * 1e3),
    "width": lambda thing: round(thing.radius * 2e3),
    "mass": lambda thing: round(thing.mass * 1e3),
    "colour": lambda thing: RAINBOW.index(thing.colour) if thing.colour in RAINBOW else len(RAINBOW),
    "name": lambda thing: thing.name,
}
"""By which things are ordered, rising; whole cubic centimetres, millimetres and grams, so that equal is equal."""

"""Keys by which objects are sorted: size, height, width, mass, colour, name."""

from collections.abc import Callable
from typing import Any

from pipeline.simulation.objects import Object

RAINBOW = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")
"""Colours in rainbow order, then those that are not in the rainbow, dark to light."""

KEYS: dict[str, Callable[[Object], Any]] = {
    "size": lambda o: round(o.volume * 1e6),
    "height": lambda o: round(float(o.size[2]) * 1e3),
    "width": lambda o: round(o.radius * 2e3),
    "mass": lambda o: round(o.mass * 1e3),
    "colour": lambda o: RAINBOW.index(o.colour) if o.colour in RAINBOW else len(RAINBOW),
    "name": lambda o: o.name,
}
"""Values to sort by, rising. Rounded to cubic centimetres, millimetres and grams, so that equal objects tie."""

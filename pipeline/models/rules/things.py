"""The objects of a scene as the rules see them, and what can be done with each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RAINBOW = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")
"""The rainbow's order; what is not in the rainbow comes after it, dark to light."""

WALL = 0.006
"""What a container's wall is taken to be, in metres, on each side."""
OPEN_TOPS = {"bowl", "mug", "cup", "bin", "tray", "basket", "pan", "pot", "bucket", "glass", "dish", "plate", "tub"}
NARROW_TOPS = {
    "bottle",
    "jug",
    "spray",
    "banana",
    "drill",
    "hammer",
    "plane",
    "airplane",
    "mug",
    "cup",
    "apple",
    "pear",
}


@dataclass(frozen=True)
class PartThere:
    """A drawer, door, lid or knob of a thing, from the question's JSON."""

    name: str
    slides: bool
    size: tuple[float, float, float]
    """Extents in metres along the thing's own axes."""
    share: float
    """How far it is open: 0 shut, 1 wholly."""
    upright: bool
    """It slides, or turns about the vertical: what the hand can do."""

    @staticmethod
    def of(data: Mapping[str, Any]) -> "PartThere":
        x, y, z = (float(v) for v in data.get("size") or (0.1,) * 3)
        slides = data.get("kind") == "slide"
        return PartThere(str(data["name"]), slides, (x, y, z), float(data.get("open") or 0), bool(data.get("upright")))


@dataclass(frozen=True)
class Thing:
    """One object, from the question's JSON."""

    name: str
    category: str
    shape: str
    colour: str
    size: tuple[float, float, float]
    """x, y and z extents in metres; the ground axes are its own."""
    position: tuple[float, float, float]
    """Of the box's centre, in world axes, in metres."""
    container: bool
    about: str
    """Whatever else is known in words: caption, asset."""
    parts: tuple[PartThere, ...] = ()
    """What of it opens, shuts or turns. What has such parts is furniture: nobody carries it."""

    @staticmethod
    def of(data: Mapping[str, Any]) -> "Thing":
        size, position = data.get("size") or (0.05,) * 3, data.get("position") or (0.0,) * 3
        words = " ".join(str(data.get(key) or "") for key in ("caption", "asset"))
        return Thing(
            str(data["name"]),
            str(data.get("category") or "").lower(),
            str(data.get("shape") or "irregular"),
            str(data.get("colour") or ""),
            (float(size[0]), float(size[1]), float(size[2])),
            (float(position[0]), float(position[1]), float(position[2])),
            bool(data.get("container")),
            words.lower(),
            tuple(PartThere.of(part) for part in data.get("parts") or ()),
        )

    @property
    def width(self) -> float:
        """The larger ground extent, in metres."""
        return max(self.size[:2])

    @property
    def narrow(self) -> float:
        """The smaller ground extent, in metres."""
        return min(self.size[:2])

    @property
    def height(self) -> float:
        return self.size[2]

    @property
    def volume(self) -> float:
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def flat(self) -> bool:
        """Flat on top: something can stand on it."""
        odd = self.shape in ("sphere", "bowl", "irregular") or self.category in NARROW_TOPS | OPEN_TOPS
        return bool(self.parts) or (not odd and not self.container)

    @property
    def block(self) -> bool:
        """Flat above and below and no taller than it can carry: fit for a tower."""
        return self.flat and self.height < 3 * self.narrow


def doubt_carry(thing: Thing) -> float:
    """How likely a suction gripper is to drop or topple `thing`: from none at 0 for a compact block to certain at 1."""
    size = abs(float(np.log(max(thing.width, 1e-3) / 0.07)))
    slim = max(0.0, thing.height / max(thing.narrow, 1e-3) - 2)
    odd = 0.2 if thing.shape in ("irregular", "sphere") else 0.1 if thing.container else 0.0
    return min(1.0, 0.15 * size + 0.08 * slim + odd)


def things(scene: Mapping[str, Any]) -> tuple[Thing, ...]:
    """The objects of a scene as questions hold it (tasks.scene_data)."""
    return tuple(Thing.of(data) for data in scene.get("objects", ()))


def diagonal(thing: Thing) -> float:
    """Of its footprint, in metres: the circle that holds it at any yaw."""
    round_ = thing.shape in ("cylinder", "sphere", "bowl")
    return thing.width if round_ else float(np.hypot(*thing.size[:2]))


def cm(metres: float) -> str:
    """A length as a person says it, in whole centimetres."""
    return f"{metres * 100:.0f} cm"


def why_not_on(upper: Thing, lower: Thing) -> str:
    """Why `upper` cannot stand on `lower`, or nothing."""
    if upper.name == lower.name:
        return f"{upper.name} cannot stand on itself"
    if lower.shape == "sphere":
        return f"{lower.name} is round on top: nothing stays on a sphere"
    if upper.shape == "sphere":
        return f"{upper.name} is a sphere: it rolls off {lower.name}"
    if lower.container:
        return ""
    if not lower.flat:
        return f"{lower.name} has no flat top to stand on"
    if upper.narrow > 2 * lower.width:
        return f"{upper.name} ({cm(upper.narrow)} wide) is too wide for {lower.name} ({cm(lower.width)})"
    return ""


def why_not_in(thing: Thing, container: Thing) -> str:
    """Why `thing` does not go into `container`, or nothing."""
    room = container.narrow - 2 * WALL
    if thing.name == container.name:
        return f"{thing.name} cannot go into itself"
    if not container.container and container.parts:
        drawers = [part.name for part in container.parts if part.slides]
        which = f"say which drawer: {', '.join(drawers)}" if drawers else "its inside is not reached from above"
        return f"{container.name} takes nothing from above; {which}"
    if not container.container:
        return f"{container.name} is no container"
    if thing.narrow > room:
        return f"{thing.name} ({cm(thing.narrow)} wide) does not fit into {container.name} ({cm(room)} inside)"
    return ""


def why_not_in_part(thing: Thing, owner: Thing, name: str) -> str:
    """Why `thing` does not go into a part of `owner`, or nothing."""
    part = next((part for part in owner.parts if part.name == name), None)
    if part is None or not part.slides or "drawer" not in name:
        return f"{name} of {owner.name} is no drawer: the hand puts things in from above"
    if thing.parts:
        return f"{thing.name} is furniture: it stays where it stands"
    room = min(part.size[:2]) - 2 * WALL
    if thing.narrow > room:
        return f"{thing.name} ({cm(thing.narrow)} wide) does not fit into {name} of {owner.name} ({cm(room)} inside)"
    return ""


def doubt_in(thing: Thing, container: Thing) -> float:
    """How likely `thing` is to come to rest outside `container`, from none at 0 to certain at 1."""
    slack = (container.narrow - 2 * WALL) / max(float(np.hypot(*thing.size[:2])), 1e-3)
    tall = thing.height / max(container.height, 0.02)
    return min(1.0, max(0.0, 0.6 * (1.15 - slack)) + max(0.0, 0.15 * (tall - 2)))


def doubt_on(upper: Thing, lower: Thing) -> float:
    """How likely `upper` is to fall off `lower`, from none at 0 to certain at 1."""
    overhang = upper.narrow / max(lower.narrow, 1e-3)
    slim = upper.height / max(upper.narrow, 1e-3)
    loose = 0.0 if upper.shape in ("box", "cube", "cylinder") else 0.3
    return min(1.0, max(0.0, 0.4 * (overhang - 1)) + max(0.0, 0.1 * (slim - 2)) + loose)

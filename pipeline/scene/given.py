"""What people decided about where an object stands, how large it is and what it weighs, out of the log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.placement import Placement, Scene

KINDS = ("move", "resize", "refit", "physics", "choose_asset", "make")
"""Decisions that matter here; another asset is another size and weight."""
LEAST, MOST = 0.05, 20.0
"""Between these a scale is believed."""


@dataclass(frozen=True, eq=False)
class Given:
    """What a person said of one object. The pose and scale of a refit are where to look from, not where it stands."""

    pose: Pose | None = None
    """world_from_object, of the box's centre."""
    scale: float | None = None
    """Times the asset's own size."""
    refit: bool = False
    """Registration looks again from `pose`, too; without one the machine's own pose stands."""
    free: bool = False
    """A refit may change the scale."""
    way: str | None = None
    """How it is to be made from the view, whatever it was matched with: one of assets.reconstruct.WAYS."""
    mass: float | None = None
    """In kg."""
    friction: float | None = None
    mass_range: tuple[float, float] | None = None
    """What is plausible, where a model said it."""
    friction_range: tuple[float, float] | None = None
    mass_by: str = "person"
    """Who said the mass: "person" or "model <name>"."""
    friction_by: str = "person"

    @property
    def fixed(self) -> Pose | None:
        """Where it is to stand, whatever registration says."""
        return None if self.refit else self.pose


class Decided(Protocol):
    """A decision of one of the KINDS."""

    @property
    def kind(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]: ...


def given_by(decisions: Iterable[Decided]) -> dict[int, Given]:
    """What holds of each object after all decisions in order, by segment id."""
    held: dict[int, Given] = {}
    for one in decisions:
        id = int(one.data["id"])
        held[id] = _after(held.get(id, Given()), one.kind, one.data)
    return held


def _after(now: Given, kind: str, data: Mapping[str, Any]) -> Given:
    pose = _pose(data) if "pos" in data else None
    match kind:
        case "move":
            fitted = _scale(data["scale"]) if "scale" in data else None  # a refit's own is known to who moves it
            return replace(now, pose=pose, scale=fitted if now.refit else now.scale, refit=False)
        case "resize":
            return replace(now, pose=pose or now.fixed, scale=_scale(data["scale"]), refit=False)
        case "refit":
            scale = _scale(data["scale"]) if "scale" in data else None
            return replace(now, pose=pose, scale=scale, refit=True, free=bool(data.get("free")))
        case "physics":
            return _weighed_so(now, data)
        case "make":
            return Given(now.fixed, way=str(data["way"]))
        case _:
            return Given(now.fixed)


def _weighed_so(now: Given, data: Mapping[str, Any]) -> Given:
    """What a person leaves as a model said it stays the model's."""
    mass, friction = _positive(data["mass"]), _positive(data["friction"])
    who = data.get("source")
    kept_mass = who is None and mass is not None and mass == now.mass
    kept_friction = who is None and friction is not None and friction == now.friction
    return replace(
        now,
        mass=mass,
        friction=friction,
        mass_range=now.mass_range if kept_mass else _range(data.get("mass_range")),
        friction_range=now.friction_range if kept_friction else _range(data.get("friction_range")),
        mass_by=now.mass_by if kept_mass else str(who or "person"),
        friction_by=now.friction_by if kept_friction else str(who or "person"),
    )


def weighed(scene: Scene, given: Mapping[int, Given]) -> Scene:
    """The scene with the masses and frictions that people gave."""
    return replace(scene, placements=tuple(weigh(p, given.get(p.segment_id, Given())) for p in scene.placements))


def weigh(p: Placement, given: Given) -> Placement:
    """An object with the mass and friction that were given."""
    if given.mass is not None:
        plausible = given.mass_range or p.mass_range
        p = replace(p, mass=given.mass, mass_source=given.mass_by, mass_range=plausible)
    if given.friction is not None:
        plausible = given.friction_range or p.friction_range
        p = replace(p, friction=given.friction, friction_source=given.friction_by, friction_range=plausible)
    return p


def _pose(data: Mapping[str, Any]) -> Pose:
    quat = np.array(list(data["quat_wxyz"]), float)
    length = float(np.linalg.norm(quat))
    proper = quat.shape == (4,) and length > 1e-6
    return Pose(np.array(data["pos"], float), quat / length if proper else np.array([1.0, 0, 0, 0]))


def _scale(value: Any) -> float:
    return float(np.clip(float(value), LEAST, MOST))


def _positive(value: Any) -> float | None:
    number = float(value) if value is not None else 0.0
    return number if 0 < number < 1e4 else None


def _range(value: Any) -> tuple[float, float] | None:
    return (float(value[0]), float(value[1])) if value else None

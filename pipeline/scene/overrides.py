"""A person's corrections of where an object stands, how large it is and what it weighs, read from the decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.placement import Placement, Scene

DECISION_KINDS = ("move", "resize", "refit", "physics", "recolour", "choose_asset", "make")
"""Kinds of decisions that change an override. Choosing an asset resets size and weight."""


@dataclass(frozen=True, eq=False)
class Override:
    """What a person corrected about one object. With `refit`, pose and scale are where registration starts."""

    pose: Pose | None = None
    """world_from_object; pos is the centre of the box."""
    scale: float | None = None
    """Relative to the asset's own size."""
    refit: bool = False
    """Register again, from `pose` and from all around. Without a pose, the machine's own pose holds."""
    refit_scale: bool = False
    """Whether a refit may change the scale."""
    method: str | None = None
    """How to reconstruct the object from the view, whatever it was matched to: a reconstruction method or None."""
    recolour: bool | None = None
    """Whether the asset is tinted and printed as in the photograph; None: if it clearly looks otherwise."""
    mass: float | None = None
    """In kg."""
    friction: float | None = None
    mass_range: tuple[float, float] | None = None
    """Plausible range in kg, if a model gave one."""
    friction_range: tuple[float, float] | None = None
    mass_source: str = "person"
    """Who gave the mass: "person" or "model <name>"."""
    friction_source: str = "person"

    @property
    def fixed_pose(self) -> Pose | None:
        """The pose that holds whatever registration finds; None if there is none."""
        return None if self.refit else self.pose


class DecisionRecord(Protocol):
    """A decision of one of the DECISION_KINDS."""

    @property
    def kind(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]: ...


def overrides_from_decisions(decisions: Iterable[DecisionRecord]) -> dict[int, Override]:
    """Return the override of each object after all decisions in order, by segment id."""
    overrides: dict[int, Override] = {}
    for decision in decisions:
        id = int(decision.data["id"])
        overrides[id] = _apply(overrides.get(id, Override()), decision.kind, decision.data)
    return overrides


def _apply(before: Override, kind: str, data: Mapping[str, Any]) -> Override:
    pose = _pose(data) if "pos" in data else None
    match kind:
        case "move":
            # a move after a refit names the scale that the refit found
            fitted = _scale(data["scale"]) if "scale" in data else None
            return replace(before, pose=pose, scale=fitted if before.refit else before.scale, refit=False)
        case "resize":
            return replace(before, pose=pose or before.fixed_pose, scale=_scale(data["scale"]), refit=False)
        case "refit":
            scale = _scale(data["scale"]) if "scale" in data else None
            return replace(before, pose=pose, scale=scale, refit=True, refit_scale=bool(data.get("free")))
        case "physics":
            return _apply_physics(before, data)
        case "recolour":
            return replace(before, recolour=bool(data["value"]))
        case "make":
            return Override(before.fixed_pose, method=str(data["way"]))
        case _:
            return Override(before.fixed_pose)


def _apply_physics(before: Override, data: Mapping[str, Any]) -> Override:
    """Apply a mass and a friction. A value that a person leaves as a model gave it keeps its source and range."""
    mass, friction = _positive(data["mass"]), _positive(data["friction"])
    source = data.get("source")
    same_mass = source is None and mass is not None and mass == before.mass
    same_friction = source is None and friction is not None and friction == before.friction
    return replace(
        before,
        mass=mass,
        friction=friction,
        mass_range=before.mass_range if same_mass else _range(data.get("mass_range")),
        friction_range=before.friction_range if same_friction else _range(data.get("friction_range")),
        mass_source=before.mass_source if same_mass else str(source or "person"),
        friction_source=before.friction_source if same_friction else str(source or "person"),
    )


def override_scene_physics(scene: Scene, overrides: Mapping[int, Override]) -> Scene:
    """Return the scene with the masses and frictions of the overrides, which are given by segment id."""
    placements = (override_physics(p, overrides.get(p.segment_id, Override())) for p in scene.placements)
    return replace(scene, placements=tuple(placements))


def override_physics(p: Placement, override: Override) -> Placement:
    """Return a placement with the mass and the friction of its override."""
    if override.mass is not None:
        p = replace(p, mass=override.mass, mass_source=override.mass_source)
        if override.mass_range:
            p = replace(p, mass_range=override.mass_range, mass_range_source=override.mass_source)
    if override.friction is not None:
        p = replace(p, friction=override.friction, friction_source=override.friction_source)
        if override.friction_range:
            p = replace(p, friction_range=override.friction_range, friction_range_source=override.friction_source)
    return p


def _pose(data: Mapping[str, Any]) -> Pose:
    quat = np.array(list(data["quat_wxyz"]), float)
    length = float(np.linalg.norm(quat))
    valid = quat.shape == (4,) and length > 1e-6
    return Pose(np.array(data["pos"], float), quat / length if valid else np.array([1.0, 0, 0, 0]))


def _scale(value: Any) -> float:
    # Limits to which a decided scale is clipped
    return float(np.clip(float(value), 0.05, 20.0))


def _positive(value: Any) -> float | None:
    number = float(value) if value is not None else 0.0
    return number if 0 < number < 1e4 else None


def _range(value: Any) -> tuple[float, float] | None:
    return (float(value[0]), float(value[1])) if value else None

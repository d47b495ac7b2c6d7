"""What is uncertain of the twin's objects, as ranges from which conditions are drawn in pairs.

The two conditions of a pair differ in nothing but the objects: as measured ("0-0007m"), and drawn within the ranges
("0-0007u"). So what fails in the second only is due to what the photograph leaves open.
"""

import numpy as np

from pipeline.scene import Placement, Scene

AS_MEASURED, UNCERTAIN = "m", "u"
"""Ends of the ids of a pair."""
POSITION_M, YAW_RAD, SIZE_SHARE = 0.0102, 0.056, 0.122
"""Errors that nine of ten objects stay below, of twins of drawn tables that no choice was made on: the largest of three
sets (docs/results/twin.md)."""
PERSON = "person"

UNKNOWN_SPREAD = 0.3
"""Share by which a mass or a friction may be off where no range is kept."""
UPRIGHT, ON_TABLE_M = 0.95, 0.006
"""Objects that stand upright on the table, alone, are moved, resized and replaced; others keep place and size."""


def uncertain_ranges(p: Placement, scene: Scene) -> dict[str, tuple[float, float, float]]:
    """Return lowest, measured and highest value of each uncertain property of an object, in SI units.

    Mass and friction have the range that the twin keeps, none if a person entered the value. Position, yaw (relative to
    the measured ones) and size (a factor) have one if the object stands alone on the table: the registration's own
    misfit, or what the pipeline is off by on tables with known truth, whichever is more.
    """
    ranges = {
        name: (value, value, value) if source == PERSON else (low, value, high)
        for name, value, (low, high), source in (
            ("mass", p.mass, kept_range(p.mass, p.mass_range), p.mass_source),
            ("friction", p.friction, kept_range(p.friction, p.friction_range), p.friction_source),
        )
    }
    if stands_alone(p, scene):
        position = max(POSITION_M, p.misfit)
        size = max(SIZE_SHARE, 2 * p.misfit / float(max(p.size)))
        ranges |= {"size": (1 - min(size, 0.5), 1.0, 1 + min(size, 0.5))}
        ranges |= {axis: (-half, 0.0, half) for axis, half in (("x", position), ("y", position), ("yaw", YAW_RAD))}
    return ranges


def twin_values(p: Placement, scene: Scene, kind: str, random: np.random.Generator) -> dict[str, float]:
    """Return the factors of one object in a condition of a pair, drawn uniformly if `kind` is UNCERTAIN."""
    ranges = uncertain_ranges(p, scene)
    if kind == AS_MEASURED:
        return {name: float(measured) for name, (_, measured, _) in ranges.items()}
    return {name: float(random.uniform(low, high)) for name, (low, _, high) in ranges.items()}


def kept_range(value: float, kept: tuple[float, float]) -> tuple[float, float]:
    """Return the plausible range of a mass or a friction; 30 % about the value where none is kept."""
    low, high = kept
    return (low, high) if 0 < low < high else (value * (1 - UNKNOWN_SPREAD), value * (1 + UNKNOWN_SPREAD))


def stands_alone(p: Placement, scene: Scene) -> bool:
    """Whether an object stands upright on the table, and nothing on or in it."""
    if p.fixed or p.prop or p.model is not None or p.bottom > ON_TABLE_M:
        return False
    if abs(p.world_from_object.rotation[2, 2]) < UPRIGHT:
        return False
    low, high = p.footprint.min(axis=0), p.footprint.max(axis=0)
    return not any(
        other is not p
        and other.bottom > ON_TABLE_M
        and bool(((other.world_from_object.pos[:2] > low) & (other.world_from_object.pos[:2] < high)).all())
        for other in scene.placements
    )

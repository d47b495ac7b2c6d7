"""Conditions: what is changed about a twin before a run, drawn from a seed and a number.

The same project, seed and number give the same condition in every process and for every robot; its id names both.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.assets import Library
from pipeline.assets.asset import Asset
from pipeline.errors import StudioError
from pipeline.scene import Placement, Scene
from pipeline.variation.twin_uncertainty import AS_MEASURED, UNCERTAIN, kept_range, stands_alone, twin_values

SIZES = 0.9, 1.1
SHIFT_M, YAW_RAD = 0.02, 0.35
"""Largest pose noise along each axis of the table, and about the vertical."""
CAMERA_M, CAMERA_RAD = 0.01, 0.02
"""Standard deviations of the camera's position and angle."""
FIELDS_OF_VIEW = 0.95, 1.05
"""Factors of each camera's field of view: lenses of a kind differ by about that much."""
EXPOSURES = 0.6, 1.6
"""Factors of the light on the sensor: two thirds of a stop either way, by which automatic exposures differ."""
NOISES = 0.0, 8.0
"""Standard deviations of a pixel's noise, in levels of 255: from none to that of a small sensor indoors."""
JPEG_QUALITIES = 40.0, 100.0
MAX_DISTRACTORS = 3
TEXTURES = ("plain", "checker", "gradient")
PICTURE = {"field_of_view": FIELDS_OF_VIEW, "exposure": EXPOSURES, "noise": NOISES, "jpeg": JPEG_QUALITIES}
"""Ranges of what changes the pictures of all cameras; in a condition as "picture.exposure" and so on."""


class VariationError(StudioError):
    """Variations that cannot be made or run."""


@dataclass(frozen=True)
class Condition:
    """One condition. `values` holds every factor by name, in SI units."""

    id: str
    """"<seed>-<number>"; of a pair that differs in the twin only, with AS_MEASURED or UNCERTAIN at its end."""
    values: Mapping[str, float | str] = field(default_factory=dict)


def condition_id(seed: int, number: int) -> str:
    """Return the id of a condition. Inverse of `parse_id`."""
    return f"{seed}-{number:04d}"


def parse_id(id: str) -> tuple[int, int]:
    """Return seed and number of an id. Raises VariationError."""
    found = re.fullmatch(rf"(\d{{1,18}})-(\d{{4,9}})[{AS_MEASURED}{UNCERTAIN}]?", id)
    if not found:
        raise VariationError(f"{id} is no id of a condition; it is <seed>-<number>, such as 0-0007")
    return int(found[1]), int(found[2])


def draw(scene: Scene, names: Sequence[str], library: Library | None, id: str) -> Condition:
    """Return the condition of an id: uniform within the kept ranges, independently for each factor.

    Args:
        names: the objects that vary; others stay as they are.
        library: for cousins and distractors; None for neither.
    """
    random, of_twin = (np.random.default_rng([*parse_id(id), *more]) for more in ((), (1,)))
    values: dict[str, float | str] = {}
    for p in sorted((p for p in scene.placements if p.name in names), key=lambda p: p.name):
        found = _object_values(p, scene, library, random)
        if id[-1] in (AS_MEASURED, UNCERTAIN):
            found = twin_values(p, scene, id[-1], of_twin)
        values |= {f"{p.name}.{factor}": value for factor, value in found.items()}
    # Factors of the lamp's brightness
    values["light"] = float(random.uniform(*(0.4, 1.6)))
    values |= {f"camera.{axis}": float(random.normal(0, CAMERA_M)) for axis in "xyz"}
    values |= {f"camera.{axis}": float(random.normal(0, CAMERA_RAD)) for axis in ("tilt", "pan", "roll")}
    values["table"] = str(random.choice(TEXTURES))
    count, order = int(random.integers(0, MAX_DISTRACTORS + 1)), _distractors(scene, library)
    chosen = random.choice(len(order), min(count, len(order)), replace=False) if order else []
    values["distractors"] = float(len(chosen))
    values |= {f"distractor_{i}": order[int(number)].id for i, number in enumerate(chosen, 1)}
    values |= {f"picture.{name}": float(random.uniform(*ends)) for name, ends in PICTURE.items()}
    return Condition(id, values)


def _object_values(
    p: Placement, scene: Scene, library: Library | None, random: np.random.Generator
) -> dict[str, float | str]:
    """Return the factors of one object. Every call draws as many numbers, whatever the object may do."""
    shares = random.uniform(0, 1, 6)
    cousin, chosen = random.uniform(), random.integers(0, 1 << 31)
    values: dict[str, float | str] = {
        "mass": _between(kept_range(p.mass, p.mass_range), shares[0]),
        "friction": _between(kept_range(p.friction, p.friction_range), shares[1]),
    }
    if stands_alone(p, scene):
        values |= {
            "size": _between(_believable_sizes(p), shares[2]),
            "x": _between((-SHIFT_M, SHIFT_M), shares[3]),
            "y": _between((-SHIFT_M, SHIFT_M), shares[4]),
            "yaw": _between((-YAW_RAD, YAW_RAD), shares[5]),
        }
        if others := cousins(p, library):
            # Share of conditions in which an object is replaced by another asset of its category, where there is one
            values["asset"] = others[int(chosen) % len(others)].id if cousin < 0.25 else (p.asset_id or "")
    return values


def _believable_sizes(p: Placement) -> tuple[float, float]:
    """Return the factors of an object's size, without those that a model's range of lengths excludes.

    An object that is measured outside that range varies as any other.
    """
    low, high = (edge / float(max(p.size)) for edge in p.length_range)
    return (max(SIZES[0], low), min(SIZES[1], high)) if 0 < low <= 1 <= high else SIZES


def _between(ends: tuple[float, float], share: float) -> float:
    return float(ends[0] + share * (ends[1] - ends[0]))


def cousins(p: Placement, library: Library | None) -> list[Asset]:
    """Return the other assets of an object's category, by id (Digital Cousins, Dai et al. 2024)."""
    found = [
        asset for asset in library or ()
        if asset.category == p.category and p.category and asset.id != p.asset_id and not asset.joints
        and asset.container == p.container and p.asset_id
    ]  # fmt: skip
    return sorted(found, key=lambda asset: asset.id)


def _distractors(scene: Scene, library: Library | None) -> list[Asset]:
    """Return the small assets of categories that the scene lacks, by id."""
    there = {p.category for p in scene.placements}
    found = [a for a in library or () if a.category not in there and not a.joints and max(a.size) < 0.13]
    return sorted(found, key=lambda asset: asset.id)

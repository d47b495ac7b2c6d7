"""Which properties of a twin's objects may be other than they are, and by how much."""

from pipeline.scene import Placement, Scene

UNKNOWN_SPREAD = 0.3
"""Share by which a mass or a friction may be off where no range is kept."""
UPRIGHT, ON_TABLE_M = 0.95, 0.006
"""Objects that stand upright on the table, alone, are moved, resized and replaced; others keep place and size."""


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
        other is not p and other.bottom > ON_TABLE_M
        and bool(((other.world_from_object.pos[:2] > low) & (other.world_from_object.pos[:2] < high)).all())
        for other in scene.placements
    )  # fmt: skip

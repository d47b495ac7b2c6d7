"""The condition of an evaluation that a project's twin is under, from the decision "vary"."""

from collections.abc import Mapping
from typing import Any

from pipeline.assets import Library
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.variation import Condition
from pipeline.variation.condition import MAX_DISTRACTORS, TEXTURES

POSE = ("x", "y", "yaw")
REPLACED: Mapping[str, tuple[str, ...]] = {
    "move": POSE, "refit": (*POSE, "size"), "resize": (*POSE, "size"), "physics": ("mass", "friction"),
    "choose_asset": (*POSE, "size", "mass", "friction", "asset"), "make": (*POSE, "size", "mass", "friction", "asset"),
}  # fmt: skip
"""What a later correction of an object replaces of its condition: it was made on the varied twin."""
UNCHANGED: Mapping[str, float] = {"light": 1.0} | {
    f"camera.{axis}": 0.0 for axis in ("x", "y", "z", "tilt", "pan", "roll")
}


def twin_condition(project: Project, scene: Scene, library: Library) -> Condition | None:
    """Return the condition of the last decision "vary", as later corrections leave it; None without one.

    Assets that the library has no more are left out.
    """
    if not (varied := project.active_decisions("vary")):
        return None
    data, names = varied[-1].data, {p.segment_id: p.name for p in scene.placements}
    values: dict[str, Any] = dict(data["values"])
    later = project.active_decisions("vary", *REPLACED)
    for decision in later[later.index(varied[-1]) + 1 :]:
        for factor in REPLACED[decision.kind]:
            values.pop(f"{names.get(decision.data['id'])}.{factor}", None)
    kept = {name: value for name, value in values.items() if not name.endswith(".asset") or value in library}
    extras = [values.get(f"distractor_{number}") for number in range(1, MAX_DISTRACTORS + 1)]
    there = [asset for asset in extras if asset in library]
    kept |= {f"distractor_{number}": asset for number, asset in enumerate(there, 1)} | {"distractors": len(there)}
    kept["table"] = kept["table"] if kept.get("table") in TEXTURES else TEXTURES[0]
    return Condition(data["condition"], dict(UNCHANGED) | kept)

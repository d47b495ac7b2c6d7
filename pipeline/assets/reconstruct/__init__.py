"""An asset made from what one view shows of a thing, where nothing in the library fits.

Its shape is whichever explains the view best (`ways.py`); the photograph is its texture where it was seen, and what was
not seen is guessed and painted in a muted colour.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.categories import usual_friction, usual_mass
from pipeline.assets.library import read_asset, write_asset
from pipeline.assets.reconstruct.evidence import gather
from pipeline.assets.reconstruct.photograph import photographed
from pipeline.assets.reconstruct.proposal import Proposal, about_z
from pipeline.assets.reconstruct.ways import WAYS, shape
from pipeline.description import Description
from pipeline.frame import Frame, Support
from pipeline.geometry import Pose
from pipeline.segmentation import Segment
from pipeline.store import digest

__all__ = ["PROVENANCE", "WAYS", "Reconstruction", "reconstruct"]

PROVENANCE = "made from the view"
"""How the provenance of what is made here begins."""
VERSION = 4
"""Of how things are made: counted up, it makes everything anew."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    asset: Asset
    """Its id is `view_<segment id>`; it belongs to no library."""
    world_from_object: Pose
    """Where the view shows it; pos is the centre of its box."""
    way: str
    """One of WAYS, never "best": what was chosen."""
    seen: float
    """Share of its surface that the camera saw, in [0, 1]; the rest is guessed."""


def reconstruct(
    frame: Frame, support: Support, segment: Segment, description: Description, folder: Path, way: str = "best"
) -> Reconstruction:
    """The thing under a segment as an asset in `folder`/view_<segment id>, which is written anew.

    "provider" without what a service made (provided.py) is as "best". What was made there before of the same evidence
    in the same way is found again. Raises AssetError for a way that is none of WAYS.
    """
    if way not in WAYS:
        raise AssetError(f'an asset cannot be made in the way "{way}"; the ways are {", ".join(WAYS)}')
    attributes, target = description.attributes, folder / f"view_{segment.id}"
    evidence = gather(frame, support, segment, attributes)
    key = digest("made", VERSION, way, evidence.rays, evidence.depth, evidence.own, evidence.dense, evidence.bottom,
                 attributes.shape, attributes.size, attributes.centre, attributes.yaw, attributes.rgb, description.name,
                 description.caption)  # fmt: skip
    if (before := _made_before(target, key)) is not None:
        return before
    chosen = shape(evidence, attributes, way)
    solid, seen = photographed(chosen.solid, frame, support, segment, attributes.rgb, evidence)
    solid = solid.moved(np.linalg.inv(Pose.from_rotation(np.zeros(3), about_z(chosen.yaw)).matrix))
    middle = solid.mesh.bounds.mean(axis=0)
    pose = Pose.from_rotation(about_z(chosen.yaw) @ middle, about_z(chosen.yaw))
    shutil.rmtree(target, ignore_errors=True)
    category = _category(chosen, solid.mesh.extents)
    about = {
        "name": description.name.replace("_", " "),
        "caption": description.caption,
        "category": category,
        "mass": round(usual_mass(solid.mesh.extents, chosen.hollow), 4),
        "mass_from": "size",
        "friction": usual_friction(category),
        "friction_from": "category table",
        "container": chosen.hollow,
        "provenance": f"{PROVENANCE} as {chosen.said}; {seen:.0%} of its surface was seen, the rest is guessed",
        "made": {
            "key": key, "way": chosen.way, "seen": seen, "pos": pose.pos.tolist(), "quat_wxyz": pose.quat_wxyz.tolist(),
        },
    }  # fmt: skip
    return Reconstruction(write_asset(solid, target, about), pose, chosen.way, seen)


def _category(chosen: Proposal, extents: np.ndarray) -> str:
    wide, deep, high = extents
    if chosen.hollow:
        return "bowl" if high < 0.8 * (wide + deep) / 2 else "cup"
    if chosen.way == "box":
        return "cube" if max(extents) < 1.25 * min(extents) else "box"
    return chosen.way if chosen.way in ("cylinder", "ball") else "thing"


def _made_before(target: Path, key: str) -> Reconstruction | None:
    """What the folder holds, where it was made of the same evidence."""
    try:
        made = json.loads((target / "asset.json").read_text(encoding="utf-8"))["made"]
        if made["key"] != key:
            return None
        pose = Pose(np.array(made["pos"]), np.array(made["quat_wxyz"]))
        return Reconstruction(read_asset(target), pose, made["way"], made["seen"])
    except (OSError, ValueError, KeyError, AssetError):
        return None

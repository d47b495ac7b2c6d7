"""Reconstructs an asset from what one view shows of an object that no asset of the library fits.

Its shape is the one that explains the view best (model_selection.py). The photograph is its texture where it was
visible; unseen faces get a muted colour.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.categories import default_friction, default_mass
from pipeline.assets.library import read_asset, write_asset
from pipeline.assets.reconstruct.model_selection import RECONSTRUCTION_METHODS, select_shape
from pipeline.assets.reconstruct.photo_texture import texture_from_photo
from pipeline.assets.reconstruct.revolution import OPEN_BOX
from pipeline.assets.reconstruct.shape_proposal import ShapeProposal
from pipeline.assets.reconstruct.view_observation import observe_surface, views_of
from pipeline.description import Description
from pipeline.frame import Frame, FurtherView, Support
from pipeline.geometry import Pose, rotation_about_z
from pipeline.segmentation import Segment
from pipeline.store import digest, parse_json

__all__ = ["PROVENANCE_PREFIX", "RECONSTRUCTION_METHODS", "Reconstruction", "reconstruct", "reconstruction_folder"]

PROVENANCE_PREFIX = "made from the view"
"""Start of the provenance of every reconstructed asset."""
OPEN_NAMES = {"bowl", "mug", "cup", "pot", "pan"}
"""Names of round things that are open above."""
RECONSTRUCTION_VERSION = 6
"""Version of the method: increase it to reconstruct everything again."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """An asset made from a view, and its pose."""

    asset: Asset
    """Its id is `view_<segment id>`. It belongs to no library."""
    world_from_object: Pose
    """Its pose in the view; pos is the centre of its bounding box."""
    method: str
    """The method that was chosen: one of RECONSTRUCTION_METHODS, never "best"."""


def reconstruct(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    folder: Path,
    method: str = "best",
    views: Sequence[FurtherView] = (),
) -> Reconstruction:
    """Reconstruct the object of a segment as an asset in `folder`/view_<segment id>, which is replaced.

    The method "provider" is as "best" if no service made an asset (generated_asset.py). An asset made there before from
    the same observation by the same method is returned as it is. Raises AssetError for an unknown method.
    """
    if method not in RECONSTRUCTION_METHODS:
        methods = ", ".join(RECONSTRUCTION_METHODS)
        raise AssetError(f'there is no reconstruction method "{method}"; available: {methods}')
    attributes, target = description.attributes, reconstruction_folder(folder, segment.id)
    observation = observe_surface(frame, support, segment, attributes, views)
    is_open = method == "best" and is_known_open(description)
    key = digest(
        "made", RECONSTRUCTION_VERSION, method, observation.rays, observation.depth, observation.in_mask,
        observation.surface_points, observation.bottom_z, attributes.shape, attributes.size, attributes.centre,
        attributes.yaw, attributes.rgb, description.name, description.caption, is_open,
        *((view.rays, view.depth, view.in_mask, view.camera_position) for view in observation.others),
    )  # fmt: skip
    if (existing := _find_existing(target, key)) is not None:
        return existing
    shape = select_shape(observation, attributes, method, is_open)
    shown = views_of(segment, views)
    solid, visible = texture_from_photo(shape.solid, frame, support, segment, attributes.rgb, observation, shown)
    seen_from = f"seen from {len(observation.views)} views" if observation.others else "seen"
    solid = solid.transformed(np.linalg.inv(Pose.from_rotation(np.zeros(3), rotation_about_z(shape.yaw)).matrix))
    centre = solid.mesh.bounds.mean(axis=0)
    pose = Pose.from_rotation(rotation_about_z(shape.yaw) @ centre, rotation_about_z(shape.yaw))
    shutil.rmtree(target, ignore_errors=True)
    category = _category(shape, solid.mesh.extents)
    facts = {
        "name": description.name.replace("_", " "),
        "caption": description.caption,
        "category": category,
        "mass": round(default_mass(solid.mesh.extents, shape.is_hollow), 4),
        "mass_from": "size",
        "friction": default_friction(category),
        "friction_from": "category table",
        "container": shape.is_hollow,
        "provenance": f"{PROVENANCE_PREFIX} as {shape.label}; {visible:.0%} of its surface was {seen_from}, "
        "the rest is guessed",
        "made": {
            "key": key,
            "way": shape.method,
            "seen": visible,
            "pos": pose.pos.tolist(),
            "quat_wxyz": pose.quat_wxyz.tolist(),
        },
    }
    return Reconstruction(write_asset(solid, target, facts), pose, shape.method)


def reconstruction_folder(folder: Path, segment_id: int) -> Path:
    """Return where below `folder` the asset of a segment is made."""
    return folder / f"view_{segment_id}"


def is_known_open(description: Description) -> bool:
    """Whether a model or a person calls the object something that is open, such as a cup, however little is seen."""
    return description.source != "measured" and bool(OPEN_NAMES & set(description.name.split("_")))


def _category(shape: ShapeProposal, extents: np.ndarray) -> str:
    wide, deep, high = extents
    if shape.label == OPEN_BOX:
        return "tray" if high < min(wide, deep) / 4 else "bin"
    if shape.is_hollow:
        return "bowl" if high < 0.8 * (wide + deep) / 2 else "cup"
    if shape.method == "box":
        return "cube" if max(extents) < 1.25 * min(extents) else "box"
    return shape.method if shape.method in ("cylinder", "ball") else "thing"


def _find_existing(target: Path, key: str) -> Reconstruction | None:
    """Return the asset in the folder if it was made from the same observation."""
    try:
        made = parse_json((target / "asset.json").read_text(encoding="utf-8"))["made"]
        if made["key"] != key:
            return None
        pose = Pose(np.array(made["pos"]), np.array(made["quat_wxyz"]))
        return Reconstruction(read_asset(target), pose, made["way"])
    except (OSError, ValueError, KeyError, AssetError):
        return None

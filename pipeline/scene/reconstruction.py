"""Reconstruct an object from the view and place it where it was observed, for the twin and for previews."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset
from pipeline.assets.reconstruct import reconstruct
from pipeline.description import Description
from pipeline.geometry import Pose
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import Placement
from pipeline.scene.pose_search import PoseFit, cached_fit, refine_pose
from pipeline.scene.support_relations import SUPPORT_TOLERANCE_M, support_height


def reconstruct_object(
    observed: ObservedObject, method: str, bottom: float, folder: Path, cache: Path | None = None
) -> tuple[Asset, PoseFit]:
    """Return the reconstructed asset, written below `folder`, and its fit when it rests at height `bottom` in metres.

    Raises AssetError for an unknown reconstruction method.
    """
    frame, support = observed.observation.frame, observed.observation.support
    description = _above_support(observed.description, bottom)
    result = reconstruct(frame, support, observed.segment, description, folder, method)
    asset, start = result.asset, _at_height(result.world_from_object, result.asset.size, bottom)
    evidence = (observed.points, observed.segment.mask, asset.digest, start.matrix)
    return asset, cached_fit(cache, evidence, lambda: refine_pose(asset, start, observed.target))


def preview_reconstruction(
    observed: ObservedObject, method: str, below: Iterable[Placement], folder: Path
) -> tuple[Asset, PoseFit]:
    """Return what reconstruction by `method` would give, on the table or on one of the placements `below`.

    Writes to `folder`, apart from the twin's own files. Raises AssetError for an unknown method.
    """
    return reconstruct_object(observed, method, support_height(observed, tuple(below)), folder / method, folder)


def _above_support(description: Description, bottom: float) -> Description:
    """Return the description with the object's height counted from the top of its support, at `bottom`.

    That is less than was measured if the support was measured too, and more if the mask shows only the upper part.
    """
    a = description.attributes
    top, measured_bottom = (float(a.centre[2] + side * a.size[2] / 2) for side in (1, -1))
    as_measured = measured_bottom < bottom + SUPPORT_TOLERANCE_M and (bottom <= 0 or measured_bottom > bottom - 0.005)
    if as_measured or top - bottom < 0.01:
        return description
    size, centre = a.size.copy(), a.centre.copy()
    size[2], centre[2] = top - bottom, (top + bottom) / 2
    return replace(description, attributes=replace(a, size=size, centre=centre))


def _at_height(pose: Pose, size: np.ndarray, bottom: float) -> Pose:
    """Return the pose at the height at which a box of `size` (3,) rests at `bottom`."""
    return Pose(np.array([*pose.pos[:2], bottom + np.abs(pose.rotation[2]) @ size / 2]), pose.quat_wxyz)

"""A thing made from the view and laid where it was seen: what the twin holds, and what a page shows before it does."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset
from pipeline.assets.reconstruct import reconstruct
from pipeline.description import Description
from pipeline.frame import Frame, Support
from pipeline.geometry import Pose
from pipeline.scene.holding import HELD, holder_top
from pipeline.scene.laying import Laid, found_again, touched_up
from pipeline.scene.placement import Placement
from pipeline.scene.registration import Sight
from pipeline.scene.seen import Seen, object_points
from pipeline.segmentation import Segment


def made(
    frame: Frame,
    support: Support,
    thing: Seen,
    way: str,
    bottom: float,
    folder: Path,
    cache: Path | None = None,
) -> tuple[Asset, Laid]:
    """The asset, written below `folder`, and where it lies when it rests at height `bottom`, in metres.

    `way` is one of assets.reconstruct.WAYS. Raises AssetError for another.
    """
    one = reconstruct(frame, support, thing.segment, _standing_on(thing.description, bottom), folder, way)
    start = _raised(one.world_from_object, one.asset.size, bottom)
    sight = Sight(thing.points, frame, support.world_from_camera)
    seen = (thing.points, thing.segment.mask, one.asset.digest, start.matrix)
    return one.asset, found_again(cache, seen, lambda: touched_up(one.asset, start, sight))


def preview(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    way: str,
    below: Iterable[Placement],
    folder: Path,
) -> tuple[Asset, Laid]:
    """What one segment would be if it were made in that way, on the table or on what is already placed `below`.

    Kept in `folder`, apart from what the twin holds. Raises AssetError for a way that there is not.
    """
    thing = Seen(segment, description, None, object_points(frame, support, segment))
    return made(frame, support, thing, way, holder_top(thing, tuple(below)), folder / way, folder)


def _standing_on(description: Description, bottom: float) -> Description:
    """The description, its size counted from what holds the object: less than was seen of both, or more than its mask
    shows, where something unnamed was seen under that."""
    a = description.attributes
    top, foot = (float(a.centre[2] + side * a.size[2] / 2) for side in (1, -1))
    as_measured = foot < bottom + HELD and (bottom <= 0 or foot > bottom - 0.005)
    if as_measured or top - bottom < 0.01:
        return description
    size, centre = a.size.copy(), a.centre.copy()
    size[2], centre[2] = top - bottom, (top + bottom) / 2
    return replace(description, attributes=replace(a, size=size, centre=centre))


def _raised(pose: Pose, size: np.ndarray, bottom: float) -> Pose:
    """The pose at the height at which the box rests at `bottom`."""
    return Pose(np.array([*pose.pos[:2], bottom + np.abs(pose.rotation[2]) @ size / 2]), pose.quat_wxyz)

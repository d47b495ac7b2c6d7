"""Which way a thing faces: of the turns in which its shape fits about as well, the one that looks as photographed.

A box has no front, an oven has: only its looks tell its door from its back.
"""

from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.assets import Asset
from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene import candidate, registration
from pipeline.scene.laying import Laid, found_again
from pipeline.scene.placement import SceneError
from pipeline.scene.registration import Sight
from pipeline.scene.seen import Seen

ALIKE = 0.004
"""Metres by which another turn may fit worse for its looks to be compared."""
CLEARER = 0.1
"""By which the looks of another turn must agree better, as a correlation."""
SOFT = 4.0
"""Pixels of a drawing that are smoothed over before looks are compared."""
FEWEST = 200
"""Pixels of a drawing without which there is nothing to compare."""


def facing(laid: Laid, asset: Asset, thing: Seen, sight: Sight, cache: Path | None) -> Laid:
    """As laid, or turned by quarters about the vertical. Where nothing can be drawn, as laid."""
    if len(thing.points) < 10:
        return laid
    what = ("facing", thing.points, thing.segment.mask, asset.digest, laid.pose.matrix, laid.scale)
    return found_again(cache, what, lambda: _facing(laid, asset, thing, sight))


def _facing(laid: Laid, asset: Asset, thing: Seen, sight: Sight) -> Laid:
    turns = [_turned(laid, quarter, asset, sight) for quarter in (1, 2, 3)]
    alike = [one for one in turns if one.cost < laid.cost + ALIKE]
    if not alike:
        return laid
    size = asset.size * laid.scale
    try:
        looks = [likeness(sight.frame, sight.world_from_camera, thing.segment.mask, asset.mesh, size, one.pose)
                 for one in (laid, *alike)]  # fmt: skip
    except SceneError:
        return laid
    best = int(np.argmax(looks))
    return alike[best - 1] if best and looks[best] > looks[0] + CLEARER else laid


def _turned(laid: Laid, quarters: int, asset: Asset, sight: Sight) -> Laid:
    turn = Rotation.from_euler("z", 90 * quarters, degrees=True).as_matrix()
    start = Pose.from_rotation(laid.pose.pos, turn @ laid.pose.rotation)
    fit = registration.register(registration.surface(asset.mesh, asset.size * laid.scale), sight, [start], 1)
    return Laid(fit.pose, laid.scale, fit.cost)


def likeness(
    frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, mesh: Path, size: np.ndarray, pose: Pose
) -> float:
    """Correlation of the colours drawn with those photographed, in [-1, 1], where the mask (H, W) and it both show.

    Raises SceneError where nothing can be drawn.
    """
    drawn = candidate.draw(frame, world_from_camera, mask, mesh, size, pose).rgba
    part, shape = candidate.window(mask).part, drawn.shape[1::-1]
    photo = cv2.resize(frame.rgb[part], shape)
    both = (drawn[..., 3] > 128) & (cv2.resize(mask[part].astype(np.uint8), shape) > 0)
    if both.sum() < FEWEST:
        return -1.0
    one, other = (cv2.GaussianBlur(p[..., :3].astype(np.float32), (0, 0), SOFT)[both] for p in (photo, drawn))
    one, other = one - one.mean(0), other - other.mean(0)
    return float((one * other).sum() / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-6))

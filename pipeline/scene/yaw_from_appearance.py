"""Choose an object's yaw by its appearance, among the quarter turns in which its shape fits about equally well.

The shape of an oven is a box: only its appearance tells the door from the back.
"""

from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.assets import Asset
from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene import registration
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import SceneError
from pipeline.scene.pose_search import PoseFit, cached_fit
from pipeline.scene.preview import candidate_preview
from pipeline.scene.registration import RegistrationTarget


def choose_yaw(fit: PoseFit, asset: Asset, observed: ObservedObject, cache: Path | None) -> PoseFit:
    """Return the fit, or the fit turned by 90, 180 or 270 degrees if that looks more like the photograph.

    Where nothing can be rendered the fit is returned as it is. Results are memoised in the folder `cache`.
    """
    if len(observed.points) < 10:
        return fit
    evidence = (observed.points, observed.segment.mask, asset.digest, fit.pose.matrix, fit.scale)
    return cached_fit(cache, ("facing", *evidence), lambda: _choose_yaw(fit, asset, observed))


def _choose_yaw(fit: PoseFit, asset: Asset, observed: ObservedObject) -> PoseFit:
    target = observed.target
    turned = [_turn(fit, quarters, asset, target) for quarters in (1, 2, 3)]
    # Amount by which another yaw may fit worse and still be compared by appearance
    candidates = [fit, *(other for other in turned if other.cost < fit.cost + 0.004)]
    if len(candidates) == 1:
        return fit
    mask, size = observed.segment.mask, asset.size * fit.scale
    try:
        correlations = [
            appearance_correlation(target.frame, target.world_from_camera, mask, asset.mesh, size, candidate.pose)
            for candidate in candidates
        ]
    except SceneError:
        return fit
    best = int(np.argmax(correlations))
    # Amount by which the correlation of another yaw must be higher for it to be chosen
    return candidates[best] if correlations[best] > correlations[0] + 0.1 else fit


def _turn(fit: PoseFit, quarters: int, asset: Asset, target: RegistrationTarget) -> PoseFit:
    """Return the fit registered from its pose turned about z by so many quarter turns."""
    turn = Rotation.from_euler("z", 90 * quarters, degrees=True).as_matrix()
    start = Pose.from_rotation(fit.pose.pos, turn @ fit.pose.rotation)
    surface = registration.load_surface(asset.mesh, asset.size * fit.scale)
    result = registration.register(surface, target, [start], refine_count=1)
    return PoseFit(result.pose, fit.scale, result.cost)


def appearance_correlation(
    frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, mesh: Path, size: np.ndarray, pose: Pose
) -> float:
    """Return the correlation in [-1, 1] of rendered and photographed colours, where mask (H, W) and rendering overlap.

    -1 if they overlap in too few pixels. Raises SceneError where nothing can be rendered.
    """
    rendered = candidate_preview.draw_candidate(frame, world_from_camera, mask, mesh, size, pose).rgba
    part, shape = candidate_preview.crop_window(mask).slices, rendered.shape[1::-1]
    photo = cv2.resize(frame.rgb[part], shape)
    both = (rendered[..., 3] > 128) & (cv2.resize(mask[part].astype(np.uint8), shape) > 0)
    # Fewest common pixels for which a correlation is computed
    if both.sum() < 200:
        return -1.0
    a, b = (
        # 4.0: standard deviation of the blur applied before colours are correlated, in pixels of a rendered candidate
        cv2.GaussianBlur(image[..., :3].astype(np.float32), (0, 0), 4.0)[both]
        for image in (photo, rendered)
    )
    a, b = a - a.mean(0), b - b.mean(0)
    return float((a * b).sum() / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-6))

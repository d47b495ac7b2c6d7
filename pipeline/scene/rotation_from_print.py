"""Choose an object's rotation by its print or its colours, among the rotations in which its shape is the same.

The shape of a can or of a box does not tell where its label is: its colours do.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from pipeline.assets import Asset, AssetError
from pipeline.assets.appearance.features import rgb_to_lab
from pipeline.assets.appearance.ray_views import surface_colours_along_rays
from pipeline.frame import Frame
from pipeline.geometry import Pose, bounding_box, transform
from pipeline.scene import registration
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import SceneError
from pipeline.scene.pose_search import PoseFit, cached_fit
from pipeline.scene.preview import candidate_preview
from pipeline.scene.registration import RegistrationTarget

SAMPLES_PER_CELL = 2
"""Rays along each side of a cell."""
STEP_DEG = 15.0
"""Step of the rotations about the axis of a round object."""
MAX_COST_INCREASE_M = 0.0015
"""Amount by which the chosen rotation may fit the points worse."""
_QUARTER_TURNS = Rotation.create_group("O").as_matrix()


def choose_rotation(fit: PoseFit, asset: Asset, observed: ObservedObject, cache: Path | None) -> PoseFit:
    """Return the fit, or one that is rotated within the symmetry of its shape and whose colours agree better.

    Results are memoised in the folder `cache`.
    """
    if len(observed.points) < 10:
        return fit
    evidence = (observed.key, asset.digest, fit.pose.matrix, fit.scale)
    return cached_fit(cache, ("print", *evidence), lambda: _choose_rotation(fit, asset, observed))


def print_agreement(asset: Asset, observed: ObservedObject, pose: Pose, scale: float) -> float | None:
    """Return the correlation in [-1, 1] of an asset's print and the photograph's; None without a print to compare."""
    fit = PoseFit(pose, scale, 0.0)
    try:
        correlation = float(_colour_correlations(fit, asset, observed, np.eye(3)[None])[0])
    except (AssetError, SceneError):
        return None
    return None if correlation in (0.0, -1.0) else correlation


def _choose_rotation(fit: PoseFit, asset: Asset, observed: ObservedObject) -> PoseFit:
    try:
        # The position may change with the rotation, and then the best rotation
        for _ in range(2):
            rotation = _better_rotation(fit, asset, observed)
            rotated = None if rotation is None else _rotated(fit, asset, observed, rotation)
            if rotated is None:
                break
            fit = rotated
    except (AssetError, SceneError):
        return fit
    return fit


def _better_rotation(fit: PoseFit, asset: Asset, observed: ObservedObject) -> np.ndarray | None:
    """Return the rotation (3, 3) in which the colours agree best; None if that of the fit is as good."""
    shape = shape_symmetries(asset.mesh, tuple(asset.size.tolist()))
    if len(shape.rotations) == 1:
        return None
    correlations = _colour_correlations(fit, asset, observed, shape.rotations)
    best = int(np.argmax(correlations))
    chosen, correlation = shape.rotations[best], correlations[best]
    if len(shape.round_axes) and correlation > 0:
        # Steps around the best of those
        finer = np.array([chosen @ _about(axis, by) for axis in shape.round_axes for by in (-10.0, -5.0, 5.0, 10.0)])
        refined = _colour_correlations(fit, asset, observed, finer)
        if refined.max() > correlation:
            chosen, correlation = finer[int(np.argmax(refined))], refined.max()
    # Amount by which the correlation of colours must be higher for another rotation to be chosen
    return fit.pose.rotation @ chosen if correlation > correlations[0] + 0.02 else None


def _rotated(fit: PoseFit, asset: Asset, observed: ObservedObject, rotation: np.ndarray) -> PoseFit | None:
    """Return the fit in another rotation (3, 3), registered again where it must be; None if it fits worse."""
    surface, target = registration.load_surface(asset.mesh, asset.size * fit.scale), observed.target
    lift = (surface.points @ fit.pose.rotation.T)[:, 2].min() - (surface.points @ rotation.T)[:, 2].min()
    pose = Pose.from_rotation(fit.pose.pos + np.array([0, 0, lift]), rotation)
    before, cost = (registration.registration_cost(surface, target, one) for one in (fit.pose, pose))
    if cost > before + MAX_COST_INCREASE_M / 3:
        registered = registration.register(surface, target, [pose], refine_count=1)
        pose, cost = registered.pose, registered.cost
    if cost > before + MAX_COST_INCREASE_M:
        return None
    return PoseFit(pose, fit.scale, max(fit.cost + cost - before, 0.0))  # keeps the penalty for lying


@dataclass(frozen=True, eq=False)
class ShapeSymmetries:
    """Rotations in which a shape looks the same but for its colours."""

    rotations: np.ndarray
    """About the centre of its box, of shape (N, 3, 3); the first is the identity."""
    round_axes: np.ndarray
    """The axis of the box about which every rotation is one, of shape (1, 3), or none, (0, 3), as for a ball.
    `rotations` has one every STEP_DEG about it."""


def shape_symmetries(mesh: Path, size: tuple[float, ...]) -> ShapeSymmetries:
    """Return the symmetries of a mesh whose box has this size in metres. Raises SceneError."""
    return _shape_symmetries(mesh, size, mesh.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _shape_symmetries(mesh: Path, size: tuple[float, ...], _: int) -> ShapeSymmetries:
    surface = registration.load_surface(mesh, np.array(size))
    # Points of the surface that are compared for that
    tree, points = KDTree(surface.points), surface.points[:: max(1, len(surface.points) // 150)]
    # A shape is the same after a rotation if nine tenths of its surface move by less, relative to its longest side
    tolerance = 0.025 * max(size) + surface.spacing

    def is_symmetry(rotation: np.ndarray) -> bool:
        return bool(np.quantile(tree.query(points @ rotation.T)[0], 0.9) < tolerance)

    found = [np.eye(3), *(r for r in _QUARTER_TURNS if not np.allclose(r, np.eye(3)) and is_symmetry(r))]
    round_about = [all(is_symmetry(_about(axis, angle)) for angle in (35.0, 80.0)) for axis in np.eye(3)]
    axes = np.eye(3)[round_about]
    axes = axes if len(axes) == 1 else axes[:0]  # of a ball the quarter turns are enough
    for axis in axes:
        turns = [_about(axis, angle) for angle in np.arange(0, 360, STEP_DEG)]
        found += [r @ turn for r in found.copy() for turn in turns]
    return ShapeSymmetries(_distinct(np.array(found)), axes)


def _about(axis: np.ndarray, degrees: float) -> np.ndarray:
    return Rotation.from_rotvec(np.deg2rad(degrees) * axis).as_matrix()


def _distinct(rotations: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 3, 3) without those within a third of STEP_DEG of an earlier one."""
    kept: list[np.ndarray] = []
    least = 1 + 2 * np.cos(np.deg2rad(STEP_DEG / 3))  # trace of a rotation by that angle
    for rotation in rotations:
        if all(np.sum(rotation * other) < least for other in kept):
            kept.append(rotation)
    return np.array(kept)


def _colour_correlations(fit: PoseFit, asset: Asset, observed: ObservedObject, symmetries: np.ndarray) -> np.ndarray:
    """Return the correlation in [-1, 1] of seen colours and the asset's, rotated by each of the symmetries (N, 3, 3).

    Zero for an asset whose colours in view are even, -1 where too little of the mask is covered. Raises AssetError.
    """
    seen, inside, origins, directions = _sampled_photograph(observed)
    size = asset.size * fit.scale
    result = np.full(len(symmetries), -1.0)
    rotations = fit.pose.rotation @ symmetries
    hits, colours = surface_colours_along_rays(
        asset, size, [(origins - fit.pose.pos) @ r for r in rotations], [directions @ r for r in rotations]
    )
    samples = (seen.shape[0] * SAMPLES_PER_CELL, seen.shape[1] * SAMPLES_PER_CELL)
    for k in range(len(symmetries)):
        share = cv2.resize(hits[k].reshape(samples).astype(np.float32), seen.shape[1::-1], interpolation=cv2.INTER_AREA)
        mean = cv2.resize(colours[k].reshape(*samples, 3), seen.shape[1::-1], interpolation=cv2.INTER_AREA)
        both = inside & (share > 0.6)
        # Fewest common cells for which a correlation is computed
        if both.sum() < 40:
            continue
        lab = _weighted_lab(mean / np.maximum(share, 1e-3)[..., None])
        a, b = _smooth(seen, both), _smooth(lab, both)
        a, b = a - a.mean(0), b - b.mean(0)
        # Least standard deviation in CIELAB of the asset's colours in view: a plain object has no print to compare
        if np.sqrt((b**2).sum(1).mean()) < 6.0:
            result[k] = 0.0
            continue
        result[k] = (a * b).sum() / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-6)
    return result


def _sampled_photograph(observed: ObservedObject) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid over the mask: CIELAB colours (h, w, 3), which cells lie inside, and rays of its samples.

    The rays are in world axes: origin (3,), directions (h * w * SAMPLES_PER_CELL**2, 3).
    """
    frame, mask = observed.observation.frame, observed.segment.mask
    box = bounding_box(mask)
    # Longer side of the grid of cells over the mask in which colours are compared: finer than a label, coarser than the
    # pose's error
    zoom = 32 / max(box.width, box.height)
    shape = max(1, round(box.width * zoom)), max(1, round(box.height * zoom))
    seen = cv2.resize(frame.rgb[box.slices], shape, interpolation=cv2.INTER_AREA)
    share = cv2.resize(mask[box.slices].astype(np.float32), shape, interpolation=cv2.INTER_AREA)
    columns, rows = (
        corner + (np.arange(count * SAMPLES_PER_CELL) + 0.5) * length / (count * SAMPLES_PER_CELL) - 0.5
        for corner, length, count in ((box.left, box.width, shape[0]), (box.top, box.height, shape[1]))
    )
    u, v = np.meshgrid(columns, rows)
    world_from_camera = observed.observation.support.world_from_camera
    directions = frame.intrinsics.ray_directions(u, v).reshape(-1, 3) @ world_from_camera[:3, :3].T
    origin = transform(world_from_camera, np.zeros((1, 3)))[0]
    return _weighted_lab(seen), share > 0.9, origin, directions


def _weighted_lab(rgb: np.ndarray) -> np.ndarray:
    # Weight of lightness beside the two colour axes of CIELAB: shading changes lightness most
    return rgb_to_lab(rgb) * np.array([0.5, 1, 1], np.float32)


def _smooth(image: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the image (h, w, 3) smoothed within the cells `where` (h, w), at those cells, of shape (N, 3)."""
    weight = where.astype(np.float32)
    total = cv2.GaussianBlur(image.astype(np.float32) * weight[..., None], (0, 0), 0.8)
    return (total / np.maximum(cv2.GaussianBlur(weight, (0, 0), 0.8), 1e-3)[..., None])[where]


def choose_yaw(fit: PoseFit, asset: Asset, observed: ObservedObject, cache: Path | None) -> PoseFit:
    """Return the fit, or the fit turned by 90, 180 or 270 degrees if that looks more like the photograph.

    Where nothing can be rendered the fit is returned as it is. Results are memoised in the folder `cache`.
    """
    if len(observed.points) < 10:
        return fit
    evidence = (observed.key, asset.digest, fit.pose.matrix, fit.scale)
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

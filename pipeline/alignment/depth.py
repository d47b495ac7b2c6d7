"""Refine a camera's pose on the depth image: measured points should lie on the twin's surfaces.

The table and each object are one group of rays. What a group says about the camera is worth as much as its rays allow
and no more than the twin deserves: an object that stands a few millimetres wrong moves all its rays together, and so
does a bend of the depth image. How large these shared errors are is estimated from how far the groups disagree.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import mujoco
import numpy as np

from pipeline.alignment.camera import (
    ROBUST_STD,
    AlignmentStopped,
    CameraAlignment,
    CameraClicks,
    click_errors,
    cross_matrices,
    moved,
    pose_distance,
    project,
)
from pipeline.frame import Frame, Support
from pipeline.geometry import transform
from pipeline.geometry.rays import cast_at_geoms
from pipeline.scene import Scene
from pipeline.scene.mjcf import builder
from pipeline.segmentation import Segment

MAX_RAYS = 6000
"""Over the picture: neighbouring rays then lie as far apart as a depth camera's noise reaches."""
MIN_RAYS = 20
"""Rays of a group that is used."""
GATES_M = (0.06, 0.06, 0.03, 0.03, 0.02, 0.02, 0.015, 0.015)
"""Distance of a measured point from the twin's surface up to which it counts, by iteration."""
OWN_FITS = 4
SHARED_OBJECT_M = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016)
"""Possible errors of an object's place in the twin."""
SHARED_TABLE_M = (0.0001, 0.0003, 0.0006, 0.001, 0.002, 0.004)
"""Possible bends of the depth image over a tile of the table."""
TILES = 3
"""The table is cut into so many tiles along each side of the picture."""
MOTION, BEND = (1, 1, 1, 1, 1, 1), (1, 1, 0, 0, 0, 1)
"""How an object may be displaced, and how a depth image bends: turns about, then shifts along the camera's axes."""
TABLE, NOTHING = 0, -1
"""Labels of pixels; the i-th placement has the label i + 1."""


@dataclass(frozen=True, eq=False)
class _Group:
    """What one object, or one tile of the table, says about a step (6,) of the camera."""

    name: str
    information: np.ndarray
    """Of shape (6, 6)."""
    gradient: np.ndarray
    """Information times the step that the group asks for, of shape (6,)."""
    shared: np.ndarray
    """Covariance (6, 6) that a shared error of one metre has as a step."""

    def with_shared(self, size: float) -> tuple["_Group", float]:
        """Return what the group says if a shared error of `size` metres is likely, and the log likelihood of that."""
        shared = self.shared * size**2
        widened = np.eye(6) + self.information @ shared
        gradient = np.linalg.solve(widened, self.gradient)
        chance = float(self.gradient @ shared @ gradient - np.linalg.slogdet(widened)[1]) / 2
        return replace(self, information=np.linalg.solve(widened, self.information), gradient=gradient), chance


def surface_labels(frame: Frame, support: Support, segments: Iterable[Segment], scene: Scene) -> np.ndarray:
    """Return what each pixel shows, of shape (H, W), int32: `TABLE`, 1 + the placement's index, or `NOTHING`."""
    labels = np.where(support.inliers & (frame.depth > 0), TABLE, NOTHING).astype(np.int32)
    numbers = {p.segment_id: i + 1 for i, p in enumerate(scene.placements)}
    for segment in segments:
        labels[segment.mask] = numbers.get(segment.id, NOTHING)
    return labels


def shares_world(alignment: CameraAlignment, scene: Scene) -> bool:
    """Return whether the clicks' points are in the world of the twin, not in that of a work cell measured otherwise."""
    # `pose_distance` from the twin's camera up to which the points are taken to be the twin's
    return pose_distance(alignment.world_from_camera, np.asarray(scene.world_from_camera, float)) < 0.15


def refine_on_depth(
    alignment: CameraAlignment,
    clicks: CameraClicks,
    frame: Frame,
    scene: Scene,
    labels: np.ndarray,
    stop: threading.Event | None = None,
) -> CameraAlignment:
    """Return the pose that agrees with the clicks and with the measured depth of the table and the objects.

    Args:
        alignment: what `align_camera` found for these clicks.
        labels: as from `surface_labels`; the table is at z = 0.

    Raises AlignmentStopped soon after `stop` is set.
    """
    points, pixels = clicks.points, clicks.pixels
    rays = _Rays(frame, labels, builder.compile_spec(builder.build_spec(scene)), scene)
    std = max(clicks.pixel_std, _residual_std(alignment.residuals_px))
    owners = np.where((labels > TABLE).any(), _owners(points, scene), TABLE)
    pose, covariance, names = alignment.world_from_camera, alignment.covariance, ()
    for gate in GATES_M:
        if stop is not None and stop.is_set():
            raise AlignmentStopped("Stopped.")
        tiles, objects = rays.table(pose, gate), rays.objects(pose, gate)
        if not tiles and not objects:
            return alignment
        by_owner = [_clicks(pose, points, pixels, frame, std, owners == owner) for owner in np.unique(owners)]
        names = tuple(dict.fromkeys(group.name for group in (*tiles, *objects.values())))
        loose = [group for owner, group in zip(np.unique(owners), by_owner, strict=True) if owner == TABLE]
        for owner, group in zip(np.unique(owners), by_owner, strict=True):
            if owner > TABLE:  # clicks on an object that stands wrong are as wrong as its depth
                objects[owner] = _sum([objects[owner], group]) if owner in objects else group
        step, covariance = _step(loose, tiles, list(objects.values()), rays.bend)
        pose = moved(pose, step)
    residuals = np.linalg.norm(project(pose, points, frame.intrinsics) - pixels, axis=1)
    return CameraAlignment(pose, covariance, residuals, ("clicks", *names))


def _owners(points: np.ndarray, scene: Scene) -> np.ndarray:
    """Return 1 + the index of the placement that each point (N, 3) belongs to, `TABLE` for none, of shape (N,)."""
    owners = np.full(len(points), TABLE)
    for number, p in enumerate(scene.placements, 1):
        local = transform(p.world_from_object.inverse().matrix, points)
        # Distance from an object's box up to which a clicked point is one of the object
        owners[(np.abs(local) < p.size / 2 + 0.005).all(1)] = number
    return owners


def _residual_std(residuals: np.ndarray) -> float:
    spare = 2 * len(residuals) - 6
    return float(np.sqrt(np.sum(residuals**2) / spare)) if spare else 0.0


def _clicks(
    pose: np.ndarray, points: np.ndarray, pixels: np.ndarray, frame: Frame, std: float, chosen: np.ndarray
) -> _Group:
    """Return what the chosen clicks say, as clicks on one object."""
    errors, jacobian = click_errors(pose, points[chosen], pixels[chosen], frame.intrinsics)
    weights = np.minimum(1, ROBUST_STD * std / np.maximum(np.abs(errors), 1e-9)) / std**2
    shared = _shared(transform(np.linalg.inv(pose), points[chosen]), MOTION)
    return _Group("clicks", jacobian.T * weights @ jacobian, -jacobian.T @ (weights * errors), shared)


def _step(
    clicks: list[_Group], tiles: list[_Group], objects: list[_Group], bend: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the step (6,) that suits all best and its covariance (6, 6), averaged over the shared errors' sizes.

    Each pair of sizes counts by its marginal likelihood: the step and every shared error are integrated out. `bend` is
    `shared` of the whole table, whose depth is taken to bend as much as that of a tile does.
    """
    chances, steps, covariances = [], [], []
    for on_object, on_table in product(SHARED_OBJECT_M, SHARED_TABLE_M):
        widened = [group.with_shared(on_object) for group in objects]
        if tiles:
            parts = [group.with_shared(on_table) for group in tiles]
            table, chance = replace(_sum([group for group, _ in parts]), shared=bend).with_shared(on_table)
            widened.append((table, chance + sum(chance for _, chance in parts)))
        total = _sum([*clicks, *(group for group, _ in widened)])
        covariance = np.linalg.inv(total.information)
        covariances.append((covariance + covariance.T) / 2)
        steps.append(covariance @ total.gradient)
        chance = sum(chance for _, chance in widened)
        chances.append(chance + (total.gradient @ steps[-1] - np.linalg.slogdet(total.information)[1]) / 2)
    weights = np.exp(np.array(chances) - max(chances))
    weights /= weights.sum()
    mean = weights @ np.array(steps)
    off = np.array(steps) - mean
    return mean, np.einsum("n,nij->ij", weights, np.array(covariances)) + (off.T * weights) @ off


def _sum(groups: list[_Group]) -> _Group:
    """Return what groups say together, with the name and the shared error of the first."""
    information = np.sum([group.information for group in groups], axis=0)
    return replace(groups[0], information=information, gradient=np.sum([g.gradient for g in groups], axis=0))


class _Rays:
    """The rays of every n-th pixel with what they measured and what they show."""

    def __init__(self, frame: Frame, labels: np.ndarray, model: mujoco.MjModel, scene: Scene):
        k = frame.intrinsics
        step = max(1, int(np.ceil(np.sqrt(k.width * k.height / MAX_RAYS))))
        known = _inner(labels) & (frame.depth > 0)
        v, u = (axis.ravel() for axis in np.mgrid[step // 2 : k.height : step, step // 2 : k.width : step])
        u, v = u[known[v, u]], v[known[v, u]]
        self.labels = labels[v, u]
        self.directions = k.ray_directions(u.astype(float), v.astype(float))
        self.points = self.directions * frame.depth[v, u][:, None].astype(float)
        self.tile = TILES * (v * TILES // k.height) + u * TILES // k.width
        self.model, self.data, self.scene = model, mujoco.MjData(model), scene
        mujoco.mj_forward(model, self.data)
        on_table = self.labels == TABLE
        self.bend = _shared(self.points[on_table], BEND) if on_table.any() else np.zeros((6, 6))
        """`shared` of the whole table."""

    def table(self, pose: np.ndarray, gate: float) -> list[_Group]:
        """Return what the tiles of the table say about a step of the camera from this pose."""
        errors, normals, usable = self._errors(pose, gate)
        tiles = [usable & (self.labels == TABLE) & (self.tile == tile) for tile in range(TILES**2)]
        return [self._group("table", tile, errors, normals, BEND) for tile in tiles if tile.sum() >= MIN_RAYS]

    def objects(self, pose: np.ndarray, gate: float) -> dict[int, _Group]:
        """Return what the objects say about a step of the camera from this pose, by label."""
        errors, normals, usable = self._errors(pose, gate)
        names = {number: p.name for number, p in enumerate(self.scene.placements, 1)}
        chosen = {number: usable & (self.labels == number) for number in names}
        return {
            number: self._group(names[number], rays, errors, normals, MOTION)
            for number, rays in chosen.items()
            if rays.sum() >= MIN_RAYS
        }

    def _errors(self, pose: np.ndarray, gate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return metres of the measured points above the twin's surface, its normals, and which rays count."""
        normals = np.broadcast_to([0.0, 0, 1], self.points.shape).copy()
        world = transform(pose, self.points)
        errors = world[:, 2].copy()
        usable = self.labels == TABLE
        which = np.flatnonzero(self.labels > TABLE)
        found = np.zeros((len(which), 3))
        geoms, distance = cast_at_geoms(
            self.model, self.data, pose[:3, 3], self.directions[which] @ pose[:3, :3].T, (0, 1, 2), normals=found
        )
        roots = np.where(geoms >= 0, self.model.body_rootid[self.model.geom_bodyid[geoms]], -1)
        bodies = np.array([-1, *(self.model.body(p.name).id for p in self.scene.placements)])
        hit = (roots >= 0) & (roots == bodies[self.labels[which]])
        surface = transform(pose, self.directions[which] * np.where(hit, distance, 0)[:, None])
        normals[which] = found
        errors[which] = np.einsum("ij,ij->i", found, world[which] - surface)
        usable[which] = hit
        normals = normals @ pose[:3, :3]
        facing = np.einsum("ij,ij->i", normals, self.directions) / np.linalg.norm(self.directions, axis=1)
        # Cosine between ray and normal below which a surface is too oblique
        return errors, normals, usable & (np.abs(errors) < gate) & (np.abs(facing) > 0.2)

    def _group(
        self, name: str, chosen: np.ndarray, errors: np.ndarray, normals: np.ndarray, ways: tuple[int, ...]
    ) -> _Group:
        """Return the group of the chosen rays."""
        error, normal, points = errors[chosen], normals[chosen], self.points[chosen]
        jacobian = np.concatenate([np.cross(points, normal), normal], 1)
        shared = _shared(points, ways)
        left = error - np.median(error)
        group = _Group(name, np.zeros((6, 6)), np.zeros(6), shared)
        for _ in range(OWN_FITS):  # outliers are those of the group's own fit: all of it may be displaced
            std = max(0.0003, 1.4826 * float(np.median(np.abs(left))))
            # Standard deviations beyond which a ray does not count (Tukey's biweight)
            weights = (1 - np.minimum(1, np.abs(left) / (4.685 * std)) ** 2) ** 2 / std**2
            information, gradient = jacobian.T * weights @ jacobian, -jacobian.T @ (weights * error)
            # Shared error up to which a group's rays are compared with its own best place rather than with the twin's
            own = shared * 0.01**2
            left = error + jacobian @ (own @ np.linalg.solve(np.eye(6) + information @ own, gradient))
            group = _Group(name, information, gradient, shared)
        return group


def _shared(points: np.ndarray, ways: tuple[int, ...]) -> np.ndarray:
    """Return the covariance (6, 6), as a step of the camera, of an error of 1 m common to these points (N, 3).

    They turn about and shift along those camera axes for which `ways` (6,) is 1, by a turn that moves them by 1 m on
    average.
    """
    middle = points.mean(0)
    radius = max(0.02, float(np.sqrt(np.mean(np.sum((points - middle) ** 2, 1)))))
    turn = np.eye(6)
    turn[3:, :3] = cross_matrices(middle[None])[0]
    return turn @ np.diag(np.array(ways) * [*[radius**-2] * 3, 1, 1, 1]) @ turn.T


def _inner(labels: np.ndarray) -> np.ndarray:
    """Return the pixels whose neighbours two pixels away show the same, where depth does not bleed."""
    same = np.ones(labels.shape, bool)
    for axis, shift in product((0, 1), (-2, 2)):
        same &= np.roll(labels, shift, axis) == labels
    return same & (labels > NOTHING)

"""The camera's pose from clicks on a photograph and on its twin, refined on the depth image."""

import threading
from collections.abc import Iterable, Sequence

import cv2
import mujoco
import numpy as np
from scipy import ndimage

from pipeline.alignment.camera import AlignmentError, CameraAlignment, CameraClicks, align_camera, project
from pipeline.alignment.depth import NOTHING, refine_on_depth, shares_world, surface_labels
from pipeline.frame import Frame, Intrinsics, Support
from pipeline.geometry import box_corners, transform
from pipeline.scene import Scene
from pipeline.scene.fidelity import raycast_image
from pipeline.scene.mjcf import builder
from pipeline.segmentation import Segment

SNAP_PX = 6.0
"""Pixels from a click within which a visible vertex of the twin is taken for what was meant."""

OUTLINE_RGB, CLICK_RGB, POINT_RGB = (0, 255, 255), (255, 60, 60), (255, 230, 0)
AXES_RGB = ((255, 0, 0), (0, 220, 0), (60, 100, 255))
AXIS_M = 0.1


def align_on_twin(
    frame: Frame,
    support: Support,
    segments: Iterable[Segment],
    scene: Scene,
    clicks: CameraClicks,
    stop: threading.Event | None = None,
) -> tuple[CameraAlignment, CameraAlignment]:
    """Return the camera from the clicks alone, and refined on the depth image.

    Raises AlignmentError, AlignmentStopped soon after `stop` is set.
    """
    guess = np.asarray(scene.world_from_camera)
    alone = align_camera(clicks.points, clicks.pixels, frame.intrinsics, guess, clicks.pixel_std)
    labels = surface_labels(frame, support, segments, scene)
    if not shares_world(alone, scene):
        labels = np.where(labels > 0, NOTHING, labels)
    return alone, refine_on_depth(alone, clicks, frame, scene, labels, stop)


class TwinSurface:
    """The twin as its photograph's camera sees it, to find the point of the world under a click."""

    def __init__(self, scene: Scene, intrinsics: Intrinsics):
        model = builder.compile_spec(builder.build_spec(scene))
        self._camera, self._k = np.asarray(scene.world_from_camera, float), intrinsics
        bodies, self._depth = raycast_image(model, intrinsics, self._camera)
        self._names = {model.body(p.name).id: p.name for p in scene.placements}
        self._bodies = bodies
        self._corners = self._visible_vertices(model)

    def point_at(self, pixel: np.ndarray) -> tuple[np.ndarray, str]:
        """Return the point (3,) in the world under a pixel (2,) and the object it is on, "" for the table.

        A corner or vertex within `SNAP_PX` is taken, since the picture beside an edge shows what lies far behind it.
        Raises AlignmentError where the twin shows nothing.
        """
        pixels, points = self._corners
        distance = np.linalg.norm(pixels - pixel, axis=1) if len(pixels) else np.zeros(0)
        if len(distance) and distance.min() < SNAP_PX:
            point = points[int(distance.argmin())]
            return point, self._name_near(pixels[int(distance.argmin())])
        u, v = np.rint(pixel).astype(int).clip(0, [self._k.width - 1, self._k.height - 1]).tolist()
        if self._depth[v, u] <= 0:
            raise AlignmentError("The twin shows nothing there; click an object or the table.")
        point = self._k.ray_directions(np.array([pixel[0]]), np.array([pixel[1]]))[0] * self._depth[v, u]
        return (self._camera @ np.append(point, 1))[:3], self._names.get(int(self._bodies[v, u]), "")

    def _name_near(self, pixel: np.ndarray) -> str:
        u, v = np.rint(pixel).astype(int).tolist()
        around = self._bodies[max(v - 2, 0) : v + 3, max(u - 2, 0) : u + 3].ravel().tolist()
        return next((self._names[body] for body in around if body in self._names), "")

    def _visible_vertices(self, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
        """Return the pixels (N, 2) and places (N, 3) of the vertices of meshes and boxes that the camera sees."""
        points = _vertices(model)
        pixels = project(self._camera, points, self._k)
        inside = (np.nan_to_num(pixels) > 2).all(1) & np.isfinite(pixels).all(1)
        inside &= (np.nan_to_num(pixels) < [self._k.width - 3, self._k.height - 3]).all(1)
        points, pixels = points[inside], pixels[inside]
        u, v = np.rint(pixels).astype(int).T
        depth = ((points - self._camera[:3, 3]) @ self._camera[:3, :3])[:, 2]
        around = np.array([self._depth[v + j, u + i] for i in (-2, 0, 2) for j in (-2, 0, 2)])
        # Metres by which a vertex may lie behind the surface that the picture shows there
        seen = (np.abs(around - depth) < 0.01).any(0)
        return pixels[seen], points[seen]


def _vertices(model: mujoco.MjModel) -> np.ndarray:
    """Return the corners of boxes and the vertices of meshes that are drawn, of shape (N, 3), in the world."""
    data, found = mujoco.MjData(model), [np.zeros((0, 3))]
    mujoco.mj_forward(model, data)
    # Groups 0 to 2 of geoms are drawn
    for geom in np.flatnonzero(model.geom_group < 3).tolist():
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX:
            local = box_corners(2 * model.geom_size[geom])
        elif model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = model.geom_dataid[geom]
            local = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
        else:
            continue
        found.append(local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    return np.concatenate(found)


def draw_overlay(
    frame: Frame,
    scene: Scene,
    panels: Sequence[tuple[str, np.ndarray]],
    clicks: CameraClicks,
    world_from_base: np.ndarray | None = None,
) -> bytes:
    """Return `overlay_picture` of each camera, one beside the other under its caption, as PNG.

    Args:
        panels: caption and world_from_camera (4, 4) of each.
    """
    drawn = []
    for caption, camera in panels:
        picture = overlay_picture(frame, scene, camera, clicks, world_from_base)
        # 24: height of a panel's caption
        title = np.zeros((24, picture.shape[1], 3), np.uint8)
        cv2.putText(title, caption, (6, 17), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
        drawn.append(np.concatenate([title, picture]))
    return cv2.imencode(".png", cv2.cvtColor(np.concatenate(drawn, 1), cv2.COLOR_RGB2BGR))[1].tobytes()


def overlay_picture(
    frame: Frame, scene: Scene, camera: np.ndarray, clicks: CameraClicks, world_from_base: np.ndarray | None = None
) -> np.ndarray:
    """Return the photograph with the twin's outlines as a camera would see it, of shape (H, W, 3), uint8.

    A cross is a click, a ring the point that was meant. The robot's base shows its axes.

    Args:
        camera: world_from_camera, of shape (4, 4).
    """
    model = builder.compile_spec(builder.build_spec(scene))
    picture = frame.rgb.copy()
    bodies, _ = raycast_image(model, frame.intrinsics, camera)
    cross = ndimage.generate_binary_structure(2, 1)
    picture[ndimage.morphological_gradient(np.maximum(bodies, 0), footprint=cross) > 0] = OUTLINE_RGB
    _draw_clicks(picture, project(camera, clicks.points, frame.intrinsics), clicks.pixels)
    if world_from_base is not None:
        _draw_axes(picture, frame, camera, world_from_base)
    return picture


def _draw_clicks(picture: np.ndarray, points: np.ndarray, pixels: np.ndarray) -> None:
    for number, (point, pixel) in enumerate(zip(points, pixels, strict=True), 1):
        u, v = np.rint(pixel).astype(int).tolist()
        cv2.drawMarker(picture, (u, v), CLICK_RGB, cv2.MARKER_CROSS, 13, 1, cv2.LINE_AA)
        cv2.putText(picture, str(number), (u + 7, v - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.4, CLICK_RGB, 1, cv2.LINE_AA)
        if np.isfinite(point).all() and np.abs(point).max() < 1e5:
            centre = np.rint(point).astype(int).tolist()
            cv2.circle(picture, centre, 6, POINT_RGB, 1, cv2.LINE_AA)
            cv2.line(picture, centre, (u, v), POINT_RGB, 1, cv2.LINE_AA)


def _draw_axes(picture: np.ndarray, frame: Frame, camera: np.ndarray, world_from_base: np.ndarray) -> None:
    tips = transform(world_from_base, np.concatenate([np.zeros((1, 3)), np.eye(3) * AXIS_M]))
    pixels = project(camera, tips, frame.intrinsics)
    if not np.isfinite(pixels).all() or np.abs(pixels).max() > 1e5:
        return
    origin, *ends = np.rint(pixels).astype(int).tolist()
    for end, colour in zip(ends, AXES_RGB, strict=True):
        cv2.arrowedLine(picture, origin, end, colour, 2, cv2.LINE_AA)

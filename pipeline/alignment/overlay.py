"""Draw the twin's outlines over the photograph, before and after an alignment, to look at before it is taken."""

from collections.abc import Sequence

import cv2
import numpy as np
from scipy import ndimage

from pipeline.alignment.camera import CameraClicks, project
from pipeline.frame import Frame
from pipeline.geometry import transform
from pipeline.scene import Scene
from pipeline.scene.fidelity import raycast_image
from pipeline.scene.mjcf import builder

OUTLINE_RGB, CLICK_RGB, POINT_RGB = (0, 255, 255), (255, 60, 60), (255, 230, 0)
AXES_RGB = ((255, 0, 0), (0, 220, 0), (60, 100, 255))
AXIS_M = 0.1


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

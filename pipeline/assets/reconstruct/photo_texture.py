"""Projects the photographs on a solid as its texture: the main one, and further views where it shows nothing.

Faces that the camera did not see get a muted colour. Those of a printed object show what the camera saw on their
counterpart, after half a turn about the solid's vertical axis, else in a mirror, where there is one.
"""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
import trimesh
from PIL import Image

from pipeline.assets import solids
from pipeline.assets.reconstruct.view_observation import GRAZING_COSINE, SurfaceObservation
from pipeline.assets.solids import Solid
from pipeline.frame import Frame, FurtherView, Support
from pipeline.geometry import bounding_box, transform
from pipeline.geometry.rays import raycasting_scene, surface_distance
from pipeline.segmentation import Segment

UNSEEN_SATURATION = 0.55
"""Saturation of an unseen face over that of the object's colour."""


def texture_from_photo(
    solid: Solid,
    frame: Frame,
    support: Support,
    segment: Segment,
    rgb: tuple[int, int, int],
    observation: SurfaceObservation,
    views: Sequence[FurtherView] = (),
) -> tuple[Solid, float]:
    """Return a solid in world axes with the photographs on it, and the visible fraction of its surface.

    `views` are the further views of the observation, in its order.
    """
    grey = int(np.mean(rgb))
    picture, texture_coordinates = _crop(
        frame, segment.mask, [UNSEEN_SATURATION * c + (1 - UNSEEN_SATURATION) * grey for c in rgb]
    )
    visible = observation.visible_faces(solid.mesh)
    shown, has_photo = np.array(solid.mesh.triangles), visible
    # Spread of the seen side's hues, in CIELAB, above which an object counts as printed
    if visible.any() and hue_spread(frame.rgb, segment.mask) > 2.5:
        shown, has_photo = _counterparts(solid.mesh, visible, observation.camera_position)
    triangles = solid.mesh.triangles.reshape(-1, 3)
    uv = texture_coordinates(transform(np.linalg.inv(support.world_from_camera), shown.reshape(-1, 3)))
    height = picture.height
    photo_uv = np.clip(uv, 0, 1) * [1, (height - 6) / height] + [0, 5 / height]
    uv = np.where(np.repeat(has_photo, 3)[:, None], photo_uv, [0.5, 1 / height])
    for view, seen in zip(views, observation.others, strict=True):
        found = seen.visible_faces(solid.mesh) & ~visible
        corners = transform(np.linalg.inv(view.world_from_camera), triangles)
        picture, uv = _add_crop(picture, uv, view, segment.id, corners, np.repeat(found, 3))
        visible = visible | found
    unshared = trimesh.Trimesh(triangles, np.arange(len(triangles)).reshape(-1, 3), process=False)
    areas = solid.mesh.area_faces
    textured = Solid(solids.textured_mesh(unshared, uv, picture), solid.part_vertices)
    return textured, float(areas[visible].sum() / max(areas.sum(), 1e-12))


def _add_crop(
    picture: Image.Image, uv: np.ndarray, view: FurtherView, segment_id: int, corners: np.ndarray, shown: np.ndarray
) -> tuple[Image.Image, np.ndarray]:
    """Return the texture with a view's crop above it, and the coordinates (N, 2) with those of corners `shown` there.

    `corners` (N, 3) are in the view's camera axes.
    """
    crop, texture_coordinates = _crop(view.frame, view.mask(segment_id), [0.0, 0.0, 0.0])
    crop = crop.crop((0, 0, crop.width, crop.height - 4))
    both = Image.new("RGB", (max(picture.width, crop.width), picture.height + crop.height))
    both.paste(picture, (0, crop.height))
    both.paste(crop, (0, 0))
    inside = np.clip(texture_coordinates(corners), 0, 1) * [crop.width - 1, crop.height - 2] + [0.5, picture.height + 1]
    return both, np.where(shown[:, None], inside, uv * picture.size) / both.size


def hue_spread(rgb: np.ndarray, mask: np.ndarray) -> float:
    """Return how far the colours of a mask spread across their mean chroma, in CIELAB; light and shade change nothing.

    Args:
        rgb: picture (H, W, 3), uint8.
        mask: of shape (H, W), bool.
    """
    x0, y0, x1, y1 = bounding_box(mask.astype(np.uint8))
    lab = cv2.cvtColor((rgb[y0:y1, x0:x1] / 255).astype(np.float32), cv2.COLOR_RGB2LAB)
    inner = cv2.erode(mask[y0:y1, x0:x1].astype(np.uint8), np.ones((5, 5)), borderValue=0) > 0
    if not inner.any():
        return 0.0
    chroma = np.stack([cv2.medianBlur(lab[..., 1], 5)[inner], cv2.medianBlur(lab[..., 2], 5)[inner]], axis=1)
    a, b = chroma.mean(0) / max(float(np.linalg.norm(chroma.mean(0))), 1e-6)
    return float(np.sqrt(np.mean((chroma @ [-b, a]) ** 2)))


def _counterparts(mesh: trimesh.Trimesh, visible: np.ndarray, camera: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangles (F, 3, 3), world, whose photograph each face shows, and which faces show one (F,)."""
    shown, has_photo = np.array(mesh.triangles), visible.copy()
    centre = mesh.bounds.mean(0)
    away = (centre - camera)[:2]
    away = away / max(float(np.linalg.norm(away)), 1e-9)
    mirror = np.eye(3)
    mirror[:2, :2] -= 2 * np.outer(away, away)
    half_turn = np.diag([-1.0, -1.0, 1.0])
    seen = raycasting_scene([(mesh.vertices, mesh.faces[visible])])
    for symmetry in (half_turn, mirror, half_turn @ mirror):
        open_faces = np.flatnonzero(~has_photo)
        turned = (mesh.triangles[open_faces] - centre) @ symmetry.T + centre
        rays = turned.mean(1) - camera
        normals = mesh.face_normals[open_faces] @ symmetry.T
        fits = np.einsum("fk,fk->f", normals, rays) < -GRAZING_COSINE * np.linalg.norm(rays, axis=1)
        # Distance, over the diagonal of the solid's box, below which a turned or mirrored face lies on a seen one
        fits &= surface_distance(seen, turned.mean(1)) < 0.04 * mesh.scale
        shown[open_faces[fits]], has_photo[open_faces[fits]] = turned[fits], True
    return shown, has_photo


def _crop(frame: Frame, mask: np.ndarray, rgb: list[float]) -> tuple[Image.Image, Callable[[np.ndarray], np.ndarray]]:
    """Return the object's crop of the photograph, its background filled from inside, above four rows of a plain colour.

    Also return the function from points in camera axes (N, 3) to texture coordinates (N, 2) in the crop.
    """
    mask = mask.astype(np.uint8)
    x0, y0, x1, y1 = bounding_box(mask)
    inner = cv2.erode(mask, np.ones((5, 5)), borderValue=0)[y0:y1, x0:x1]
    inner = inner if inner.sum() > 20 else mask[y0:y1, x0:x1]
    _, labels = cv2.distanceTransformWithLabels(1 - inner, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    nearest = np.asarray(labels, int)
    colours = np.zeros((nearest.max() + 1, 3), np.uint8)
    crop = frame.rgb[y0:y1, x0:x1]
    colours[nearest[inner > 0]] = crop[inner > 0]
    filled = Image.fromarray(np.where(inner[..., None] > 0, crop, colours[nearest]))
    # Longest side of the texture
    factor = min(1.0, 256 / max(filled.size))
    filled = filled.resize((max(4, round(filled.width * factor)), max(4, round(filled.height * factor))))
    texture = Image.new("RGB", (filled.width, filled.height + 4), tuple(int(c) for c in rgb))
    texture.paste(filled, (0, 0))
    k = frame.intrinsics

    def texture_coordinates(points: np.ndarray) -> np.ndarray:
        z = np.maximum(points[:, 2], 1e-6)
        u, v = k.fx * points[:, 0] / z + k.cx, k.fy * points[:, 1] / z + k.cy
        return np.stack([(u - x0 + 0.5) / (x1 - x0), 1 - (v - y0 + 0.5) / (y1 - y0)], 1)

    return texture, texture_coordinates

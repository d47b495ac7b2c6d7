"""An asset made from what one view shows of a thing, where nothing in the library fits.

The shape is the primitive that was measured, or, where none fits, convex outlines in layers; the side that the camera
does not see is taken to mirror the one it sees. The photograph is its texture.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import trimesh
from PIL import Image
from scipy.spatial import ConvexHull, QhullError

from pipeline.assets import shapes
from pipeline.assets.asset import Asset
from pipeline.assets.categories import usual_friction, usual_mass
from pipeline.assets.library import write_asset
from pipeline.assets.shapes import Solid
from pipeline.description import Attributes, Description
from pipeline.frame import Frame, Support
from pipeline.geometry import Pose, transform
from pipeline.segmentation import Segment

SMALLEST = 0.004
"""No extent is thinner than this, in metres: thinner collides badly."""
LAYERS, SIDES = 12, 32
TEXTURE = 256
"""Longest side of the texture, in pixels."""
PROVENANCE = "made from the view; the far side is guessed"


@dataclass(frozen=True, eq=False)
class Reconstruction:
    asset: Asset
    """Its id is `view_<segment id>`; it belongs to no library."""
    world_from_object: Pose
    """Where the view shows it; pos is the centre of its box."""


def reconstruct(
    frame: Frame, support: Support, segment: Segment, description: Description, folder: Path
) -> Reconstruction:
    """The thing under a segment as an asset in `folder`/view_<segment id>, which is written anew."""
    attributes = description.attributes
    world_from_box = Pose.from_rotation(attributes.centre, _about_z(attributes.yaw))
    solid = _solid(frame, support, segment, attributes, world_from_box)
    middle = solid.mesh.bounds.mean(axis=0)
    solid = _photographed(solid, frame, support, segment, attributes, world_from_box)
    target = folder / f"view_{segment.id}"
    shutil.rmtree(target, ignore_errors=True)
    category = {"sphere": "ball", "irregular": "thing"}.get(attributes.shape, attributes.shape)
    container = attributes.shape == "bowl"
    about = {
        "name": description.name.replace("_", " "),
        "caption": description.caption,
        "category": category,
        "mass": round(usual_mass(solid.mesh.extents, container), 4),
        "mass_from": "size",
        "friction": usual_friction(category),
        "friction_from": "category table",
        "container": container,
        "provenance": PROVENANCE,
    }
    return Reconstruction(
        write_asset(solid, target, about),
        Pose.from_rotation(transform(world_from_box.matrix, middle), world_from_box.rotation),
    )


def _about_z(yaw: float) -> np.ndarray:
    return np.asarray(trimesh.transformations.rotation_matrix(yaw, [0, 0, 1]))[:3, :3]


def _solid(frame: Frame, support: Support, segment: Segment, attributes: Attributes, world_from_box: Pose) -> Solid:
    """The shape, in the axes of the described box, its middle near their origin."""
    size = np.maximum(np.nan_to_num(attributes.size), SMALLEST)
    wide, deep, high = size
    paint = shapes.plain(attributes.rgb)
    if attributes.shape in ("box", "cube"):
        return shapes.box(size, paint, cells=8)
    if attributes.shape == "cylinder":
        return _cylinder(size, paint)
    if attributes.shape == "sphere":
        solid = shapes.ball(float(np.median(size)) / 2, paint)
        return solid.at(z=-high / 2 - solid.mesh.bounds[0, 2])  # it rests where the thing was seen to rest
    if attributes.shape == "bowl":
        return shapes.bowl(wide / 2, high, paint, shapes.circle() * [1, deep / wide]).at(z=-high / 2)
    rings = _outlines(_both_sides(frame, support, segment, world_from_box), size)
    return shapes.box(size, paint, cells=8) if rings is None else shapes.layers(rings, paint)


def _cylinder(size: np.ndarray, paint: Image.Image) -> Solid:
    """Upright, or lying along its longer ground axis where it is clearly longer that way than wide and high."""
    wide, deep, high = size
    long, short = max(wide, deep), min(wide, deep)
    lies = long > 1.4 * short and abs(short - high) < 0.25 * short
    radius, length = ((short + high) / 4, long) if lies else ((wide + deep) / 4, high)
    side = [(radius, z) for z in np.linspace(-length / 2, length / 2, 9)]
    ends = [0, radius / 2]
    solid = shapes.lathe([*((r, -length / 2) for r in ends), *side, *((r, length / 2) for r in ends[::-1])], paint)
    if not lies:
        return solid
    solid = solid.turned(90, [0, 1, 0] if wide >= deep else [1, 0, 0])
    return solid.at(z=radius - high / 2)


def _both_sides(frame: Frame, support: Support, segment: Segment, world_from_box: Pose) -> np.ndarray:
    """The seen points and their mirror images behind the middle, in the box's axes, of shape (N, 3)."""
    mask = cv2.erode(segment.mask.astype(np.uint8), np.ones((3, 3))).astype(bool)
    points = frame.points[mask if mask.sum() > 100 else segment.mask]
    points = points[np.isfinite(points).all(axis=1)]
    seen = transform(world_from_box.inverse().matrix @ support.world_from_camera, points)
    return np.vstack([seen, _mirrored(seen, _towards_camera(support, world_from_box))])


def _towards_camera(support: Support, world_from_box: Pose) -> np.ndarray:
    """Horizontal unit vector from the box's middle to the camera, in the box's axes, of shape (3,)."""
    towards = world_from_box.rotation.T @ (support.world_from_camera[:3, 3] - world_from_box.pos)
    towards[2] = 0
    return towards / max(np.linalg.norm(towards), 1e-9)


def _mirrored(vectors: np.ndarray, normal: np.ndarray) -> np.ndarray:
    return vectors - 2 * np.outer(vectors @ normal, normal)


def _outlines(points: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    """Convex outlines of the points, layer by layer, of shape (LAYERS + 1, SIDES, 3); None where too few are there.

    Layers with too few points take the outlines next to them. The lowest is wide enough for the whole to stand on.
    """
    points = points[(np.abs(points) < 0.55 * size + 0.005).all(axis=1)]
    heights = np.linspace(-size[2] / 2, size[2] / 2, LAYERS + 1)
    reach = 0.75 * size[2] / LAYERS
    outlines = [_outline(points[np.abs(points[:, 2] - height) < reach, :2]) for height in heights]
    known = [k for k, outline in enumerate(outlines) if outline is not None]
    if not known:
        return None
    nearest = [min(known, key=lambda k: abs(k - row)) for row in range(len(outlines))]
    flat = np.array([outlines[k] for k in nearest])
    flat[0] = _wide_enough(flat[0], flat.mean(axis=(0, 1)))
    return np.concatenate([flat, np.broadcast_to(heights[:, None, None], (*flat.shape[:2], 1))], -1)


def _outline(points: np.ndarray) -> np.ndarray | None:
    """The convex outline of points (N, 2), its tails cut, at SIDES directions about its middle, of shape (SIDES, 2)."""
    if len(points) < 12:
        return None
    low, high = np.percentile(points, [2, 98], axis=0)
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        return None
    middle = (corners.max(axis=0) + corners.min(axis=0)) / 2
    if np.ptp(corners, axis=0).min() < SMALLEST:
        corners = middle + np.maximum(np.abs(corners - middle), SMALLEST / 2) * np.sign(corners - middle)
    edges = np.roll(corners, -1, axis=0) - corners
    outward = np.stack([edges[:, 1], -edges[:, 0]], 1)
    gap = np.einsum("nk,nk->n", outward, corners - middle)
    rate = outward @ shapes.circle(SIDES).T  # how fast each ray nears each edge
    reach = np.where(rate > 1e-12, gap[:, None] / np.maximum(rate, 1e-12), np.inf).min(axis=0)
    return middle + reach[:, None] * shapes.circle(SIDES)


def _wide_enough(base: np.ndarray, weight: np.ndarray, margin: float = 0.006) -> np.ndarray:
    """The lowest outline, grown where the whole's middle (2,) would not lie well within it."""
    grown = _outline(
        np.vstack([np.repeat(base, 12, axis=0), np.repeat(weight + margin * shapes.circle(SIDES), 12, axis=0)])
    )
    return base if grown is None else grown


def _photographed(
    solid: Solid, frame: Frame, support: Support, segment: Segment, attributes: Attributes, world_from_box: Pose
) -> Solid:
    """The solid with the photograph on it: hidden faces take what is seen on the mirrored side, else a plain colour."""
    picture, pixel = _crop(frame, segment, attributes.rgb)
    camera_from_box = np.linalg.inv(support.world_from_camera) @ world_from_box.matrix
    mesh, towards = solid.mesh, _towards_camera(support, world_from_box)
    eye = np.linalg.inv(camera_from_box)[:3, 3]
    triangles = mesh.triangles.reshape(-1, 3)
    uv, seen = np.full((len(triangles), 2), np.nan), np.zeros(len(mesh.faces), bool)
    for turn in (lambda v: v, lambda v: _mirrored(v, towards)):
        corners, normals = turn(triangles), turn(mesh.face_normals)
        middles = corners.reshape(-1, 3, 3).mean(axis=1)
        facing = np.einsum("nk,nk->n", normals, eye - middles) > 0.12 * np.linalg.norm(eye - middles, axis=1)
        new = np.repeat(facing & ~seen, 3)
        uv[new] = pixel(transform(camera_from_box, corners[new]))
        seen |= facing
    height = picture.height
    uv = np.where(np.isnan(uv), [0.5, 1 / height], np.clip(uv, 0, 1) * [1, (height - 6) / height] + [0, 5 / height])
    split = trimesh.Trimesh(triangles, np.arange(len(triangles)).reshape(-1, 3), process=False)
    return Solid(shapes.textured(split, uv, picture), solid.pieces)


def _crop(frame: Frame, segment: Segment, rgb: tuple[int, int, int]):
    """The thing's part of the photograph, its surroundings filled from within, on four rows of its plain colour.

    And the function that takes points in camera axes (N, 3) to texture coordinates (N, 2) in the part above those rows.
    """
    mask = segment.mask.astype(np.uint8)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    inner = cv2.erode(mask, np.ones((5, 5)), borderValue=0)[y0:y1, x0:x1]
    inner = inner if inner.sum() > 20 else mask[y0:y1, x0:x1]
    _, labels = cv2.distanceTransformWithLabels(1 - inner, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    nearest = np.asarray(labels, int)
    colours = np.zeros((nearest.max() + 1, 3), np.uint8)
    crop = frame.rgb[y0:y1, x0:x1]
    colours[nearest[inner > 0]] = crop[inner > 0]
    filled = Image.fromarray(np.where(inner[..., None] > 0, crop, colours[nearest]))
    factor = min(1.0, TEXTURE / max(filled.size))
    filled = filled.resize((max(4, round(filled.width * factor)), max(4, round(filled.height * factor))))
    sheet = Image.new("RGB", (filled.width, filled.height + 4), tuple(int(c) for c in rgb))
    sheet.paste(filled, (0, 0))
    k = frame.intrinsics

    def pixel(points: np.ndarray) -> np.ndarray:
        z = np.maximum(points[:, 2], 1e-6)
        u, v = k.fx * points[:, 0] / z + k.cx, k.fy * points[:, 1] / z + k.cy
        return np.stack([(u - x0 + 0.5) / (x1 - x0), 1 - (v - y0 + 0.5) / (y1 - y0)], 1)

    return sheet, pixel

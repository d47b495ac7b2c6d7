"""The photograph's table as a texture: seen from above, without the objects, evenly lit."""

from collections.abc import Iterable

import cv2
import numpy as np

from pipeline.frame import Observation
from pipeline.geometry import transform
from pipeline.scene.appearance.alike_colours import are_common, are_within, to_lab
from pipeline.scene.mjcf.builder import Slab
from pipeline.segmentation import Segment

MAX_SIDE_PX = 1024
LIGHT_SHARE = 0.25
"""Standard deviation of the light's falloff that is evened out, relative to the table's longer side."""
BORDER_SIGMA_PX = 8.0
"""Standard deviation by which the border of the visible table is smoothed before it serves as a mirror."""


def table_picture(observation: Observation, segments: Iterable[Segment], slab: Slab) -> bytes | None:
    """Return a PNG of the table's top from above, or None if almost none of it is seen.

    Columns go along the slab's own x axis, rows against its y axis. Where an object hides the table, and beyond the
    photograph, the visible part is continued as in a mirror.
    """
    frame = observation.frame
    grid = _slab_grid(slab, _pixels_per_metre(observation))
    pixels, in_front = _project(observation, grid)
    rgb = cv2.remap(frame.rgb, *pixels, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    usable = table_pixels(observation, segments).astype(np.uint8)
    visible = cv2.remap(usable, *pixels, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
    visible = (visible > 0) & in_front
    if np.count_nonzero(visible) < 100:
        return None
    metres_per_pixel = 2 * slab.half[0] / rgb.shape[1]
    picture = _continued(_evenly_lit(rgb.astype(np.float32), visible), visible, metres_per_pixel)
    encoded = cv2.imencode(".png", cv2.cvtColor(picture.round().astype(np.uint8), cv2.COLOR_RGB2BGR))[1]
    return encoded.tobytes()


def _pixels_per_metre(observation: Observation) -> float:
    """Return the photograph's resolution at the middle of the visible table."""
    camera = observation.support.world_from_camera[:3, 3]
    middle = np.append(observation.support.polygon.mean(0), 0.0)
    return observation.frame.intrinsics.fx / max(float(np.linalg.norm(camera - middle)), 1e-3)


def _slab_grid(slab: Slab, pixels_per_metre: float) -> np.ndarray:
    """Return the world points of the texture's pixels, of shape (H, W, 3), in metres."""
    resolution = min(pixels_per_metre, MAX_SIDE_PX / (2 * float(slab.half.max())))
    width, height = np.maximum((2 * slab.half * resolution).round().astype(int), 2)
    x = ((np.arange(width) + 0.5) / width * 2 - 1) * slab.half[0]
    y = (1 - (np.arange(height) + 0.5) / height * 2) * slab.half[1]
    own = np.stack(np.meshgrid(x, y), -1)
    cos, sin = np.cos(slab.yaw), np.sin(slab.yaw)
    flat = own @ np.array([[cos, sin], [-sin, cos]]) + slab.centre
    return np.concatenate([flat, np.zeros((*flat.shape[:2], 1))], -1)


def _project(observation: Observation, points: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return columns and rows, float32, of world points (..., 3) in the photograph, and which lie before the camera."""
    k = observation.frame.intrinsics
    x, y, z = np.moveaxis(transform(np.linalg.inv(observation.support.world_from_camera), points), -1, 0)
    in_front = z > 0.02
    depth = np.where(in_front, z, 1.0)
    columns, rows = k.fx * x / depth + k.cx, k.fy * y / depth + k.cy
    return (columns.astype(np.float32), rows.astype(np.float32)), in_front


def table_pixels(observation: Observation, segments: Iterable[Segment]) -> np.ndarray:
    """Return the pixels that show the table's top and no object, of shape (H, W), bool.

    Depth is missing on many tables: beside objects, along a side of the picture, beyond the sensor's reach.
    """
    frame, plane = observation.frame, observation.support.plane
    shape = frame.depth.shape
    objects = np.zeros(shape, np.uint8)
    for segment in segments:
        outlines, _ = cv2.findContours(segment.mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(objects, outlines, -1, 1, cv2.FILLED)
    # Share of the photograph's width around each mask that is left out: borders and contact shadows
    radius = max(2, round(0.012 * shape[1]))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    rows, columns = np.indices(shape, np.float32)
    k = frame.intrinsics
    rays = np.stack([(columns - k.cx) / k.fx, (rows - k.cy) / k.fy, np.ones(shape, np.float32)], -1)
    height = (rays * frame.depth[..., None]) @ plane.normal.astype(np.float32) + plane.offset
    # Height in metres up to which a measured point belongs to the table
    measured = (frame.depth > 0) & (np.abs(height) < 0.012)
    unmeasured = _coloured_like(frame.rgb, measured & (objects == 0), (frame.depth <= 0) & (objects == 0))
    flat = cv2.erode((measured | unmeasured).astype(np.uint8), np.ones((3, 3), np.uint8))
    table = (flat > 0) & (cv2.dilate(objects, kernel) == 0)
    return table & _outline(observation, unmeasured) & ~_shadows(frame.rgb, table)


def _shadows(rgb: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the shadows on a plain table, of shape (H, W), bool. A patterned one has none that can be told apart."""
    if not table.any():
        return table
    weight = table.astype(np.float32)
    luminance = cv2.GaussianBlur(rgb.mean(-1, dtype=np.float32), (0, 0), 1.5)
    sigma = LIGHT_SHARE * max(table.shape)
    relative = luminance / np.maximum(blurred(luminance * weight, sigma) / np.maximum(blurred(weight, sigma), 1e-4), 1)
    middle = np.median(relative[table])
    # Median deviation of the brightness, relative to it, up to which a table is plain
    if np.median(np.abs(relative[table] - middle)) > 0.05 * middle:
        return np.zeros_like(table)
    # 0.82: brightness below which a pixel of a plain table lies in a shadow, relative to its surroundings
    return cv2.dilate((table & (relative < 0.82 * middle)).astype(np.uint8), np.ones((7, 7), np.uint8)) > 0


def _coloured_like(rgb: np.ndarray, sample: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return which unknown pixels have colours of the sample and lie beside it; all of shape (H, W), bool."""
    if not unknown.any() or np.count_nonzero(sample) < 100:
        return np.zeros_like(unknown)
    alike = np.zeros_like(unknown)
    alike[unknown] = are_common(rgb[unknown], rgb[sample]) | _are_near(rgb, sample, unknown)
    count, found = cv2.connectedComponents((alike | sample).astype(np.uint8))
    labels, beside = np.asarray(found, np.int64), np.zeros(count, bool)
    beside[np.unique(labels[sample])] = True
    return alike & beside[labels]


def _are_near(rgb: np.ndarray, sample: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return which of N unknown pixels have a colour near the sample's, of shape (N,): one material in changing light.

    A blurred picture decides, so that the grain of wood and the lines of a cloth belong to the table.
    """
    inner = rgb[sample][:: max(1, np.count_nonzero(sample) // 20_000)]
    near = are_within(to_lab(rgb[unknown][None])[0], to_lab(inner[None])[0], 5.0)
    height, width = sample.shape
    size = (min(width, 320), round(height * min(width, 320) / width))  # 320: a blurred picture needs no more pixels
    # 0.01: standard deviation of the blur, relative to the picture's width
    smooth = cv2.GaussianBlur(to_lab(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)), (0, 0), 0.01 * size[0])
    inner = smooth[cv2.resize(sample.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0]
    also = are_within(smooth, inner, 3.0) if len(inner) > 1 else np.zeros(size[::-1], bool)
    return near & (cv2.resize(also.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)[unknown] > 0)


def _outline(observation: Observation, unmeasured: np.ndarray) -> np.ndarray:
    """Return the pixels in the convex hull of the visible table and its pixels without depth, without its rim."""
    corners, _ = _project(observation, np.pad(observation.support.polygon, ((0, 0), (0, 1))))
    edges = cv2.findContours(unmeasured.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
    points = np.vstack([np.stack(corners, -1).round().astype(np.int32), *(edge[:, 0] for edge in edges)])
    outline = cv2.fillConvexPoly(np.zeros(unmeasured.shape, np.uint8), cv2.convexHull(points), 1)
    # 0.01: width in metres of the rim that is left out: the table's edge, and what hangs over it. The picture's border
    # is no edge of the table
    return cv2.distanceTransform(outline, cv2.DIST_L2, 5) > max(1.0, 0.01 * _pixels_per_metre(observation))


def _evenly_lit(rgb: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return the picture without the slow changes of its light, with the same median brightness."""
    sigma = LIGHT_SHARE * max(visible.shape)
    weight = visible.astype(np.float32)
    luminance = rgb.mean(-1) * weight
    light = blurred(luminance, sigma) / np.maximum(blurred(weight, sigma), 1e-4)
    # Limits of the factor by which light is evened out
    gain = np.clip(np.median(rgb.mean(-1)[visible]) / np.maximum(light, 1.0), *(0.7, 1.4))
    return np.clip(rgb * gain[..., None], 0, 255)


def blurred(image: np.ndarray, sigma: float) -> np.ndarray:
    """Return an image blurred by a wide Gaussian, computed on a smaller one."""
    factor = max(1, int(sigma / 4))
    small = cv2.resize(image, None, fx=1 / factor, fy=1 / factor, interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), sigma / factor)
    return cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_LINEAR)


def _continued(rgb: np.ndarray, visible: np.ndarray, metres_per_pixel: float) -> np.ndarray:
    """Fill what is not visible: each pixel mirrored at the nearest visible one, fading to the mean with distance."""
    hidden = (~visible).astype(np.uint8)
    distance, labels = cv2.distanceTransformWithLabels(hidden, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    label = np.asarray(labels, np.int64)
    nearest = np.zeros((int(label.max()) + 1, 2), np.float32)
    nearest[label[visible]] = np.argwhere(visible)
    nearest = nearest[label]
    # a ragged border would be mirrored as teeth
    edge = blurred(nearest, BORDER_SIGMA_PX)
    mirrored = 2 * edge - np.moveaxis(np.indices(visible.shape, np.float32), 0, -1)
    rows, columns = (np.ascontiguousarray(mirrored[..., axis]) for axis in (0, 1))
    usable = cv2.remap(visible.astype(np.uint8), columns, rows, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REFLECT_101)
    reflected = cv2.remap(rgb, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    rows, columns = (np.ascontiguousarray(nearest[..., axis]) for axis in (0, 1))
    smeared = blurred(cv2.remap(rgb, columns, rows, cv2.INTER_LINEAR), BORDER_SIGMA_PX)
    weight = cv2.GaussianBlur(usable.astype(np.float32), (0, 0), 2)[..., None] * (usable > 0)[..., None]
    filled = reflected * weight + smeared * (1 - weight)
    # Distance from the visible table in metres over which its continuation fades to the table's mean colour
    fade = np.clip(distance * metres_per_pixel / 0.35, 0, 1)[..., None] ** 2
    filled = filled * (1 - fade) + np.median(rgb[visible], axis=0) * fade
    return np.where(visible[..., None], rgb, filled)

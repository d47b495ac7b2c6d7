"""Superpixels of even colour and surface, and features of their common boundaries, on which instances are split."""

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.frame.plane_extraction import depth_noise
from pipeline.segmentation.depth.height_map import HeightMap

SPACING = 8
"""Pixels at working size between the superpixels' seeds."""
SAMPLE_DISTANCE = 2
"""Pixels from a boundary at which its two sides are compared."""


@dataclass(frozen=True, eq=False)
class SurfaceMap:
    """Colour and surface at each pixel of a window; holes in depth are filled with the nearest value."""

    lab: np.ndarray
    """CIELAB, of shape (h, w, 3), float32, OpenCV's 8-bit scale."""
    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32."""
    normals: np.ndarray
    """Unit normals in world axes towards the camera, of shape (h, w, 3), float32."""
    depth: np.ndarray
    """In metres, of shape (h, w), float32."""
    known: np.ndarray
    """Where depth was measured, of shape (h, w), bool."""


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The boundaries between pairs of labels that touch."""

    pairs: np.ndarray
    """Of shape (N, 2), int, the lower label first."""
    length: np.ndarray
    """In pixels, of shape (N,)."""
    features: np.ndarray
    """Of shape (N, len(FEATURE_NAMES)), float32."""


def surface_map(view: HeightMap, window: tuple[slice, slice]) -> SurfaceMap:
    """Return colour and surface in a window, smoothed except at depth edges."""
    known = view.known[window]
    nearest = ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True)
    depth = np.asarray(view.depth[window], np.float32)[tuple(np.asarray(nearest))]
    points = np.asarray(view.points[window], np.float32)[tuple(np.asarray(nearest))]
    smooth = np.dstack([_edge_preserving_blur(points[..., i], depth) for i in range(3)])
    along, down = (
        cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=5),
        cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=5),
    )
    normals = np.cross(down, along)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-12
    lab = cv2.cvtColor(cv2.bilateralFilter(np.ascontiguousarray(view.rgb[window]), 5, 25, 3), cv2.COLOR_RGB2LAB)
    return SurfaceMap(lab.astype(np.float32), smooth, normals.astype(np.float32), depth, known)


def _edge_preserving_blur(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Average values over 5 x 5 pixels; at depth edges, take the median of 3 x 3."""
    mean_depth = cv2.blur(depth, (5, 5))
    is_edge = np.abs(depth - mean_depth) > depth_noise(depth) * 1.5
    return np.where(is_edge, cv2.medianBlur(values, 3), cv2.blur(values, (5, 5)))


def superpixels(surface: SurfaceMap, mask: np.ndarray) -> np.ndarray:
    """Return labels 1, 2, ... of superpixels that tile a mask (h, w), 0 outside, int32.

    Waterpixels (Machairas et al., 2015).
    """
    strength = edge_strength_map(surface)
    h, w = mask.shape
    rows, cols = np.mgrid[0:h, 0:w]
    cell = (rows // SPACING) * (w // SPACING + 1) + cols // SPACING
    centre_distance = np.hypot(rows % SPACING - SPACING / 2, cols % SPACING - SPACING / 2)
    cost = np.where(mask, strength + 3 * centre_distance / SPACING, 1e6)
    order = np.argsort(cost.ravel(), kind="stable")
    _, first = np.unique(cell.ravel()[order], return_index=True)
    seeds = order[first]
    seeds = seeds[mask.ravel()[seeds]]
    markers = np.zeros(h * w, np.int32)
    markers[seeds] = np.arange(1, len(seeds) + 1)
    grown = ndimage.watershed_ift(np.clip(strength, 0, 255).astype(np.uint8), markers.reshape(h, w))
    return _connected_regions(np.where(mask, grown, 0))


def _connected_regions(labels: np.ndarray) -> np.ndarray:
    """Return labels 1, 2, ... of the connected regions of equal label, int32; 0 stays 0."""
    index, (h, w) = np.arange(labels.size).reshape(labels.shape), labels.shape
    pairs = []
    for dy, dx in ((0, 1), (1, 0)):
        first, second = (slice(0, h - dy), slice(0, w - dx)), (slice(dy, h), slice(dx, w))
        same = (labels[first] == labels[second]) & (labels[first] > 0)
        pairs.append(np.stack([index[first][same], index[second][same]]))
    a, b = np.concatenate(pairs, 1)
    graph = coo_array((np.ones(len(a), np.uint8), (a, b)), shape=(labels.size,) * 2)
    _, region = connected_components(graph, directed=False)
    _, numbered = np.unique(region[labels.ravel() > 0], return_inverse=True)
    regions = np.zeros(labels.size, np.int32)
    regions[labels.ravel() > 0] = numbered + 1
    return regions.reshape(labels.shape)


def edge_strength_map(surface: SurfaceMap) -> np.ndarray:
    """Return how much colour, surface normal and depth change at each pixel, of shape (h, w), about 0 to 255."""
    kernel = np.ones((3, 3), np.uint8)
    colour = sum(cv2.dilate(c, kernel) - cv2.erode(c, kernel) for c in cv2.split(surface.lab))
    turn = sum(cv2.dilate(c, kernel) - cv2.erode(c, kernel) for c in cv2.split(surface.normals))
    step = (cv2.dilate(surface.depth, kernel) - cv2.erode(surface.depth, kernel)) / depth_noise(surface.depth)
    return np.asarray(1.5 * colour + 25 * turn + 20 * np.minimum(step, 6), np.float32)


FEATURE_NAMES = (
    "colour across", "lightness", "chroma", "step across", "convex", "turn", "off plane", "unknown", "z gap",
    "up", "size", "share", "texture differs", "texture",
)  # fmt: skip


def find_boundaries(surface: SurfaceMap, labels: np.ndarray) -> Boundaries:
    """Return the boundaries between the labels (h, w) of a window, 0 being outside."""
    a, b, side_a, side_b = _boundary_pixels(labels)
    count = int(labels.max()) + 1
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys, index, length = np.unique(low.astype(np.int64) * count + high, return_inverse=True, return_counts=True)
    pairs = np.stack([keys // count, keys % count], 1)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(index, values, len(keys)) / length

    lab = [surface.lab.reshape(-1, 3)[i] for i in (side_a, side_b)]
    depth = [surface.depth.ravel()[i] for i in (side_a, side_b)]
    known = surface.known.ravel()
    size, middle, normal, colour, spread = _label_statistics(surface, labels, count)
    first, second = pairs.T
    offset = middle[second] - middle[first]
    gap = np.linalg.norm(offset, axis=1) + 1e-6
    noise = depth_noise(np.full(1, np.median(surface.depth[labels > 0])))[0]
    features = [
        mean(np.linalg.norm(lab[0] - lab[1], axis=1)) / 20,
        np.abs(colour[first] - colour[second])[:, 0] / 30,
        np.linalg.norm((colour[first] - colour[second])[:, 1:], axis=1) / 20,
        np.log1p(mean(np.abs(depth[0] - depth[1]) / depth_noise(depth[0]))),
        np.einsum("ij,ij->i", normal[second] - normal[first], offset) / gap,
        1 - np.einsum("ij,ij->i", normal[first], normal[second]),
        np.log1p(np.abs(np.einsum("ij,ij->i", normal[first], offset)) / noise)
        + np.log1p(np.abs(np.einsum("ij,ij->i", normal[second], offset)) / noise),
        mean(1.0 - (known[side_a] & known[side_b])),
        np.abs(offset[:, 2]) / gap,
        np.abs(normal[first] - normal[second])[:, 2],
        np.log(np.minimum(size[first], size[second])) / 5,
        length / np.sqrt(np.minimum(size[first], size[second])),
        np.abs(spread[first] - spread[second]) / 10,
        (spread[first] + spread[second]) / 20,
    ]
    return Boundaries(pairs, length, np.stack(features, 1).astype(np.float32))


def _boundary_pixels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return both labels, and flat indices of a pixel on each side, for all neighbouring pixels that differ."""
    h, w = labels.shape
    boundaries = []
    for dy, dx in ((0, 1), (1, 0)):
        p, q = labels[: h - dy, : w - dx], labels[dy:, dx:]
        y, x = np.nonzero((p != q) & (p > 0) & (q > 0))
        y0, x0 = np.maximum(y - dy * (SAMPLE_DISTANCE - 1), 0), np.maximum(x - dx * (SAMPLE_DISTANCE - 1), 0)
        y1, x1 = np.minimum(y + dy * SAMPLE_DISTANCE, h - 1), np.minimum(x + dx * SAMPLE_DISTANCE, w - 1)
        boundaries.append((p[y, x], q[y, x], y0 * w + x0, y1 * w + x1))
    a, b, side_a, side_b = (np.concatenate(values) for values in zip(*boundaries, strict=True))
    return a, b, side_a, side_b


def _label_statistics(surface: SurfaceMap, labels: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Return for each label: pixels, mean point, mean normal, mean colour, standard deviation of colour."""
    flat = labels.ravel()
    size = np.maximum(np.bincount(flat, minlength=count), 1).astype(float)

    def mean(values: np.ndarray) -> np.ndarray:
        columns = values.reshape(len(flat), -1).T
        return np.stack([np.bincount(flat, column, count) for column in columns], 1) / size[:, None]

    normal = mean(surface.normals)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-9
    colour = mean(surface.lab)
    spread = np.sqrt(np.maximum(mean(surface.lab**2) - colour**2, 0).sum(1))
    return size, mean(surface.points), normal, colour, spread

"""Small patches of even colour and surface, and what their common borders look like: the ground for telling parts."""

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.frame.planes import noise
from pipeline.segmentation.standing import Heights

SPACING = 8
"""Pixels at working size between the patches' seeds."""
ACROSS = 2
"""Pixels on either side of a border at which its two sides are compared."""


@dataclass(frozen=True, eq=False)
class Surface:
    """What is known at each pixel of a window, depth's holes filled from beside them."""

    lab: np.ndarray
    """CIELAB, of shape (h, w, 3), float32, OpenCV's 8-bit scale."""
    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32."""
    normals: np.ndarray
    """Unit normals in world axes towards the camera, of shape (h, w, 3), float32."""
    depth: np.ndarray
    """Metres, of shape (h, w), float32."""
    known: np.ndarray
    """Where depth was measured, of shape (h, w), bool."""


@dataclass(frozen=True, eq=False)
class Borders:
    """Pairs of labels that touch."""

    pairs: np.ndarray
    """Of shape (N, 2), int, the lower label first."""
    length: np.ndarray
    """In pixels, of shape (N,)."""
    features: np.ndarray
    """What the border looks like, of shape (N, F), float32."""


def surface(view: Heights, window: tuple[slice, slice]) -> Surface:
    """The surface seen in a window, smoothed where it is smooth."""
    known = view.known[window]
    nearest = ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True)
    depth = np.asarray(view.depth[window], np.float32)[tuple(np.asarray(nearest))]
    points = np.asarray(view.points[window], np.float32)[tuple(np.asarray(nearest))]
    smooth = np.dstack([_evened(points[..., i], depth) for i in range(3)])
    along, down = (
        cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=5),
        cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=5),
    )
    normals = np.cross(down, along)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-12
    lab = cv2.cvtColor(cv2.bilateralFilter(np.ascontiguousarray(view.rgb[window]), 5, 25, 3), cv2.COLOR_RGB2LAB)
    return Surface(lab.astype(np.float32), smooth, normals.astype(np.float32), depth, known)


def _evened(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Values averaged over neighbours at about the same depth."""
    near = cv2.blur(depth, (5, 5))
    jump = np.abs(depth - near) > noise(depth) * 1.5
    return np.where(jump, cv2.medianBlur(values, 3), cv2.blur(values, (5, 5)))


def patches(seen: Surface, mask: np.ndarray) -> np.ndarray:
    """Labels 1, 2, ... of patches that tile a mask (h, w), 0 outside; int32. Waterpixels (Machairas et al., 2015)."""
    strength = edge_strength(seen)
    h, w = mask.shape
    rows, cols = np.mgrid[0:h, 0:w]
    cell = (rows // SPACING) * (w // SPACING + 1) + cols // SPACING
    middle = np.hypot(rows % SPACING - SPACING / 2, cols % SPACING - SPACING / 2)
    cost = np.where(mask, strength + 3 * middle / SPACING, 1e6)
    order = np.argsort(cost.ravel(), kind="stable")
    _, first = np.unique(cell.ravel()[order], return_index=True)
    seeds = order[first]
    seeds = seeds[mask.ravel()[seeds]]
    markers = np.zeros(h * w, np.int32)
    markers[seeds] = np.arange(1, len(seeds) + 1)
    grown = ndimage.watershed_ift(np.clip(strength, 0, 255).astype(np.uint8), markers.reshape(h, w))
    return _islands(np.where(mask, grown, 0))


def _islands(labels: np.ndarray) -> np.ndarray:
    """Labels 1, 2, ... of the connected regions of one label, 0 staying 0; int32: no patch reaches round to another."""
    number, (h, w) = np.arange(labels.size).reshape(labels.shape), labels.shape
    pairs = []
    for dy, dx in ((0, 1), (1, 0)):
        here, there = (slice(0, h - dy), slice(0, w - dx)), (slice(dy, h), slice(dx, w))
        same = (labels[here] == labels[there]) & (labels[here] > 0)
        pairs.append(np.stack([number[here][same], number[there][same]]))
    a, b = np.concatenate(pairs, 1)
    graph = coo_array((np.ones(len(a), np.uint8), (a, b)), shape=(labels.size,) * 2)
    _, region = connected_components(graph, directed=False)
    _, numbered = np.unique(region[labels.ravel() > 0], return_inverse=True)
    found = np.zeros(labels.size, np.int32)
    found[labels.ravel() > 0] = numbered + 1
    return found.reshape(labels.shape)


def edge_strength(seen: Surface) -> np.ndarray:
    """How much changes at each pixel, 0 ... 255, of shape (h, w): colour, surface direction, depth."""
    kernel = np.ones((3, 3), np.uint8)
    colour = sum(cv2.dilate(c, kernel) - cv2.erode(c, kernel) for c in cv2.split(seen.lab))
    turn = sum(cv2.dilate(c, kernel) - cv2.erode(c, kernel) for c in cv2.split(seen.normals))
    step = (cv2.dilate(seen.depth, kernel) - cv2.erode(seen.depth, kernel)) / noise(seen.depth)
    return np.asarray(1.5 * colour + 25 * turn + 20 * np.minimum(step, 6), np.float32)


NAMES = (
    "colour across", "lightness", "chroma", "step across", "convex", "turn", "off plane", "unknown", "z gap",
    "up", "size", "share", "texture differs", "texture",
)  # fmt: skip


def borders(seen: Surface, labels: np.ndarray) -> Borders:
    """The borders between the labels of a window (h, w), 0 being outside."""
    a, b, here, there = _sides(labels)
    count = int(labels.max()) + 1
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys, which, length = np.unique(low.astype(np.int64) * count + high, return_inverse=True, return_counts=True)
    pairs = np.stack([keys // count, keys % count], 1)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(which, values, len(keys)) / length

    lab = [seen.lab.reshape(-1, 3)[i] for i in (here, there)]
    depth = [seen.depth.ravel()[i] for i in (here, there)]
    known = seen.known.ravel()
    size, middle, normal, colour, spread = _statistics(seen, labels, count)
    one, two = pairs.T
    apart = middle[two] - middle[one]
    gap = np.linalg.norm(apart, axis=1) + 1e-6
    rough = noise(np.full(1, np.median(seen.depth[labels > 0])))[0]
    features = [
        mean(np.linalg.norm(lab[0] - lab[1], axis=1)) / 20,
        np.abs(colour[one] - colour[two])[:, 0] / 30,
        np.linalg.norm((colour[one] - colour[two])[:, 1:], axis=1) / 20,
        np.log1p(mean(np.abs(depth[0] - depth[1]) / noise(depth[0]))),
        np.einsum("ij,ij->i", normal[two] - normal[one], apart) / gap,
        1 - np.einsum("ij,ij->i", normal[one], normal[two]),
        np.log1p(np.abs(np.einsum("ij,ij->i", normal[one], apart)) / rough)
        + np.log1p(np.abs(np.einsum("ij,ij->i", normal[two], apart)) / rough),
        mean(1.0 - (known[here] & known[there])),
        np.abs(apart[:, 2]) / gap,
        np.abs(normal[one] - normal[two])[:, 2],
        np.log(np.minimum(size[one], size[two])) / 5,
        length / np.sqrt(np.minimum(size[one], size[two])),
        np.abs(spread[one] - spread[two]) / 10,
        (spread[one] + spread[two]) / 20,
    ]
    return Borders(pairs, length, np.stack(features, 1).astype(np.float32))


def _sides(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each border between neighbouring pixels: both labels, and the flat indices of pixels on either side."""
    h, w = labels.shape
    found = []
    for dy, dx in ((0, 1), (1, 0)):
        p, q = labels[: h - dy, : w - dx], labels[dy:, dx:]
        y, x = np.nonzero((p != q) & (p > 0) & (q > 0))
        y0, x0 = np.maximum(y - dy * (ACROSS - 1), 0), np.maximum(x - dx * (ACROSS - 1), 0)
        y1, x1 = np.minimum(y + dy * ACROSS, h - 1), np.minimum(x + dx * ACROSS, w - 1)
        found.append((p[y, x], q[y, x], y0 * w + x0, y1 * w + x1))
    a, b, here, there = (np.concatenate(one) for one in zip(*found, strict=True))
    return a, b, here, there


def _statistics(seen: Surface, labels: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Of each label: pixels, mean point, mean normal, mean colour, spread of colour."""
    flat = labels.ravel()
    size = np.maximum(np.bincount(flat, minlength=count), 1).astype(float)

    def mean(values: np.ndarray) -> np.ndarray:
        columns = values.reshape(len(flat), -1).T
        return np.stack([np.bincount(flat, column, count) for column in columns], 1) / size[:, None]

    normal = mean(seen.normals)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-9
    colour = mean(seen.lab)
    spread = np.sqrt(np.maximum(mean(seen.lab**2) - colour**2, 0).sum(1))
    return size, mean(seen.points), normal, colour, spread

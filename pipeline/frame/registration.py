"""Depth that sits beside its colour picture, moved back: its edges are matched with the colour's."""

from dataclasses import replace

import cv2
import numpy as np

from pipeline.frame.frame import Frame

WORKING_WIDTH = 640
REACH = 8
"""Pixels at working width that depth may be off by in the middle of the picture."""
ZOOMS = np.arange(-0.04, 0.041, 0.01)
"""How much larger depth may have to become: cameras report one lens's focal length for both."""
LEAST = 4.0
"""Pixels at working width: less than this the edges cannot tell, and a mask does not feel."""
EDGES = 1000
PARTS, FEW = 6, 15
"""Parts of the picture along each side, and spots without which a part has no say."""


def register(frame: Frame) -> Frame:
    """The frame with depth moved onto its colour where it is clearly off, and a note; else the same frame."""
    warp = depth_warp(frame)
    if warp is None:
        return frame
    size = frame.depth.shape[::-1]
    depth = cv2.warpAffine(frame.depth, warp, size, flags=cv2.INTER_NEAREST, borderValue=0)
    middle = warp @ [size[0] / 2, size[1] / 2, 1] - [size[0] / 2, size[1] / 2]
    told = (
        f"Depth was moved by {middle[0]:.0f}, {middle[1]:.0f} pixels and scaled by {warp[0, 0]:.3f} to fit the colour."
    )
    return replace(frame, depth=depth, notes=(*frame.notes, told))


def depth_warp(frame: Frame) -> np.ndarray | None:
    """The shift and zoom, of shape (2, 3), that bring depth's pixels onto the colour's; None where it fits already.

    Steps in depth should lie on edges of the picture that run the same way: the shift and zoom for which most do.
    """
    step = max(1, round(frame.depth.shape[1] / WORKING_WIDTH))
    depth = frame.depth[::step, ::step]
    h, w = depth.shape
    spots, across = _depth_edges(depth)
    if len(spots) < 200:
        return None
    small = cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    edges = _colour_edges(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY))
    middle = np.array([w / 2, h / 2])
    scores = np.stack([_agreement(edges, spots + zoom * (spots - middle), across) for zoom in ZOOMS])
    scores = cv2.GaussianBlur(scores.transpose(1, 2, 0), (3, 3), 0).transpose(2, 0, 1)
    z, i, j = np.unravel_index(scores.argmax(), scores.shape)
    zoom, shift = ZOOMS[z], np.array([j - REACH, i - REACH], float)
    moves = np.linalg.norm(zoom * (spots - middle) + shift, axis=1)
    sure = scores[z, i, j] > 1.2 * scores[len(ZOOMS) // 2, REACH, REACH]
    if not sure or np.quantile(moves, 0.9) < LEAST or max(abs(shift)) >= REACH:
        return None
    if not _mostly_nearer(edges, spots, spots + zoom * (spots - middle) + shift, across):
        return None
    return np.column_stack([np.eye(2) * (1 + zoom), step * (shift - zoom * middle)])


def _mostly_nearer(edges: np.ndarray, spots: np.ndarray, moved: np.ndarray, across: np.ndarray) -> bool:
    """Whether the spots (N, 2) of most parts of the picture lie on stronger edges once moved.

    The edge of a table beside one plank's seam outweighs all that stands on it, and says nothing of it.
    """
    soft = cv2.GaussianBlur(edges, (3, 3), 0)
    h, w = edges.shape[:2]
    before, after = (_strength(soft, places, across) for places in (spots, moved))
    parts = (spots * PARTS // [w, h]).astype(int) @ [1, PARTS]
    counted = [one for one in range(PARTS**2) if (parts == one).sum() >= FEW]
    gaining = sum(bool(after[parts == one].mean() > before[parts == one].mean()) for one in counted)
    return 2 * gaining > len(counted)


def _strength(edges: np.ndarray, spots: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Of the colour's edges across each spot, of shape (N,)."""
    h, w = edges.shape[:2]
    cols, rows = np.rint(spots).astype(int).T
    return np.abs((edges[np.clip(rows, 0, h - 1), np.clip(cols, 0, w - 1)] * across).sum(1))


def _agreement(edges: np.ndarray, spots: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Mean strength of the colour's edges across the spots (N, 2), for each shift: of shape (2 REACH + 1,) * 2."""
    h, w = edges.shape[:2]
    cols, rows = np.rint(spots).astype(int).T
    shifts = np.arange(-REACH, REACH + 1)
    cols, rows = np.clip(cols[:, None] + shifts, 0, w - 1), np.clip(rows[:, None] + shifts, 0, h - 1)
    seen = rows[:, :, None] * w + cols[:, None, :]
    along, down = (edges[..., i].ravel().take(seen) * across[:, i, None, None] for i in (0, 1))
    return np.abs(along + down).mean(0)


def _depth_edges(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The near side of steps in depth, near things only: pixels (N, 2) x and y, and unit directions across (N, 2)."""
    known = depth > 0
    near = known & (cv2.dilate(depth, np.ones((5, 5), np.uint8)) - depth > 0.03 + 0.02 * depth) & (depth < 3)
    border = REACH + 2
    near[:border] = near[-border:] = False
    near[:, :border] = near[:, -border:] = False
    if near.any():
        near &= depth <= np.median(depth[near])
    inverse = cv2.GaussianBlur(np.where(known, 1 / np.maximum(depth, 0.1), 0).astype(np.float32), (0, 0), 1.5)
    rows, cols = np.nonzero(near)
    pick = slice(None, None, max(1, len(rows) // EDGES))
    rows, cols = rows[pick], cols[pick]
    across = np.stack([cv2.Sobel(inverse, cv2.CV_32F, *way)[rows, cols] for way in ((1, 0), (0, 1))], -1)
    return np.stack([cols, rows], -1).astype(float), across / (np.linalg.norm(across, axis=1, keepdims=True) + 1e-9)


def _colour_edges(grey: np.ndarray) -> np.ndarray:
    """The grey picture's gradient, of shape (H, W, 2), strong edges cut to the same strength."""
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.0)
    gradient = np.stack([cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)], -1)
    length = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return gradient * np.minimum(length, np.percentile(length, 90)) / (length + 1e-6)

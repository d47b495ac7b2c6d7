"""Align depth with a colour image that it is shifted against, by matching depth edges with colour edges."""

from dataclasses import replace

import cv2
import numpy as np

from pipeline.frame.frame import Frame, subsampling_step
from pipeline.frame.once_per_frame import once_per_frame

WORKING_WIDTH = 640
MAX_SHIFT = 8
"""Largest shift searched at the image centre, in pixels at working width."""
SCALE_CHANGES = np.arange(-0.04, 0.041, 0.01)
"""Changes of scale searched: some cameras report one lens's focal length for both colour and depth."""
MAX_EDGE_POINTS = 1000
GRID_SIZE, MIN_POINTS_PER_CELL = 6, 15
"""Cells along each side of the image, and the number of edge points from which a cell counts."""


@once_per_frame
def register_depth(frame: Frame) -> Frame:
    """Return the frame with misaligned depth moved onto its colour, with a note; the same frame if depth is aligned."""
    warp = depth_warp(frame)
    if warp is None:
        return frame
    size = frame.depth.shape[::-1]
    depth = cv2.warpAffine(frame.depth, warp, size, flags=cv2.INTER_NEAREST, borderValue=0)
    shift = warp @ [size[0] / 2, size[1] / 2, 1] - [size[0] / 2, size[1] / 2]
    note = f"Depth was moved by {shift[0]:.0f}, {shift[1]:.0f} pixels and scaled by {warp[0, 0]:.3f} to fit the colour."
    return replace(frame, depth=depth, notes=(*frame.notes, note))


def depth_warp(frame: Frame) -> np.ndarray | None:
    """Return the affine warp, of shape (2, 3), that aligns depth with colour; None if they are aligned already.

    The warp is the shift and scale for which most depth edges lie on colour edges of the same direction.
    """
    step = subsampling_step(frame, WORKING_WIDTH)
    depth = frame.depth[::step, ::step]
    h, w = depth.shape
    points, normals = _depth_edges(depth)
    if len(points) < 200:
        return None
    small = cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    edges = _colour_edges(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY))
    centre = np.array([w / 2, h / 2])
    scores = np.stack([_agreement(edges, points + change * (points - centre), normals) for change in SCALE_CHANGES])
    scores = cv2.GaussianBlur(scores.transpose(1, 2, 0), (3, 3), 0).transpose(2, 0, 1)
    z, i, j = np.unravel_index(scores.argmax(), scores.shape)
    change, shift = SCALE_CHANGES[z], np.array([j - MAX_SHIFT, i - MAX_SHIFT], float)
    displacements = np.linalg.norm(change * (points - centre) + shift, axis=1)
    is_clear = scores[z, i, j] > 1.2 * scores[len(SCALE_CHANGES) // 2, MAX_SHIFT, MAX_SHIFT]
    # 4.0: pixels at working width; smaller displacements cannot be measured by edges and do not matter to masks
    if not is_clear or np.quantile(displacements, 0.9) < 4.0 or max(abs(shift)) >= MAX_SHIFT:
        return None
    if not _improves_most_cells(edges, points, points + change * (points - centre) + shift, normals):
        return None
    return np.column_stack([np.eye(2) * (1 + change), step * (shift - change * centre)])


def _improves_most_cells(edges: np.ndarray, points: np.ndarray, moved: np.ndarray, normals: np.ndarray) -> bool:
    """Return whether the edge points (N, 2) of most image cells lie on stronger colour edges once moved.

    A mean over all points would not do: a table's edge along a plank's seam has more points than all objects together.
    """
    smooth = cv2.GaussianBlur(edges, (3, 3), 0)
    h, w = edges.shape[:2]
    before, after = (_edge_strength(smooth, places, normals) for places in (points, moved))
    cells = (points * GRID_SIZE // [w, h]).astype(int) @ [1, GRID_SIZE]
    counted = [cell for cell in range(GRID_SIZE**2) if (cells == cell).sum() >= MIN_POINTS_PER_CELL]
    improved = sum(bool(after[cells == cell].mean() > before[cells == cell].mean()) for cell in counted)
    return 2 * improved > len(counted)


def _edge_strength(edges: np.ndarray, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the strength of the colour edges (H, W, 2) along the normals at points (N, 2), of shape (N,)."""
    h, w = edges.shape[:2]
    cols, rows = np.rint(points).astype(int).T
    return np.abs((edges[np.clip(rows, 0, h - 1), np.clip(cols, 0, w - 1)] * normals).sum(1))


def _agreement(edges: np.ndarray, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the mean edge strength at points (N, 2) for each shift, of shape (2 MAX_SHIFT + 1, 2 MAX_SHIFT + 1)."""
    h, w = edges.shape[:2]
    cols, rows = np.rint(points).astype(int).T
    shifts = np.arange(-MAX_SHIFT, MAX_SHIFT + 1)
    cols, rows = np.clip(cols[:, None] + shifts, 0, w - 1), np.clip(rows[:, None] + shifts, 0, h - 1)
    flat = rows[:, :, None] * w + cols[:, None, :]
    along_x, along_y = (edges[..., i].ravel().take(flat) * normals[:, i, None, None] for i in (0, 1))
    return np.abs(along_x + along_y).mean(0)


def _depth_edges(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the near side of depth edges in the foreground: pixels (N, 2), x and y, and unit normals (N, 2)."""
    known = depth > 0
    near = known & (cv2.dilate(depth, np.ones((5, 5), np.uint8)) - depth > 0.03 + 0.02 * depth) & (depth < 3)
    border = MAX_SHIFT + 2
    near[:border] = near[-border:] = False
    near[:, :border] = near[:, -border:] = False
    if near.any():
        near &= depth <= np.median(depth[near])
    inverse = cv2.GaussianBlur(np.where(known, 1 / np.maximum(depth, 0.1), 0).astype(np.float32), (0, 0), 1.5)
    rows, cols = np.nonzero(near)
    picked = slice(None, None, max(1, len(rows) // MAX_EDGE_POINTS))
    rows, cols = rows[picked], cols[picked]
    normals = np.stack([cv2.Sobel(inverse, cv2.CV_32F, *order)[rows, cols] for order in ((1, 0), (0, 1))], -1)
    return np.stack([cols, rows], -1).astype(float), normals / (np.linalg.norm(normals, axis=1, keepdims=True) + 1e-9)


def _colour_edges(grey: np.ndarray) -> np.ndarray:
    """Return the gradient of a grey image, of shape (H, W, 2), its length clipped at the 90th percentile."""
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.0)
    gradient = np.stack([cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)], -1)
    length = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return gradient * np.minimum(length, np.percentile(length, 90)) / (length + 1e-6)

"""Draws the outline of a mesh from its wider side, with each axis up, so that a person can choose the upright one."""

from typing import Any

import cv2
import numpy as np
import trimesh

from pipeline.assets.importers.mesh_import import UP_AXIS_ROTATIONS

RASTER_PIXELS = 120
"""Length of the longest side in the raster that is traced."""
TOLERANCE_PIXELS = 0.7
"""Largest distance of the simplified outline from the traced one."""


def outlines_by_up_axis(mesh: trimesh.Trimesh) -> dict[str, dict[str, Any]]:
    """Return {path, wide, tall} by the axis that points up: an SVG path in a box of that size, the longest side 1.

    Fill the path by the even-odd rule; y points down.
    """
    return {up: _outline((mesh.vertices @ turn.T), mesh.faces) for up, turn in UP_AXIS_ROTATIONS.items()}


def _outline(vertices: np.ndarray, faces: np.ndarray) -> dict[str, Any]:
    extents = np.ptp(vertices, axis=0)
    across = 0 if extents[0] >= extents[1] else 1
    flat = vertices[:, [across, 2]] * [1, -1] / max(float(extents.max()), 1e-12)
    flat -= flat.min(axis=0)
    wide, tall = flat.max(axis=0)
    picture = np.zeros((int(np.ceil(tall * RASTER_PIXELS)) + 3, int(np.ceil(wide * RASTER_PIXELS)) + 3), np.uint8)
    for triangle in np.round(flat * RASTER_PIXELS + 1).astype(np.int32)[faces]:
        cv2.fillConvexPoly(picture, triangle, 255)
    lines, _ = cv2.findContours(picture, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    drawn = [(cv2.approxPolyDP(line, TOLERANCE_PIXELS, True)[:, 0] - 1) / RASTER_PIXELS for line in lines]
    path = " ".join("M" + "L".join(f"{x:.3g},{y:.3g}" for x, y in line) + "Z" for line in drawn if len(line) > 2)
    return {"path": path, "wide": round(float(wide), 3), "tall": round(float(tall), 3)}

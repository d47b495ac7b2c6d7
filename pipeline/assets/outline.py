"""The outline of a mesh as one looks at its wider side, for a page to draw: as it would stand with each axis up."""

from typing import Any

import cv2
import numpy as np
import trimesh

from pipeline.assets.importing_mesh import UP

PIXELS = 120
"""Of the longest side where the outline is felt out."""
FINE = 0.7
"""Pixels that a drawn line may lie off it."""


def outlines(mesh: trimesh.Trimesh) -> dict[str, dict[str, Any]]:
    """By the axis that would point up: {path, wide, tall}, an SVG path in a box of that size, the longest side 1.

    The path is to be filled by the even-odd rule; y points down.
    """
    return {up: _outline((mesh.vertices @ turn.T), mesh.faces) for up, turn in UP.items()}


def _outline(vertices: np.ndarray, faces: np.ndarray) -> dict[str, Any]:
    extents = np.ptp(vertices, axis=0)
    across = 0 if extents[0] >= extents[1] else 1
    flat = vertices[:, [across, 2]] * [1, -1] / max(float(extents.max()), 1e-12)
    flat -= flat.min(axis=0)
    wide, tall = flat.max(axis=0)
    picture = np.zeros((int(np.ceil(tall * PIXELS)) + 3, int(np.ceil(wide * PIXELS)) + 3), np.uint8)
    for triangle in np.round(flat * PIXELS + 1).astype(np.int32)[faces]:
        cv2.fillConvexPoly(picture, triangle, 255)
    lines, _ = cv2.findContours(picture, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    drawn = [(cv2.approxPolyDP(line, FINE, True)[:, 0] - 1) / PIXELS for line in lines]
    path = " ".join("M" + "L".join(f"{x:.3g},{y:.3g}" for x, y in line) + "Z" for line in drawn if len(line) > 2)
    return {"path": path, "wide": round(float(wide), 3), "tall": round(float(tall), 3)}

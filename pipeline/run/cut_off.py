"""Objects that the picture's edge cuts off: their size and place are a guess, so no task is proposed about them."""

import numpy as np

from pipeline.project import Project

MIN_EDGE_PIXELS = 8
"""Pixels of a mask on the picture's edge from which the object is cut off."""


def cut_off_objects(project: Project) -> dict[str, str]:
    """Return why an object's size is a guess, by the object's name, for those that the picture's edge cuts off."""
    masks = {segment.id: segment.mask for segment in project.segments() or ()}
    scene = project.scene()
    return {
        one.name: f"{one.name} is cut off by the picture's edge"
        for one in (scene.placements if scene else ())
        if one.segment_id in masks and edge_pixels(masks[one.segment_id]) >= MIN_EDGE_PIXELS
    }


def edge_pixels(mask: np.ndarray) -> int:
    """Return how many pixels of a mask (H, W) lie on the picture's edge."""
    return int(mask[0].sum() + mask[-1].sum() + mask[1:-1, 0].sum() + mask[1:-1, -1].sum())

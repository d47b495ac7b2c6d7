"""Objects about which no task is proposed: their size and place are a guess, or they stand beyond the table."""

import numpy as np

from pipeline.project import Project
from pipeline.simulation import kit

MAX_OVERHANG_M = 0.02
"""Metres by which an object's outline may extend beyond the table."""


def doubtful_objects(project: Project, scene: kit.Scene) -> dict[str, str]:
    """Return why no task is proposed about an object, by its name, for those cut off or beyond the table."""
    beyond = {
        one.name: f"{one.name} stands beyond the table's edge"
        for one in scene.objects
        if not scene.shelf_under(one) and scene.table.depth(one.outline).min() < -MAX_OVERHANG_M
    }
    return beyond | cut_off_objects(project)


def cut_off_objects(project: Project) -> dict[str, str]:
    """Return why an object's size is a guess, by the object's name, for those that the picture's edge cuts off."""
    masks = {segment.id: segment.mask for segment in project.segments() or ()}
    scene = project.scene()
    return {
        one.name: f"{one.name} is cut off by the picture's edge"
        for one in (scene.placements if scene else ())
        # Pixels of a mask on the picture's edge from which the object is cut off
        if one.segment_id in masks and edge_pixels(masks[one.segment_id]) >= 8
    }


def edge_pixels(mask: np.ndarray) -> int:
    """Return how many pixels of a mask (H, W) lie on the picture's edge."""
    return int(mask[0].sum() + mask[-1].sum() + mask[1:-1, 0].sum() + mask[1:-1, -1].sum())

"""Convex parts cover a solid and keep its openings, whether or not its components intersect."""

import numpy as np
import pytest
import trimesh

from pipeline.assets.collision.convex_decomposition import decompose, is_nearly_convex


def _angle_iron(gap: float = 0.0) -> trimesh.Trimesh:
    """Return two plates that meet in an edge, or intersect for a negative gap."""
    floor, wall = trimesh.creation.box([0.08, 0.05, 0.006]), trimesh.creation.box([0.006, 0.05, 0.06])
    joined = trimesh.util.concatenate([floor, wall.apply_translation([-0.037, 0, 0.033 + gap])])
    assert isinstance(joined, trimesh.Trimesh)
    return joined


def _covered(mesh: trimesh.Trimesh, parts: list[trimesh.Trimesh], near: float) -> float:
    points = trimesh.sample.sample_surface(mesh, 500, seed=0)[0]
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    inside = [(points @ n.T <= (n * c).sum(axis=1) + near).all(axis=1) for n, c in planes]
    return float(np.any(inside, axis=0).mean())


@pytest.mark.parametrize("gap", [0.0, -0.004])
def test_touching_or_intersecting_plates_are_covered_and_not_filled(gap):
    mesh = _angle_iron(gap)
    parts = decompose(mesh)
    assert _covered(mesh, parts, 0.002) > 0.97
    assert sum(part.volume for part in parts) < 0.5 * mesh.convex_hull.volume


def test_a_hull_suffices_for_a_box_with_a_gap_and_not_for_a_ring():
    box = trimesh.creation.box([0.1, 0.1, 0.1])
    open_box = trimesh.Trimesh(box.vertices, box.faces[1:])
    assert is_nearly_convex(box) and is_nearly_convex(open_box)
    assert not is_nearly_convex(trimesh.creation.torus(0.05, 0.012))

"""Convex pieces cover a solid and leave open what is open, whether or not its parts run through one another."""

import numpy as np
import pytest
import trimesh

from pipeline.assets.convex import decomposed, nearly_convex


def _angle_iron(gap: float = 0.0) -> trimesh.Trimesh:
    """Two plates that meet in an edge, or run through one another by a negative gap."""
    floor, wall = trimesh.creation.box([0.08, 0.05, 0.006]), trimesh.creation.box([0.006, 0.05, 0.06])
    joined = trimesh.util.concatenate([floor, wall.apply_translation([-0.037, 0, 0.033 + gap])])
    assert isinstance(joined, trimesh.Trimesh)
    return joined


def _covered(mesh: trimesh.Trimesh, pieces: list[trimesh.Trimesh], near: float) -> float:
    points = trimesh.sample.sample_surface(mesh, 500, seed=0)[0]
    planes = [(piece.face_normals, piece.triangles_center) for piece in pieces]
    inside = [(points @ n.T <= (n * c).sum(axis=1) + near).all(axis=1) for n, c in planes]
    return float(np.any(inside, axis=0).mean())


@pytest.mark.parametrize("gap", [0.0, -0.004])
def test_plates_that_meet_or_run_through_one_another_are_covered_and_not_filled(gap):
    mesh = _angle_iron(gap)
    pieces = decomposed(mesh)
    assert _covered(mesh, pieces, 0.002) > 0.97
    assert sum(piece.volume for piece in pieces) < 0.5 * mesh.convex_hull.volume


def test_a_hull_will_do_for_a_box_with_a_gap_and_not_for_a_ring():
    box = trimesh.creation.box([0.1, 0.1, 0.1])
    open_box = trimesh.Trimesh(box.vertices, box.faces[1:])
    assert nearly_convex(box) and nearly_convex(open_box)
    assert not nearly_convex(trimesh.creation.torus(0.05, 0.012))

"""Decomposes a mesh into convex parts by CoACD (Wei et al., SIGGRAPH 2022), where its hull would close an opening."""

import numpy as np
import trimesh

from pipeline.geometry import rays

MAX_MEAN_HULL_GAP = 0.03
"""Mean distance from the hull to the mesh over the mesh's mean extent, up to which the hull suffices."""
MAX_HULL_GAP = 0.2
"""The same for the largest distance: the hull of a ring closes its hole."""
MAX_UNCOVERED_GAP = 0.01
"""Mean distance from the surface to the parts that cover it, over the mesh's mean extent, at max_parts."""


def is_nearly_convex(mesh: trimesh.Trimesh) -> bool:
    """Return whether the hull lies close to the mesh, except over gaps in the surface."""
    scene = rays.raycasting_scene([(mesh.vertices, mesh.faces)])
    points = np.asarray(trimesh.sample.sample_surface(mesh.convex_hull, 2000, seed=0)[0])
    distance = rays.surface_distance(scene, points)
    mean = float(mesh.extents.mean())
    return bool(
        distance.mean() < MAX_MEAN_HULL_GAP * mean and (distance.max() < MAX_HULL_GAP * mean or not mesh.is_watertight)
    )


def decompose(mesh: trimesh.Trimesh, max_parts: int = 16) -> list[trimesh.Trimesh]:
    """Return at most `max_parts` convex parts. docs/results/library.md has measurements.

    A watertight mesh is decimated and decomposed as it is: remeshing takes most of the time and thickens thin walls.
    If the parts then miss some of the surface, because components intersect, it is remeshed after all.
    """
    thin = _decimate(mesh, 1000)
    parts = _run_coacd(thin, max_parts, "off") if thin.is_watertight and thin.volume > 0 else []
    if parts and _uncovered_gap(mesh, parts) < MAX_UNCOVERED_GAP:
        return parts
    return _run_coacd(_decimate(mesh, 1500), max_parts, "on")


def _decimate(mesh: trimesh.Trimesh, faces: int) -> trimesh.Trimesh:
    import open3d as o3d

    dense = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    thin = dense.simplify_quadric_decimation(faces) if len(mesh.faces) > faces else dense
    return trimesh.Trimesh(np.asarray(thin.vertices), np.asarray(thin.triangles), process=False)


def _run_coacd(mesh: trimesh.Trimesh, max_parts: int, remeshing: str) -> list[trimesh.Trimesh]:
    import coacd

    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(mesh.vertices, mesh.faces), threshold=0.08, max_convex_hull=max_parts, mcts_iterations=12,
        mcts_nodes=6, mcts_max_depth=2, resolution=500, seed=1, preprocess_mode=remeshing, preprocess_resolution=30,
    )  # fmt: skip
    return [trimesh.Trimesh(corners, sides).convex_hull for corners, sides in parts]


def _uncovered_gap(mesh: trimesh.Trimesh, parts: list[trimesh.Trimesh]) -> float:
    """Return the mean distance of the surface outside all parts, over the mesh's mean extent."""
    points = np.asarray(trimesh.sample.sample_surface(mesh, 1000, seed=0)[0])
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    outside = [(points @ normals.T - (normals * at).sum(axis=1)).max(axis=1) for normals, at in planes]
    return float(np.maximum(np.min(outside, axis=0), 0).mean() / mesh.extents.mean())

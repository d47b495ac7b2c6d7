"""A solid in convex pieces, by CoACD (Wei et al., SIGGRAPH 2022), where its hull would close what is open."""

import numpy as np
import trimesh

NEAR = 0.03
"""Mean distance from its hull to a thing, as a share of its mean extent, up to which the hull will do for collision."""
DEEP = 0.2
"""The same for the greatest distance: a ring's hull closes its hole."""
BARE = 0.01
"""Mean distance from a thing's surface to the pieces that shall cover it, as a share of its mean extent, at most."""


def nearly_convex(mesh: trimesh.Trimesh) -> bool:
    """Whether its hull lies on it nearly everywhere, and far from it only over gaps in its surface."""
    import open3d as o3d  # takes a second: not at start-up

    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        o3d.core.Tensor.from_numpy(mesh.vertices.astype(np.float32)),
        o3d.core.Tensor.from_numpy(mesh.faces.astype(np.uint32)),
    )
    points = np.asarray(trimesh.sample.sample_surface(mesh.convex_hull, 2000, seed=0)[0])
    away = scene.compute_distance(o3d.core.Tensor.from_numpy(points.astype(np.float32))).numpy()
    mean = float(mesh.extents.mean())
    return bool(away.mean() < NEAR * mean and (away.max() < DEEP * mean or not mesh.is_watertight))


def decomposed(mesh: trimesh.Trimesh, most: int = 16) -> list[trimesh.Trimesh]:
    """Convex pieces by CoACD, measured in docs/library.md.

    What has an inside is taken as it is, thinned: making it tight first takes most of the time, and thickens what is
    thin. Where the pieces then miss some of it, for its parts run through one another, it is made tight after all.
    """
    thin = _thin(mesh, 1000)
    pieces = _cut(thin, most, "off") if thin.is_watertight and thin.volume > 0 else []
    return pieces if pieces and _left_bare(mesh, pieces) < BARE else _cut(_thin(mesh, 1500), most, "on")


def _thin(mesh: trimesh.Trimesh, faces: int) -> trimesh.Trimesh:
    import open3d as o3d

    dense = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    thin = dense.simplify_quadric_decimation(faces) if len(mesh.faces) > faces else dense
    return trimesh.Trimesh(np.asarray(thin.vertices), np.asarray(thin.triangles), process=False)


def _cut(mesh: trimesh.Trimesh, most: int, tightening: str) -> list[trimesh.Trimesh]:
    import coacd

    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(mesh.vertices, mesh.faces), threshold=0.08, max_convex_hull=most, mcts_iterations=12, mcts_nodes=6,
        mcts_max_depth=2, resolution=500, seed=1, preprocess_mode=tightening, preprocess_resolution=30,
    )  # fmt: skip
    return [trimesh.Trimesh(corners, sides).convex_hull for corners, sides in parts]


def _left_bare(mesh: trimesh.Trimesh, pieces: list[trimesh.Trimesh]) -> float:
    """How far its surface lies outside of all pieces in the mean, as a share of its mean extent."""
    points = np.asarray(trimesh.sample.sample_surface(mesh, 1000, seed=0)[0])
    planes = [(piece.face_normals, piece.triangles_center) for piece in pieces]
    outside = [(points @ normals.T - (normals * at).sum(axis=1)).max(axis=1) for normals, at in planes]
    return float(np.maximum(np.min(outside, axis=0), 0).mean() / mesh.extents.mean())

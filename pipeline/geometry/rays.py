"""Ray casting: at triangle meshes with Open3D's RaycastingScene (Embree), at the geoms of a MuJoCo model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:
    import open3d


@dataclass(frozen=True, eq=False)
class RayHits:
    """The first hit of each of N rays at the meshes of a RaycastingScene."""

    distance: np.ndarray
    """In lengths of the ray's direction, of shape (N,), float32; infinite where a ray hits nothing."""
    mesh: np.ndarray
    """Index of the mesh that was hit, of shape (N,), uint32."""
    triangle: np.ndarray
    """Index of the triangle within its mesh, of shape (N,), uint32."""
    barycentric: np.ndarray
    """Barycentric coordinates u, v within the triangle, of shape (N, 2), float32."""
    normal: np.ndarray
    """Unit normal of the triangle, of shape (N, 3), float32."""


def raycasting_scene(meshes: Iterable[tuple[np.ndarray, np.ndarray]]) -> "open3d.t.geometry.RaycastingScene":
    """Return a scene of meshes, each given as vertices of shape (V, 3) and faces of shape (F, 3)."""
    import open3d  # takes a second to import

    scene = open3d.t.geometry.RaycastingScene()
    for vertices, faces in meshes:
        scene.add_triangles(_tensor(vertices), _tensor(faces, np.uint32))
    return scene


def triangle_scene(triangles: np.ndarray) -> "open3d.t.geometry.RaycastingScene":
    """Return a scene of loose triangles, given by their corners, of shape (F, 3, 3)."""
    return raycasting_scene([(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))])


def cast_rays(scene: "open3d.t.geometry.RaycastingScene", origins: np.ndarray, directions: np.ndarray) -> RayHits:
    """Cast N rays from `origins` along `directions`, each of shape (N, 3) or (3,)."""
    rays = np.concatenate(np.broadcast_arrays(origins, directions), -1)
    hits = {name: value.numpy() for name, value in scene.cast_rays(_tensor(rays)).items()}
    return RayHits(
        hits["t_hit"], hits["geometry_ids"], hits["primitive_ids"], hits["primitive_uvs"], hits["primitive_normals"]
    )


def count_crossings(scene: "open3d.t.geometry.RaycastingScene", directions: np.ndarray) -> np.ndarray:
    """Return how often rays from the origin along `directions` (N, 3) cross a surface, shape (N,)."""
    rays = np.concatenate([np.zeros_like(directions), directions], -1)
    return scene.count_intersections(_tensor(rays)).numpy()


def closest_points(scene: "open3d.t.geometry.RaycastingScene", points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the scene's surfaces nearest to `points` (N, 3), and their triangles' indices (N,)."""
    nearest = scene.compute_closest_points(_tensor(points))
    return nearest["points"].numpy(), nearest["primitive_ids"].numpy()


def surface_distance(scene: "open3d.t.geometry.RaycastingScene", points: np.ndarray) -> np.ndarray:
    """Return the unsigned distances of `points` (N, 3) to the scene's surfaces, of shape (N,), float32."""
    return scene.compute_distance(_tensor(points)).numpy()


def cast_at_geoms(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    origin: np.ndarray,
    directions: np.ndarray,
    groups: Sequence[int] | None = None,
    cutoff: float = 1e6,
    normals: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Cast rays from one origin (3,) along `directions` (N, 3) at a model's geoms, with `mj_multiRay`.

    `groups` are the geom groups that count, None for all. `normals` (N, 3) is filled if given. Returns the
    ids of the geoms that were hit first, of shape (N,), int32, -1 for none, and the distances in lengths of the
    direction, of shape (N,), float64.
    """
    geoms, distances = np.full(len(directions), -1, np.int32), np.zeros(len(directions))
    shown = None if groups is None else np.isin(np.arange(mujoco.mjNGROUP), groups).astype(np.uint8)
    if len(directions):
        flat = np.ascontiguousarray(directions, float).reshape(-1)
        origin, out = np.array(origin, float), None if normals is None else normals.reshape(-1)
        mujoco.mj_multiRay(model, data, origin, flat, shown, True, -1, geoms, distances, out, len(directions), cutoff)
    return geoms, distances


def _tensor(values: np.ndarray, dtype: type = np.float32) -> "open3d.core.Tensor":
    import open3d

    return open3d.core.Tensor.from_numpy(np.ascontiguousarray(values, dtype))

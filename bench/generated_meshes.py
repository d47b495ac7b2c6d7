"""Good and bad answers of image-to-3D services, and which of them the twin takes.

    python -m bench.generated_meshes [--tables N] [--first N] [--library PATH ...]

Each object of a drawn table is answered by its own mesh, turned, rescaled and a little wrong as a service's is, and by
one mesh that is spoilt in one of the ways that such services were seen to fail. A good one should be taken, a bad one
refused with the reason. Tables from --first 100 on were not looked at while the limits were chosen.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

from bench import twin_drawing
from pipeline.assets import Asset, Library
from pipeline.assets.reconstruct.generated_asset import size_factor
from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.scene.mjcf import mesh_export
from pipeline.scene.observed_object import ObservedObject, observe_objects
from pipeline.scene.reconstruction import fit_generated, why_implausible
from pipeline.segmentation import Segment

OBJECTS_PER_TABLE = 5
FORM_ERROR = 0.04
"""Standard deviation of a good answer's error along each axis, as a share of the object's size there."""


def half(mesh: trimesh.Trimesh, rng: np.random.Generator, camera: np.ndarray, other: trimesh.Trimesh):
    """Cut off along a random vertical plane, and closed there."""
    angle = rng.uniform(0, 2 * np.pi)
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    cut = mesh.copy()
    cut.vertices -= np.outer((cut.vertices @ out).clip(0), out)
    return cut


def squashed(mesh, rng, camera, other):
    return _scaled(mesh, rng, 0.35)


def stretched(mesh, rng, camera, other):
    return _scaled(mesh, rng, 2.6)


def another(mesh, rng, camera, other):
    return other.copy()


def relief(mesh, rng, camera, other):
    """Only what the camera saw, as a picture of no depth."""
    flat = mesh.copy()
    away = np.array([*camera[:2], 0.0]) / np.linalg.norm(camera[:2])
    flat.vertices -= 0.92 * np.outer(flat.vertices @ away, away)
    return flat


def on_a_slab(mesh, rng, camera, other):
    slab = trimesh.creation.box([*(2.2 * mesh.extents[:2]), 0.06 * mesh.extents[2]])
    slab.apply_translation([*mesh.bounds.mean(0)[:2], mesh.bounds[0, 2]])
    return trimesh.util.concatenate([mesh, slab])


def twice(mesh, rng, camera, other):
    copy = mesh.copy()
    copy.apply_translation([1.1 * mesh.extents[0], 0, 0])
    return trimesh.util.concatenate([mesh, copy])


def blob(mesh, rng, camera, other):
    return trimesh.creation.icosphere(3).apply_scale(mesh.extents.max() / 2)


def with_floaters(mesh, rng, camera, other):
    parts = [mesh]
    for _ in range(6):
        ball = trimesh.creation.icosphere(2).apply_scale(0.12 * mesh.extents.max())
        parts.append(ball.apply_translation(mesh.bounds.mean(0) + rng.normal(size=3) * mesh.extents.max()))
    return trimesh.util.concatenate(parts)


def shell(mesh, rng, camera, other):
    """Only the faces towards the camera."""
    facing = mesh.face_normals @ (camera / np.linalg.norm(camera)) > 0.05
    return mesh.submesh([np.flatnonzero(facing)], append=True)


def _scaled(mesh: trimesh.Trimesh, rng: np.random.Generator, by: float) -> trimesh.Trimesh:
    factors = np.ones(3)
    factors[rng.integers(2)] = by
    return mesh.copy().apply_transform(np.diag([*factors, 1]))


SPOILT: tuple[Callable, ...] = (
    half, squashed, stretched, another, relief, on_a_slab, twice, blob, with_floaters, shell
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    assets = [a for a in Library.open(arguments.library) if a.model is None]
    counts: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.first, arguments.first + arguments.tables):
            counts += judge_table(assets, number, Path(folder))
    for kind in ("good", *(spoil.__name__ for spoil in SPOILT)):
        refused, taken = counts[kind, True], counts[kind, False]
        print(f"{kind:14} refused {refused} of {refused + taken}")
    return 0


def judge_table(assets: list[Asset], number: int, folder: Path) -> Counter[tuple[str, bool]]:
    """Return how often answers of each kind were refused (True) and taken (False) on one drawn table."""
    rng = np.random.default_rng([38, number])
    chosen = [assets[k] for k in rng.choice(len(assets), OBJECTS_PER_TABLE, replace=False)]
    counts: Counter[tuple[str, bool]] = Counter()
    observed_objects, true = observe_table(chosen, number, rng, folder / f"table_{number}")
    for k, observed in enumerate(observed_objects):
        placement = true[observed.segment.id]
        mesh = _own_mesh(placement.mesh, placement.size)
        camera = placement.world_from_object.rotation.T @ (
            observed.observation.support.world_from_camera[:3, 3] - placement.world_from_object.pos
        )
        others = [a for a in assets if a.category != placement.category]
        another_one = others[rng.integers(len(others))]
        spoil = SPOILT[(OBJECTS_PER_TABLE * number + k) % len(SPOILT)]
        spoilt = spoil(mesh, rng, camera, _own_mesh(another_one.mesh, another_one.size))
        for kind, answer in (("good", _nearly(mesh, rng)), (spoil.__name__, spoilt)):
            asset = _as_asset(answer, observed, assets[0], folder / f"{number}_{k}_{kind}.obj")
            why = why_implausible(asset, fit_generated(observed, asset), observed)
            counts[kind, bool(why)] += 1
            print(f"{number:3} {placement.asset_id:26} {kind:14} {why or 'taken'}", flush=True)
    return counts


def observe_table(chosen: list[Asset], number: int, rng: np.random.Generator, folder: Path):
    """Return the objects of a drawn table as they were observed, and their true placements by segment id."""
    recipe = twin_drawing.random_recipe("lying" if number % 3 == 2 else "apart", rng)
    scene = twin_drawing.arrange_scene(recipe.name, recipe, chosen, rng)
    twin_drawing.photograph_scene(scene, recipe, rng, folder, True)
    frame, support = load(folder), find_support(load(folder))
    labels = np.asarray(Image.open(folder / "truth" / "masks.png"))
    true = {p.segment_id: p for p in scene.placements if (labels == p.segment_id).sum() > 400}
    segments = [Segment(id, labels == id) for id in true]
    described = describe_all(frame, support, segments)
    return observe_objects(Observation(frame, support), segments, described, ()), true


def _nearly(mesh: trimesh.Trimesh, rng: np.random.Generator) -> trimesh.Trimesh:
    return mesh.copy().apply_transform(np.diag([*rng.normal(1, FORM_ERROR, 3), 1]))


def _own_mesh(path: Path, size: np.ndarray) -> trimesh.Trimesh:
    mesh = mesh_export.read_mesh(path).copy()
    mesh.apply_translation(-mesh.bounds.mean(0))
    return mesh.apply_scale(size / mesh.extents)


def _as_asset(mesh: trimesh.Trimesh, observed: ObservedObject, template: Asset, path: Path) -> Asset:
    """Return the asset that an import of a service's mesh makes: centred, of about the measured size."""
    mesh = trimesh.Trimesh(mesh.vertices, mesh.faces)
    mesh.apply_translation(-mesh.bounds.mean(0))
    mesh.apply_scale(size_factor(mesh.extents, np.nan_to_num(observed.description.attributes.size)))
    mesh.export(path)
    return replace(template, id="made", mesh=path, size=mesh.extents, collision=(), digest=path.stem, folder=None)


if __name__ == "__main__":
    sys.exit(main())

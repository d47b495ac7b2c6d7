"""Brings assets of a library into a twin: upright, where there is room, and where such an object would stand."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.assets import Asset
from pipeline.assets.mesh_files import hull_fill, shape_of
from pipeline.description.colour import name_colour
from pipeline.geometry import Pose
from pipeline.planner.language.lexicon import class_members
from pipeline.scene import Placement, Scene, SceneError
from pipeline.scene.appearance.recolour import surface_colours
from pipeline.scene.settle import settle
from pipeline.simulation import free_space
from pipeline.simulation.objects import Object, Region, hull
from pipeline.variation.varied_scene import as_object

LAST_ID = 65_000
"""Segment id of the first object that is brought, the next one's is one less; those of masks are numbered from 1."""
MAX_BROUGHT = 1000


@dataclass(frozen=True, eq=False)
class Brought:
    """A twin with further objects."""

    scene: Scene
    names: tuple[str, ...]
    """Of the objects that were brought, in order."""
    left_out: tuple[str, ...] = ()
    """Why an asset was not brought, one sentence each."""


def bring(scene: Scene, assets: Sequence[Asset]) -> Brought:
    """Return the twin with these assets, each in its usual size; one that has no place or would not stand is left out.

    The objects of the photograph stay where they are. Raises SceneError.
    """
    placements, names, left_out = list(scene.placements), [], []
    for asset in assets:
        xy = place_for(asset, placements, scene)
        if xy is None:
            left_out.append(f"{asset.name}: there is no free place on the table")
            continue
        placed = _placement(asset, xy, placements)
        if not _stands(placed, replace(scene, placements=(*placements, placed))):
            left_out.append(f"{asset.name}: it does not stand where it was put")
            continue
        placements.append(placed)
        names.append(placed.name)
    return Brought(replace(scene, placements=tuple(placements)), tuple(names), tuple(left_out))


def place_for(asset: Asset, placements: Sequence[Placement], scene: Scene) -> np.ndarray | None:
    """Return where on the table an asset would stand, (2,) in metres; None without a free place.

    That is a hand's breadth from the nearest object of its own kind, such as another tool, else from any object; a tall
    one not in front of others, as seen by the camera.
    """
    obstacles = [as_object(p) for p in placements]
    radius = float(np.hypot(*asset.size[:2]) / 2)
    # Kept free around it
    places = free_space.free_places(Region(hull(scene.table)), [*obstacles, *scene.shelves], radius, 0.02)
    if not len(places):
        return None
    if not obstacles:
        return places[np.linalg.norm(places - Region(hull(scene.table)).centre, axis=1).argmin()]
    kinds = kinds_of(asset.category, asset.name)
    related = [o for o, p in zip(obstacles, placements, strict=True) if kinds & kinds_of(p.category, p.name)]
    gap = free_space.clearance(places, related or obstacles) - radius
    # Distance to the object beside which it stands, as on a table in use
    cost = np.abs(gap - 0.06)
    # Objects from this height on stand behind lower ones
    if asset.size[2] >= 0.15:
        cost += 0.5 * _hidden(places, radius, obstacles, float(asset.size[2]), scene)
    return places[cost.argmin()]


def kinds_of(*texts: str) -> frozenset[str]:
    """Return the classes that words belong to, such as "tool"; the words themselves where they belong to none."""
    words = {word for text in texts for word in re.findall(r"[a-z]+", text.lower())}
    found = {name for name, members in class_members().items() if members & words}
    return frozenset(found or words)


def _hidden(places: np.ndarray, radius: float, obstacles: Iterable[Object], height: float, scene: Scene) -> np.ndarray:
    """Return how many lower objects an object at each place (N, 2) would hide from the camera, of shape (N,)."""
    camera = np.asarray(scene.world_from_camera)[:3, 3]
    hidden = np.zeros(len(places))
    for other in obstacles:
        sight = other.position[:2] - camera[:2]
        length = float(np.linalg.norm(sight)) or 1.0
        along = (places - camera[:2]) @ sight / length
        aside = np.abs((places - camera[:2]) @ np.array([-sight[1], sight[0]])) / length
        hidden += (along < length) & (aside < radius + other.radius) & (other.top < height)
    return hidden


def _placement(asset: Asset, xy: np.ndarray, placements: Sequence[Placement]) -> Placement:
    taken = {name for p in placements for name in (p.name, *p.aliases)}
    pose = Pose(np.array([*xy, asset.size[2] / 2]), np.array([1.0, 0, 0, 0]))
    return brought_object(asset, _free_name(asset.name or asset.id, taken), pose, placements)


def brought_object(asset: Asset, name: str, pose: Pose, placements: Sequence[Placement]) -> Placement:
    """Return an object of the library at a pose, world_from_object, beside those that are there."""
    colour, rgb = name_colour(surface_colours(asset.mesh))
    ids = [p.segment_id for p in placements if p.segment_id > LAST_ID - MAX_BROUGHT]
    return Placement(
        name=name, segment_id=min(ids, default=LAST_ID + 1) - 1, asset_id=asset.id, scale=1.0, size=asset.size,
        world_from_object=pose, mesh=asset.mesh, collision=asset.collision, mass=asset.mass, friction=asset.friction,
        category=asset.category, shape=shape_of(asset), fill=hull_fill(asset.mesh), colour=colour, rgb=rgb,
        container=asset.container, mass_range=asset.mass_range, mass_source=asset.mass_source,
        friction_range=asset.friction_range, friction_source=asset.friction_source, licence=asset.licence,
        provenance=asset.provenance,
    )  # fmt: skip


def _free_name(text: str, taken: Iterable[str]) -> str:
    """Return a text as an identifier that is not taken."""
    words = re.sub(r"\W+", "_", text.lower()).strip("_0123456789") or "object"
    name, number = words, 2
    while name in taken:
        name, number = f"{words}_{number}", number + 1
    return name


def _stands(placed: Placement, scene: Scene) -> bool:
    """Whether an object rests where it was put, without help."""
    try:
        settled, reports = settle(scene)
    except SceneError:
        return False
    after = next(p for p in settled.placements if p.name == placed.name)
    moved = float(np.linalg.norm(after.world_from_object.pos - placed.world_from_object.pos))
    # An object that moves farther until it rests does not stand where it was put
    return moved < 0.01 and not any(r.name == placed.name for r in reports) and not (after.foot or after.fixed)

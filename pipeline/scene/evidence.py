"""Evidence that the twin shows the photograph: what it explains, whether depth, colour and sizes agree; and doubts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

import cv2
import mujoco
import numpy as np

from pipeline.assets import Library
from pipeline.description import Description
from pipeline.frame import Frame, Observation, doubt_registration, likely_grounds, measure_agreement
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.frame.surfaces import local_points
from pipeline.geometry import inside_polygon
from pipeline.matching import Match
from pipeline.scene.fidelity import ObjectFidelity, cast_camera_rays, object_fidelity
from pipeline.scene.mjcf import builder
from pipeline.scene.place_objects import SceneInputs
from pipeline.scene.placement import Placement, Scene

MAX_RAYS = 60_000
"""Rays of the comparison: an object of a fortieth of the picture's width gets fifty; they take 0.02 s."""
GROUND_TOLERANCE = 0.01
"""Height in metres, and relative to the distance, up to which a pixel shows the ground."""

MIN_EXPLAINED = 0.55
"""Share of the near pixels that must be explained: 0.7 to 1 on tables as they are, at most 0.48 with a wall as the
ground."""
MIN_EXPLAINED_ALL_SURE = 0.4
"""The same if what stands on the ground is explained and no object is doubtful: backrests and walls of bins are beside
it. Chosen after one of the frames kept aside (0.48) was doubted in the first run."""
ALL_STANDING = 0.8
"""Share of what stands on the ground from which it is explained."""
MIN_STANDING = 0.5
"""Share of what stands on the ground that must be explained."""
MAX_MISSING = 0.2
"""Share of the objects from which too many are missing: with half of the masks left out, 0.2 to 0.6."""
MAX_SIZE_RATIO = 1.6
"""Factor, or its inverse, from which measured sizes are unusual: 0.65 to 1.04 on frames as they are."""

Term = Literal["edges", "ground", "explained", "sizes", "depth", "objects"]
DOUBTED: dict[Term, str] = {"edges": "registration", "sizes": "unit"}
"""What a term makes doubtful (`Doubt.what`), where that is not its name."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """How well the twin explains the photograph."""

    explained: float
    """Share of the pixels, with known depth and about as near as the ground, that the ground or an object explains."""
    standing: float
    """Share of the pixels of what stands on the ground that an object explains; 1 if there are none."""
    missing: int
    """Number of clusters of pixels that stand on the ground and that no object explains."""
    depth_error: float | None
    """Median difference of depth in metres between photograph and twin where an object shows; None without any."""
    edges: float | None
    """Agreement of depth edges and colour edges; 1 is chance. None if there are too few edges."""
    grounds: tuple[float, ...]
    """Probabilities of the surfaces that may be the ground, the chosen one first. Empty if a person chose it."""
    size_ratio: float | None
    """Measured size relative to the library's assets that look like the objects; None if there is nothing alike."""
    object_count: int
    objects: Mapping[str, str]
    """Why an object is doubtful, by its name; others are left out."""
    unexplained: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), bool))
    """Pixels that should be explained and are not, of shape (H / step, W / step), bool."""

    def to_json(self) -> dict[str, Any]:
        """Return all but the picture as JSON values."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "unexplained"}
        values = {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
        return values | {"grounds": [round(one, 4) for one in self.grounds], "objects": dict(self.objects)}

    def fit(self) -> dict[str, float | None]:
        """Return the figures that other tools read: {explained, depth_m, edges, ground}.

        `edges` is the share of the agreeing edges that chance does not explain, from 0 to 1; `ground` is the
        probability of the ground, 1 if a person chose it. None where there is nothing to measure.
        """
        edges = None if self.edges is None else round(max(0.0, 1 - 1 / max(self.edges, 1e-9)), 4)
        depth = None if self.depth_error is None else round(self.depth_error, 4)
        ground = round(self.grounds[0], 4) if self.grounds else 1.0
        return {"explained": round(self.explained, 4), "depth_m": depth, "edges": edges, "ground": ground}

    @classmethod
    def from_json(cls, value: Any) -> "Evidence | None":
        """Return the evidence of `to_json`, without the picture; None for anything else."""
        try:
            numbers: dict[str, Any] = {name: float(value[name]) for name in ("explained", "standing")}
            may_lack = ("depth_error", "edges", "size_ratio")
            numbers |= {name: None if value[name] is None else float(value[name]) for name in may_lack}
            numbers |= {name: int(value[name]) for name in ("missing", "object_count")}
            grounds = tuple(float(one) for one in value["grounds"])
            objects = {str(name): str(why) for name, why in value["objects"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return cls(**numbers, grounds=grounds, objects=objects)


def measure_evidence(inputs: SceneInputs, scene: Scene, model: mujoco.MjModel) -> Evidence:
    """Return how well the settled scene explains the photograph that it was made from. Needs no OpenGL.

    `model` is the scene's, compiled.
    """
    frame = inputs.observation.frame
    seen, twin = _seen(inputs.observation, scene), _drawn(frame, scene, model)
    masks = {segment.id: segment.mask[:: seen.step, :: seen.step] for segment in inputs.segments}
    own = {p.name: twin.bodies == model.body(p.name).id for p in scene.placements}
    fidelities = {
        p.name: object_fidelity(p.name, p.segment_id, masks[p.segment_id], own[p.name], seen.depth, twin.depth)
        for p in scene.placements
        if p.segment_id in masks
    }
    # Difference of depth in metres, and relative to the distance, up to which an object explains a pixel
    agrees = _nearest_difference(twin.depth, seen.depth) < 0.02 * seen.tolerance
    by_object = (twin.bodies > 0) & agrees
    compared = (twin.bodies > 0) & (seen.depth > 0)
    missing = seen.standing & ~by_object & ~np.any([masks[f.segment_id] for f in fidelities.values()] or [False], 0)
    typical = float(np.median([one.sum() for one in own.values()])) if own else 0.0
    return Evidence(
        explained=_share(by_object | twin.walls & agrees | seen.ground, seen.near),
        standing=_share(by_object, seen.standing),
        missing=_count_objects(missing, seen.height, typical),
        depth_error=float(np.median(np.abs(twin.depth - seen.depth)[compared])) if compared.any() else None,
        edges=keep_with_frame(frame, "agreement", lambda: measure_agreement(frame.rgb, frame.depth)),
        grounds=() if frame.ground_pixel else tuple(one.probability for one in likely_grounds(frame)),
        size_ratio=size_ratio(inputs.descriptions, inputs.matches, inputs.library),
        object_count=len(scene.placements),
        objects={p.name: why for p in scene.placements if (why := _object_doubt(p, fidelities))},
        unexplained=seen.near & ~seen.ground & ~by_object & ~(twin.walls & agrees),
    )


class _Seen(NamedTuple):
    """What the photograph shows at every step-th pixel; arrays of shape (h, w)."""

    step: int
    depth: np.ndarray
    height: np.ndarray
    """Metres above the ground: the shelf under a pixel, else the table."""
    tolerance: np.ndarray
    """Factor by which tolerances grow with the distance."""
    ground: np.ndarray
    near: np.ndarray
    """Pixels about as near as the ground."""
    standing: np.ndarray
    """Pixels of what stands on the ground."""


class _Drawn(NamedTuple):
    """The twin through the same pixels."""

    bodies: np.ndarray
    """Ids of the objects' root bodies; 0 for the ground, which includes shelves, and for nothing."""
    walls: np.ndarray
    """Pixels of a bin's walls."""
    depth: np.ndarray


def _seen(observation: Observation, scene: Scene) -> _Seen:
    frame = observation.frame
    step, rays = _rays(frame)
    depth = frame.depth[::step, ::step]
    points, surface, front = local_points(observation.support, rays * depth[..., None], step)
    height, tolerance, known = points[..., 2], np.maximum(1, depth), depth > 0
    ground = known & (front | (np.abs(height) < GROUND_TOLERANCE * tolerance))
    over, distance = np.zeros_like(known), np.float32(0)
    for number, outline in enumerate((scene.table, *(shelf.outline for shelf in scene.shelves))):
        # Margin along the ground's outline, in metres and relative to the root of its area, on which nothing stands:
        # there are walls beside it, and the noise of its edge
        rim = min(0.03, 0.05 * float(np.sqrt(cv2.contourArea(outline.astype(np.float32)))))
        own = known & (surface == number) & inside_polygon(points, outline, rim)
        distance = max(distance, np.median(depth[own & ground])) if (own & ground).any() else distance
        over |= own
    # Distance, relative to that of the ground, up to which pixels are to be explained; rooms begin behind it
    near = known & (depth < 1.3 * distance)
    # 0.5: height above the ground up to which something stands on it; higher are lamps, shelves and robots
    standing = over & (height > GROUND_TOLERANCE * tolerance) & (height < 0.5)
    return _Seen(step, depth, height, tolerance, ground, near, standing)


def _drawn(frame: Frame, scene: Scene, model: mujoco.MjModel) -> _Drawn:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    groups = (0, 1, 2, builder.WALL_GROUP)  # walls are not drawn, but they explain what is seen
    geoms, depth = cast_camera_rays(model, data, _rays(frame)[1], scene.world_from_camera, groups)
    bodies = np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], 0)
    walls = np.isin(bodies, [model.body(wall.name).id for wall in scene.walls])
    bodies[walls | np.isin(bodies, [model.body(shelf.name).id for shelf in scene.shelves])] = 0
    return _Drawn(bodies, walls, depth)


def _rays(frame: Frame) -> tuple[int, np.ndarray]:
    """Return the step between pixels at which there are at most MAX_RAYS, and their rays in camera axes (h, w, 3)."""
    k = frame.intrinsics
    step = max(1, int(np.ceil(np.sqrt(k.width * k.height / MAX_RAYS))))
    return step, k.ray_directions(*np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step)))


def size_ratio(descriptions: Iterable[Description], matches: Iterable[Match], library: Library) -> float | None:
    """Return how many times larger the objects are measured than usual; None if nothing is known of any.

    What is usual a model's range of lengths says, else the assets that look alike.

    A wrong unit of depth changes all objects by one factor. The median over the objects, each the median over its
    candidates weighted by likeness, needs no right match: assets that look alike have similar sizes.
    """
    objects = {one.segment_id: one for one in descriptions if one.is_object}
    lengths = {id: float(max(one.attributes.size)) for id, one in objects.items()}
    said = {id: one.physical.times_too_long(one.attributes.size) for id, one in objects.items() if one.physical}
    ratios = [np.log(ratio) for ratio in said.values()]
    for match in matches:
        if match.segment_id in said:
            continue
        alike = [
            (one.scores.get("picture", 1) * one.scores.get("appearance", 0), one.asset_id) for one in match.candidates
        ]
        alike = [(likeness, id) for likeness, id in alike if likeness > 0 and id in library]
        if alike and lengths.get(match.segment_id):
            ratio = np.log([lengths[match.segment_id] / max(library[id].size) for _, id in alike])
            # Power of the likeness of picture and colours by which candidates are weighted: the most alike decides
            ratios.append(_weighted_median(ratio, np.array([likeness for likeness, _ in alike]) ** 3))
    return float(np.exp(np.median(ratios))) if ratios else None


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _nearest_difference(depth: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return the least difference in metres between a measured depth and the twin's at that pixel and its neighbours.

    The twin's outline may be off by a ray. Where the twin shows nothing, the difference is infinite.
    """
    depth = np.pad(np.where(depth > 0, depth, np.inf), 1, constant_values=np.inf)
    h, w = measured.shape
    return np.min([np.abs(depth[y : y + h, x : x + w] - measured) for y in range(3) for x in range(3)], axis=0)


def _count_objects(mask: np.ndarray, height: np.ndarray, typical: float) -> int:
    """Return the number of clusters in a mask (h, w) that stand on the ground and are as large as objects.

    `typical` is the median number of pixels of the objects.
    """
    solid = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=4)
    # Rays, and size relative to the median object, from which a cluster may be an object itself
    least = max(25, 0.1 * typical)
    large = [labels == id for id in range(1, count) if stats[id, cv2.CC_STAT_AREA] >= least]
    # 0.1: height of its lower end up to which a cluster of pixels stands on the ground; higher, an arm hangs into view
    return sum(bool(np.percentile(height[one], 5) < 0.1) for one in large)


def _object_doubt(p: Placement, fidelities: Mapping[str, ObjectFidelity]) -> str:
    """Return why an object is doubtful; empty if it is not."""
    # Length from which an object is more likely a wall, a person or a robot; as in frame/support_candidates.py
    if max(p.size) > 0.45:
        return f"{p.name} is {max(p.size):.2f} m long: rather a wall, an arm or a robot than an object"
    low, high = p.length_range
    # Share by which nine of ten lengths are measured wrongly at most (docs/results/twin.md)
    if high and p.machine_pose is None and not 0.88 * low <= max(p.size) <= 1.12 * high:
        return (
            f"{p.name} is {100 * max(p.size):.0f} cm long, but such objects are {100 * low:.3g} to {100 * high:.3g} "
            f"cm, says {p.length_source}: check its mask and the unit of the depth"
        )
    if p.name in fidelities and fidelities[p.name].agreement == "off":
        return fidelities[p.name].verdict
    return ""


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    """Return the share of the pixels of `whole` that are in `part`; 1 if there are none."""
    return float(part[whole].mean()) if whole.any() else 1.0


def doubts(e: Evidence) -> dict[Term, str]:
    """Return why the twin may not show the photograph, by what speaks against it, each as "reason; cure"."""
    found: dict[Term, str] = {}
    if registration := doubt_registration(e.edges):
        found["edges"] = registration.line
    # Probability of the ground below which it is not twice as likely as all other surfaces
    if e.grounds and e.grounds[0] < (2 / 3):
        found["ground"] = f"the ground is only {e.grounds[0]:.0%} certain; choose it on the Frame page"
    if not e.object_count:
        found["explained"] = (
            "nothing stands on the ground that was found; choose another ground on the Frame page, or add masks"
        )
    elif e.explained < (MIN_EXPLAINED_ALL_SURE if e.standing > ALL_STANDING and not e.objects else MIN_EXPLAINED):
        found["explained"] = (
            f"the twin explains only {e.explained:.0%} of the pixels about as near as the ground; choose another "
            "ground on the Frame page, or add masks"
        )
    elif e.missing >= MAX_MISSING * (e.missing + e.object_count):
        found["explained"] = f"objects that the twin may lack: {e.missing}; add their masks on the Masks page"
    elif e.standing < MIN_STANDING:
        found["explained"] = (
            f"the twin explains only {e.standing:.0%} of what stands on the ground; correct masks, assets and poses"
        )
    if e.size_ratio is not None and abs(np.log(e.size_ratio)) > np.log(MAX_SIZE_RATIO):
        found["sizes"] = (
            f"the objects are measured {e.size_ratio:.2g} times as long as what looks alike; check depth_scale and "
            "the unit of the depth"
        )
    # Median difference of depth from which the objects are elsewhere: at most 0.014 m on frames as they are
    if e.depth_error is not None and e.depth_error > 0.02:
        found["depth"] = f"the objects are {100 * e.depth_error:.0f} cm off in depth; correct their masks or poses"
    # Share of doubtful objects from which the twin is doubtful
    if e.object_count and len(e.objects) >= 0.5 * e.object_count:
        found["objects"] = (
            f"{len(e.objects)} of {e.object_count} objects are doubtful; correct their masks, "
            "or mark them as no objects"
        )
    return found


def summarise(e: Evidence) -> str:
    """Return one line about how well the twin explains the photograph."""
    figures = [f"the twin explains {e.explained:.0%} of the near pixels"]
    if e.depth_error is not None:
        figures.append(f"{100 * e.depth_error:.1f} cm off in depth")
    if e.edges is not None:
        figures.append(f"edges of depth and colour agree {e.edges:.1f} times as well as by chance")
    figures.append(f"ground {e.grounds[0]:.0%} certain" if e.grounds else "ground chosen by a person")
    if e.size_ratio is not None:
        figures.append(f"sizes {e.size_ratio:.2g} times the usual")
    if e.objects:
        figures.append(f"{len(e.objects)} of {e.object_count} objects doubtful")
    return "; ".join(figures)

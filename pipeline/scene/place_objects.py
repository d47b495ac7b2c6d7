"""Place every observed object in the scene: upright or lying, on the table, a shelf or another object.

An object that was matched gets its asset, registered to the measured points. Any other is reconstructed from the view.
A person's override wins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.categories import GUESSED
from pipeline.assets.mesh_files import hull_fill, shape_of
from pipeline.assets.reconstruct.generated_asset import find_generated
from pipeline.description import Description
from pipeline.description.measure import hanging_height
from pipeline.description.physical_properties import PhysicalEstimate
from pipeline.frame import Frame, Observation, Support
from pipeline.frame.surfaces import lowered
from pipeline.geometry import Pose, transform
from pipeline.matching import Match
from pipeline.scene.appearance.recolour import seen_colour
from pipeline.scene.bin_walls import find_walls
from pipeline.scene.hidden_sides import fit_together
from pipeline.scene.mjcf.table_edge import seen_margins
from pipeline.scene.observed_object import ObservedObject, match_score, observe_objects
from pipeline.scene.overrides import Override, override_scene_physics
from pipeline.scene.placement import SHELF_NAME, MachinePose, Placement, Scene, Shelf
from pipeline.scene.pose_search import (
    GOOD_COST_M,
    PoseFit,
    cached_fit,
    is_unsupported,
    refit_pose,
    search_pose,
)
from pipeline.scene.reconstruction import fit_generated, reconstruct_object, why_implausible
from pipeline.scene.rotation_from_print import choose_rotation, choose_yaw
from pipeline.scene.support_relations import (
    add_props,
    candidate_heights,
    extend_support,
    object_under,
    support_height,
    supporting_object,
)
from pipeline.segmentation import Segment

CLOSE_COST_M = 0.002
"""An asset that fits this closely is never rejected."""
REJECT_RATIO = 0.5
"""Reject the matched asset if a primitive's fit cost is below this fraction of the asset's."""
REJECT_RATIO_HOLLOW = 0.3
"""The same for containers: a primitive would lose the inside."""
REJECT_RATIO_SCALED = 0.75
"""The same for an asset that fits in another size only."""
CONFIDENT_SCORE = 0.9
"""Match score above which a primitive that fits poorly itself does not reject the asset."""
RECOLOURED = "recoloured to the photograph"
"""Added to the provenance of an asset whose texture is tinted."""
AFFORDANCE_MARGIN_M = 0.02
"""Metres beyond an object's box up to which a point that a model pointed at is on the object."""
PRIMITIVE_METHODS = {"box": "box", "cube": "box", "cylinder": "cylinder", "sphere": "ball"}
"""Reconstruction methods of the primitives that can reject an asset, by described shape."""


@dataclass(frozen=True, eq=False)
class SceneInputs:
    """Everything that the scene is made from."""

    observation: Observation
    segments: Sequence[Segment]
    descriptions: Sequence[Description]
    matches: Sequence[Match]
    library: Library
    folder: Path
    """Reconstructed assets are written below this folder."""
    overrides: Mapping[int, Override] = field(default_factory=dict)
    """A person's corrections, by segment id."""
    cache: Path | None = None
    """Folder in which pose fits are memoised; None to compute them all."""
    walls: bool = True
    """Whether the walls of a bin are looked for."""

    def observed_objects(self) -> tuple[ObservedObject, ...]:
        """Return the segments that are objects, with their points."""
        return observe_objects(self.observation, self.segments, self.descriptions, self.matches)

    def override(self, segment_id: int) -> Override:
        return self.overrides.get(segment_id, Override())


def place_objects(
    inputs: SceneInputs, placed_ahead: Callable[[ObservedObject, bool], Placement | None] = lambda *_: None
) -> Scene:
    """Return the twin as it was observed, not yet settled.

    `placed_ahead(observed, is_alone)` returns the placement of an object if `place_object` was called for it before.
    It is called for each object, and may return one only if the object `is_alone`: without a correction, and with no
    other object below.
    """
    observed_objects = inputs.observed_objects()
    frame, support = inputs.observation.frame, inputs.observation.support
    shelves = tuple(_shelf(frame, one, number) for number, one in enumerate(support.shelves, 1))
    placements: dict[int, Placement] = {}
    # supporting objects are placed before what they support
    for observed in sorted(observed_objects, key=lambda o: o.bottom if len(o.points) else 0.0):
        override = inputs.override(observed.segment.id)
        below = tuple(placements.values())
        supporter = supporting_object(observed, below)
        placement = placed_ahead(observed, supporter is None and observed.segment.id not in inputs.overrides)
        placement = placement or place_object(inputs, observed, below, override)
        if supporter is None and not any(shelf.carries(placement) for shelf in shelves):
            supporter = object_under(placement, below)
        hangs = placement.fixed
        if supporter is not None and override.fixed_pose is None and supporter.asset_id is None and not hangs:
            placements[supporter.segment_id] = extend_support(supporter, placement)
        placements[observed.segment.id] = placement
    scene = Scene(
        world_from_camera=support.world_from_camera,
        table=support.polygon,
        table_rgb=_median_colour(frame, support),
        placements=add_props(tuple(placements[o.segment.id] for o in observed_objects), shelves),
        intrinsics=frame.intrinsics,
        shelves=shelves,
        walls=find_walls(inputs.observation, inputs.segments) if inputs.walls else (),
        table_margins=seen_margins(frame, support),
    )
    scene = fit_together(scene, {observed.segment.id: observed.points for observed in observed_objects})
    return override_scene_physics(scene, inputs.overrides)


def place_object(
    inputs: SceneInputs, observed: ObservedObject, below: tuple[Placement, ...], override: Override
) -> Placement:
    """Return the placement of one object, on the table or on one of the placements `below`."""
    frame, support = observed.observation.frame, observed.observation.support
    in_air = hanging_height(frame, lowered(support), observed.segment.mask)
    height = support_height(observed, below) if in_air is None else support.height + in_air

    def reconstructed(method: str) -> tuple[Asset, PoseFit]:
        return reconstruct_object(observed, method, height, inputs.folder, inputs.cache)

    def placed(asset: Asset, asset_id: str | None, fit: PoseFit) -> Placement:
        final = _overridden_fit(fit, override, asset, observed, candidate_heights(observed, below), inputs.cache)
        placement = _placement(observed, asset, asset_id, fit, final)
        if asset.model is None:
            # a person may have put it where the photograph does not show it
            points = [
                _affordances(observed, shown, placement) for shown in ((final,) if override.refit else (final, fit))
            ]
            placement = replace(placement, affordances={name: p for found in points[::-1] for name, p in found.items()})
        if in_air is not None and override.fixed_pose is None:
            placement = replace(placement, fixed=True)
        if asset_id is None or asset.model is not None:
            return placement
        recolour = _recolour(observed, asset, override)
        note = "; ".join(filter(None, (placement.provenance, RECOLOURED))) if recolour else placement.provenance
        return replace(placement, recolour=recolour, provenance=note)

    match, overruled = observed.match, ""
    if match is not None and match.asset_id is not None and override.method is None:
        asset = inputs.library[match.asset_id]
        fit = fit_asset(observed, asset, match.scale, below, inputs.cache)
        overruled = _why_rejected(observed, match, asset, fit, candidate_heights(observed, below), reconstructed)
        if not overruled:
            return placed(asset, asset.id, fit)
    if override.method in (None, "provider"):
        generated = find_generated(inputs.observation.frame, observed.segment, inputs.folder)
        if generated is not None:
            fit = fit_generated(observed, generated, below, inputs.cache)
            why = why_implausible(generated, fit, observed)
            if not why:
                return placed(generated, None, fit)
            overruled = f"what the image-to-3D service made is not used: {why}"
    asset, fit = reconstructed(override.method or "best")
    return replace(placed(asset, None, fit), overruled=overruled)


def fit_asset(
    observed: ObservedObject,
    asset: Asset,
    scale: float = 1.0,
    below: tuple[Placement, ...] = (),
    cache: Path | None = None,
) -> PoseFit:
    """Return the fit of an asset as `search_pose` finds it, rotated so that its colours agree with the photograph."""
    fit = search_pose(observed, asset, scale, below, cache)
    return (choose_yaw if asset.joints else choose_rotation)(fit, asset, observed, cache)


def _why_rejected(
    observed: ObservedObject,
    match: Match,
    asset: Asset,
    fit: PoseFit,
    heights: list[float],
    reconstructed: Callable[[str], tuple[Asset, PoseFit]],
) -> str:
    """Return why the object cannot be the matched asset: a primitive explains the points much better. Empty if it can.

    What a person chose stands, and so does what a model is sure of.
    """
    shape = observed.description.attributes.shape
    accepted = fit.cost < GOOD_COST_M and fit.scale == 1 and not is_unsupported(fit, asset, heights)
    if is_chosen_surely(match) or accepted or shape not in PRIMITIVE_METHODS:
        return ""
    _, primitive = reconstructed(PRIMITIVE_METHODS[shape])
    ratio = REJECT_RATIO_HOLLOW if asset.container else REJECT_RATIO if fit.scale == 1 else REJECT_RATIO_SCALED
    # where neither fits, the depth is poor and does not speak against a confident match
    poor_depth = match_score(match) > CONFIDENT_SCORE and primitive.cost > CLOSE_COST_M
    if fit.cost <= CLOSE_COST_M or primitive.cost >= fit.cost * ratio or poor_depth:
        return ""
    who = "measured as alike" if match.source == "measured" else f"chosen by {match.source}"
    return (
        f"{asset.name}, {who}, lies {100 * fit.cost:.1f} cm from the measured points, and a {shape} "
        f"{100 * primitive.cost:.1f} cm"
    )


def is_chosen_surely(match: Match) -> bool:
    """Whether a person chose the asset of a match, or a model that is sure of it."""
    sure = next((c.scores.get("model", 0.0) for c in match.candidates if c.asset_id == match.asset_id), 0.0)
    # Confidence of a model from which its choice stands against the shape
    return match.source == "human" or sure >= 0.8


def _overridden_fit(
    fit: PoseFit, override: Override, asset: Asset, observed: ObservedObject, heights: list[float], cache: Path | None
) -> PoseFit:
    """Return the fit with a person's pose and scale, refitted where asked; the same object if nothing is overridden."""
    scale = fit.scale if override.scale is None else override.scale
    if override.refit:
        if override.pose is None or len(observed.points) < 10:
            return fit
        start, refit_scale = override.pose, override.refit_scale
        evidence = (observed.key, heights, asset.digest, start.matrix, scale, refit_scale)
        return cached_fit(
            cache, ("refit", *evidence), lambda: refit_pose(start, scale, refit_scale, asset, observed, heights)
        )
    if override.pose is not None:
        return PoseFit(override.pose, scale, 0.0)
    if scale == fit.scale:
        return fit
    lift = np.abs(fit.pose.rotation[2]) @ asset.size / 2 * (scale - fit.scale)  # keeps the bottom where it was
    return PoseFit(Pose(fit.pose.pos + np.array([0, 0, lift]), fit.pose.quat_wxyz), scale, 0.0)


def _placement(
    observed: ObservedObject, asset: Asset, asset_id: str | None, machine_fit: PoseFit, fit: PoseFit
) -> Placement:
    measured, scale = observed.description.attributes, fit.scale
    placement = Placement(
        name=observed.description.name,
        segment_id=observed.segment.id,
        asset_id=asset_id,
        scale=scale,
        size=asset.size * scale,
        world_from_object=fit.pose,
        misfit=fit.cost,
        mesh=asset.mesh,
        collision=asset.collision,
        model=asset.model,
        joints=asset.joints,
        mass=asset.mass * scale**3,
        mass_range=(asset.mass_range[0] * scale**3, asset.mass_range[1] * scale**3),
        mass_source=asset.mass_source,
        friction=asset.friction,
        friction_range=asset.friction_range,
        friction_source=asset.friction_source,
        category=asset.category,
        shape=twin_shape(asset, measured.shape),
        fill=hull_fill(asset.mesh),
        colour=measured.colour,
        rgb=measured.rgb,
        container=asset.container,
        licence=asset.licence,
        provenance=asset.provenance,
        machine_pose=None if fit is machine_fit else MachinePose(machine_fit.pose, machine_fit.scale),
    )
    return with_estimate(placement, observed.description.physical)


def with_estimate(p: Placement, estimate: PhysicalEstimate | None) -> Placement:
    """Return the placement with a model's ranges, and with its values where the asset's own are but a guess.

    The estimate is of the real object, whatever the scale of its mesh. A range grows to hold the asset's own value.
    What a person or an earlier estimate said stays, and an articulated asset keeps its model's masses.
    """
    if estimate is None or p.model is not None:
        return p
    p = replace(p, length_range=estimate.length_range, length_source=estimate.source)
    if p.mass_source in GUESSED:
        p = replace(p, mass=estimate.mass, mass_source=estimate.source)
    if p.friction_source in GUESSED:
        p = replace(p, friction=estimate.friction, friction_source=estimate.source)
    if p.mass_source in ("asset", estimate.source):
        ends = _with_value(estimate.mass_range, p.mass)
        p = replace(p, mass_range=ends, mass_range_source=estimate.source)
    if p.friction_source in ("asset", estimate.source):
        ends = _with_value(estimate.friction_range, p.friction)
        p = replace(p, friction_range=ends, friction_range_source=estimate.source)
    return p


def _with_value(ends: tuple[float, float], value: float) -> tuple[float, float]:
    return min(ends[0], value), max(ends[1], value)


def _affordances(observed: ObservedObject, shown: PoseFit, placement: Placement) -> dict[str, np.ndarray]:
    """Return the points of `Placement.affordances`: the described pixels, seen on the object with the pose `shown`.

    A pixel without depth, or whose point is off the object's box, is left out.
    """
    frame, world_from_camera = observed.observation.frame, observed.observation.support.world_from_camera
    points = {}
    for name, pixel in observed.description.affordances.items():
        if (seen := _seen_point(frame, observed.segment.mask, pixel)) is None:
            continue
        own = shown.pose.rotation.T @ (transform(world_from_camera, seen[None])[0] - shown.pose.pos)
        point = own * placement.scale / shown.scale
        if (np.abs(point) <= placement.size / 2 + AFFORDANCE_MARGIN_M).all():
            points[name] = point
    return points


def _seen_point(frame: Frame, mask: np.ndarray, pixel: tuple[float, float]) -> np.ndarray | None:
    """Return the point (3,) in camera axes at a pixel of a mask, its depth the median around; None without depth."""
    x, y = (round(value) for value in pixel)
    if not (0 <= y < mask.shape[0] and 0 <= x < mask.shape[1] and mask[y, x]):
        return None
    around = slice(max(y - 2, 0), y + 3), slice(max(x - 2, 0), x + 3)
    depth = frame.depth[around][mask[around] & (frame.depth[around] > 0)]
    k, z = frame.intrinsics, float(np.median(depth)) if len(depth) else 0.0
    return np.array([(x - k.cx) / k.fx * z, (y - k.cy) / k.fy * z, z]) if z > 0 else None


def twin_shape(asset: Asset, measured: str) -> str:
    """Return the shape of what stands in the twin: a photograph shows one side, from which a can may be a box."""
    own = shape_of(asset)
    is_round = measured in ("cylinder", "sphere") or (measured == "bowl" and asset.container)
    return measured if own == "irregular" and is_round else own


def _recolour(observed: ObservedObject, asset: Asset, override: Override) -> tuple[int, int, int] | None:
    candidates = observed.match.candidates if observed.match else ()
    agreement = next((c.scores.get("colour", 0.0) for c in candidates if c.asset_id == asset.id), 0.0)
    return seen_colour(asset.mesh, observed.description.attributes, agreement, override.recolour)


def _shelf(frame: Frame, surface: Support, number: int) -> Shelf:
    return Shelf(f"{SHELF_NAME}{number}", surface.polygon, surface.height, _median_colour(frame, surface))


def _median_colour(frame: Frame, support: Support) -> tuple[int, int, int]:
    pixels = frame.rgb[support.inliers]
    r, g, b = np.median(pixels, axis=0) if len(pixels) else (150, 140, 130)
    return int(r), int(g), int(b)

"""Where each object stands, from its points: upright or lying, on the table or on what holds it.

An object that the library knows is laid over its points; any other is made from the view. A person's pose wins.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.reconstruct.provided import provided
from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.frame.support import Support
from pipeline.geometry import Pose
from pipeline.matching import Match
from pipeline.scene.fronts import facing
from pipeline.scene.given import Given, weighed
from pipeline.scene.holding import bottoms_of, holder_of, holder_top, propped, reaching_under, under_foot
from pipeline.scene.laying import GOOD, THOROUGH, Effort, Laid, found_again, hangs, laid_over, refitted
from pipeline.scene.making import made
from pipeline.scene.placement import Found, Placement, Scene
from pipeline.scene.registration import Sight
from pipeline.scene.seen import Seen, object_points, things_seen
from pipeline.segmentation import Segment

CLOSE = 0.002
"""Metres: what fits this well is not doubted."""
BELIED = 0.5
"""Share of the asset's cost at which a plain shape explains the points so much better that the asset is not there."""
LIKELY = 0.9
"""Score of a match from which poor depth does not speak against it."""
BELIED_HOLLOW = 0.3
"""The same for what things are put into: a plain shape would lose its inside."""
BELIED_SCALED = 0.75
"""The same for an asset that fits in another size only."""
PLAIN = {"box": "box", "cube": "box", "cylinder": "cylinder", "sphere": "ball"}
"""Shapes that speak against an asset, and how they are made."""


def place(
    frame: Frame,
    support: Support,
    segments: Iterable[Segment],
    descriptions: Iterable[Description],
    matches: Iterable[Match],
    library: Library,
    folder: Path,
    given: Mapping[int, Given] | None = None,
    cache: Path | None = None,
) -> Scene:
    """The twin as it was seen, not yet settled. What is made from the view is written below `folder`.

    Poses found are kept in the folder `cache` where one is given: what did not change is not laid again.
    """
    seen = things_seen(frame, support, segments, descriptions, matches)
    placements: dict[int, Placement] = {}
    for thing in sorted(seen, key=lambda s: s.low if len(s.points) else 0.0):  # what holds comes before what it holds
        wanted = (given or {}).get(thing.segment.id, Given())
        below = tuple(placements.values())
        one = placed(frame, support, thing, library, folder, below, wanted, cache)
        holder = holder_of(thing, below) or under_foot(one, below)
        if holder is not None and wanted.fixed is None and holder.asset_id is None:
            placements[holder.segment_id] = reaching_under(holder, one)
        placements[thing.segment.id] = one
    scene = Scene(
        world_from_camera=support.world_from_camera,
        table=support.polygon,
        table_rgb=_table_colour(frame, support),
        placements=propped(tuple(placements[s.segment.id] for s in seen)),
        intrinsics=frame.intrinsics,
    )
    return weighed(scene, given or {})


def lay(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    asset: Asset,
    scale: float = 1.0,
    below: Iterable[Placement] = (),
    cache: Path | None = None,
    effort: Effort = THOROUGH,
) -> Laid:
    """An asset as it would lie over what was seen of one segment, on the table or on what is already placed `below`.

    In its own size, or scaled about `scale` where that explains the points clearly better. Two seconds at most; found
    again in the folder `cache` where one is given.
    """
    thing = Seen(segment, description, None, object_points(frame, support, segment))
    sight = Sight(thing.points, frame, support.world_from_camera)
    return laid_over(thing, asset, scale, sight, tuple(below), cache, effort)


def placed(
    frame: Frame,
    support: Support,
    thing: Seen,
    library: Library,
    folder: Path,
    below: tuple[Placement, ...],
    given: Given,
    cache: Path | None,
) -> Placement:
    """One object as it was seen, on the table or on what is already placed `below`."""
    sight = Sight(thing.points, frame, support.world_from_camera)
    shape, laid, asset = thing.description.attributes.shape, None, None
    bottom = holder_top(thing, below)

    def make(way: str) -> tuple[Asset, Laid]:
        return made(frame, support, thing, way, bottom, folder, cache)

    if thing.match is not None and thing.match.asset_id is not None and given.way is None:
        asset, scale = library[thing.match.asset_id], thing.match.scale
        laid = laid_over(thing, asset, scale, sight, below, cache)
        laid = facing(laid, asset, thing, sight, cache) if asset.joints else laid
        fits = laid.cost < GOOD and laid.scale == 1 and not hangs(laid, asset, bottoms_of(thing, below))
        sure = thing.match.source == "human" or fits or shape not in PLAIN
        if sure or not _belied(asset, laid, make(PLAIN[shape])[1], _likely(thing.match)):
            return _placement(thing, asset, asset.id, laid, _given(laid, given, asset, thing, sight, below, cache))
    service = provided(frame, thing.segment, folder) if given.way == "provider" else None
    if service is not None:
        laid = laid_over(thing, service, 1.0, sight, below, cache)
        return _placement(thing, service, None, laid, _given(laid, given, service, thing, sight, below, cache))
    asset, laid = make(given.way or "best")
    return _placement(thing, asset, None, laid, _given(laid, given, asset, thing, sight, below, cache))


def _given(
    laid: Laid,
    given: Given,
    asset: Asset,
    thing: Seen,
    sight: Sight,
    below: tuple[Placement, ...],
    cache: Path | None,
) -> Laid:
    """As a person wants it: where they put it, as large as they made it, looked for anew from there, or as found."""
    scale = laid.scale if given.scale is None else given.scale
    if given.refit:
        if given.pose is None or len(thing.points) < 10:
            return laid
        start, bottoms = given.pose, bottoms_of(thing, below)
        what = ("refit", thing.points, thing.segment.mask, bottoms, asset.digest, start.matrix, scale, given.free)
        return found_again(cache, what, lambda: refitted(start, scale, given.free, asset, thing, sight, bottoms))
    if given.pose is not None:
        return Laid(given.pose, scale, 0.0)
    if scale == laid.scale:
        return laid
    lift = np.abs(laid.pose.rotation[2]) @ asset.size / 2 * (scale - laid.scale)  # its foot stays where it was
    return Laid(Pose(laid.pose.pos + np.array([0, 0, lift]), laid.pose.quat_wxyz), scale, 0.0)


def _belied(asset: Asset, laid: Laid, plain: Laid, likely: float) -> bool:
    """Whether what was seen is so much better explained by a plain shape that it cannot be the asset.

    Looks as likely as LIKELY are overruled only by a plain shape that fits well itself: where neither does, the depth
    is poor, and says nothing against them.
    """
    share = BELIED_HOLLOW if asset.container else BELIED if laid.scale == 1 else BELIED_SCALED
    poor = likely > LIKELY and plain.cost > CLOSE
    return laid.cost > CLOSE and plain.cost < laid.cost * share and not poor


def _likely(match: Match) -> float:
    """What the matcher gave the asset that was chosen, in [0, 1]."""
    return max((c.score for c in match.candidates if c.asset_id == match.asset_id), default=0.0)


def _placement(thing: Seen, asset: Asset, asset_id: str | None, found: Laid, laid: Laid) -> Placement:
    measured, scale = thing.description.attributes, laid.scale
    return Placement(
        name=thing.description.name,
        segment_id=thing.segment.id,
        asset_id=asset_id,
        scale=scale,
        size=asset.size * scale,
        world_from_object=laid.pose,
        misfit=laid.cost,
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
        shape=measured.shape,
        colour=measured.colour,
        rgb=measured.rgb,
        container=asset.container,
        licence=asset.licence,
        provenance=asset.provenance,
        found=None if laid is found else Found(found.pose, found.scale),
    )


def _table_colour(frame: Frame, support: Support) -> tuple[int, int, int]:
    pixels = frame.rgb[support.inliers]
    r, g, b = np.median(pixels, axis=0) if len(pixels) else (150, 140, 130)
    return int(r), int(g), int(b)

"""The twin at rest, and what would not stay where it was seen laid once more.

What moved by more than a centimetre until it rested was laid wrong, or its neighbours were: it is looked for again
among the others as they rest, and then made from the view where an asset stood for it. Another way is kept only where
the resting twin then agrees with the photograph better; otherwise what moved is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pipeline.assets import Library
from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.frame.support import Support
from pipeline.matching import Match
from pipeline.scene import registration
from pipeline.scene.given import Given, weigh
from pipeline.scene.holding import propped
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.placing import placed
from pipeline.scene.seen import Seen, things_seen
from pipeline.scene.settle import NOTEWORTHY, Settled, settle
from pipeline.segmentation import Segment

TRIED = 3
"""Objects that are laid again, at most: those that moved farthest."""
BETTER = 0.001
"""Metres by which all misfits together must be less for another way to be kept."""


def rest(
    scene: Scene,
    frame: Frame,
    support: Support,
    segments: Iterable[Segment],
    descriptions: Iterable[Description],
    matches: Iterable[Match],
    library: Library,
    folder: Path,
    given: Mapping[int, Given] | None = None,
    cache: Path | None = None,
    named: Callable[[Scene], Scene] = lambda scene: scene,
) -> tuple[Scene, tuple[Settled, ...]]:
    """A scene that `place` made of the same, at rest, and what settling did that a person should know of.

    `named` gives objects their names where another asset may stand for one. Raises SceneError.
    """
    rested, told = settle(scene)
    if not (moved := _moved(rested, told, given or {})):
        return rested, told
    seen = {thing.segment.id: thing for thing in things_seen(frame, support, segments, descriptions, matches)}
    misfit = _misfit(rested, seen, frame)
    for id in moved:
        below = tuple(p for p in rested.placements if p.segment_id != id)
        wanted = (given or {}).get(id, Given())
        before = scene
        for other in _otherwise(frame, support, seen[id], library, folder, below, wanted, cache):
            trial = named(_with(before, other))
            found, notes = settle(trial)
            if (cost := _misfit(found, seen, frame)) < misfit - BETTER:
                scene, rested, told, misfit = trial, found, notes, cost
    return rested, told


def _moved(rested: Scene, told: Iterable[Settled], given: Mapping[int, Given]) -> list[int]:
    """Segments of what would not rest, then of what moved, farthest first; what a person put somewhere stays there."""
    ids = {p.name: p.segment_id for p in rested.placements}
    free = [s for s in told if (s.held or s.moved > NOTEWORTHY) and not given.get(ids[s.name], Given()).fixed]
    return [ids[s.name] for s in sorted(free, key=lambda s: (not s.held, -s.moved))[:TRIED]]


def _otherwise(
    frame: Frame,
    support: Support,
    thing: Seen,
    library: Library,
    folder: Path,
    below: tuple[Placement, ...],
    given: Given,
    cache: Path | None,
) -> Iterator[Placement]:
    """Other ways in which an object may stand: laid again among the others, made from the view."""
    again = placed(frame, support, thing, library, folder, below, given, cache)
    yield weigh(again, given)
    if again.asset_id is not None and thing.match is not None and thing.match.source != "human":
        yield weigh(placed(frame, support, thing, library, folder, below, replace(given, way="best"), cache), given)


def _with(scene: Scene, other: Placement) -> Scene:
    """The scene with one object otherwise."""
    others = tuple(
        replace(other, name=p.name, also=p.also) if p.segment_id == other.segment_id else p for p in scene.placements
    )
    return replace(scene, placements=propped(others))


def _misfit(scene: Scene, seen: Mapping[int, Seen], frame: Frame) -> float:
    """Metres by which all objects together miss what was seen of them."""
    total = 0.0
    for p in scene.placements:
        sight = registration.Sight(seen[p.segment_id].points, frame, scene.world_from_camera)
        total += registration.misfit(registration.surface(p.mesh, p.size), sight, p.world_from_object)
    return total

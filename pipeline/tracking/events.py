"""What happened to the objects of a track: picked, placed, fell, touched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.spatial import KDTree

from pipeline.geometry import Pose
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.registration import load_surface
from pipeline.scene.support_relations import object_under
from pipeline.tracking.track import STATES, Event, Track

STIR_M = 0.006
"""Distance from its resting place at which an object has left it, or has not yet reached it."""
LIFT_M = 0.008
"""Height by which an object has to rise to be picked and not pushed."""
REACH_M = 0.015
"""Gap below an object at rest up to which what is there carries it: as SUPPORT_TOLERANCE_M in supports of a twin."""
FALL_M_S = 0.6
"""Speed downwards of a fall of 2 cm; hands set down more slowly."""
TOUCH_M = 0.006
"""Gap between sampled surfaces that counts as contact: half of it is the samples' spacing."""


@dataclass(frozen=True)
class _Rest:
    """A time in which an object stays where it is."""

    first: int
    last: int


def find_events(track: Track, scene: Scene) -> tuple[Event, ...]:
    """Return all events of a track in the order of their times."""
    found = [event for number in range(len(track.names)) for event in _of_object(track, scene, number)]
    return tuple(sorted(found, key=lambda event: event.time))


def _of_object(track: Track, scene: Scene, number: int) -> Iterator[Event]:
    name = track.names[number]
    yield from _losses(track, number)
    rests = _rests(track, number)
    before: _Rest | None = None
    for rest in rests:
        on = _support(track, scene, number, rest.first + (rest.last - rest.first) // 2)
        if before is None:
            before = rest
            continue
        if not on and rest.last < len(track.times) - 1:
            continue  # held still in the air
        if (left := _left(track, number, before, rest.first)) is not None:
            yield Event(float(track.times[left]), "picked", name, _support(track, scene, number, before.first))
            if on:
                landed = _landed(track, number, left, rest)
                yield Event(float(track.times[landed]), _landing(track, number, left, landed), name, on)
                yield from _touches(track, scene, number, rest, on)
        if on:
            before = rest
    if before is not None and before.last < len(track.times) - 1:
        left = _left(track, number, before, len(track.times) - 1)
        if left is not None and not (
            rests and rests[-1].first > left and _support(track, scene, number, rests[-1].first)
        ):
            yield Event(float(track.times[left]), "picked", name, _support(track, scene, number, before.first))


def _losses(track: Track, number: int) -> Iterator[Event]:
    lost = track.states[:, number] == STATES.index("lost")
    for i in np.flatnonzero(np.diff(lost.astype(int))) + 1:
        yield Event(float(track.times[i]), "lost" if lost[i] else "found", track.names[number])


def _rests(track: Track, number: int) -> list[_Rest]:
    """Return the times in which an object is still; what is hidden meanwhile is taken to stay."""
    still = np.isin(track.states[:, number], [STATES.index("still"), STATES.index("occluded")])
    found: list[_Rest] = []
    for i in np.flatnonzero(still):
        if found and found[-1].last == i - 1:
            found[-1] = _Rest(found[-1].first, int(i))
        else:
            found.append(_Rest(int(i), int(i)))
    return [rest for rest in found if track.states[rest.first : rest.last + 1, number].min() == STATES.index("still")]


def _left(track: Track, number: int, rest: _Rest, until: int) -> int | None:
    """Return the first frame at which an object has left its place, if it was lifted before a frame; else None."""
    path = track.poses[rest.last : until + 1, number, :3]
    home = track.poses[rest.last, number, :3]
    seen = track.states[rest.last : until + 1, number] != STATES.index("lost")
    away = np.linalg.norm(path - home, axis=1)
    if not (seen & (path[:, 2] - home[2] > LIFT_M)).any() and not (
        np.linalg.norm(path[-1] - home) > 0.03 and not seen.all()
    ):
        return None
    stirred = np.flatnonzero((away > STIR_M) | ~seen)
    return rest.last + int(stirred[0]) if len(stirred) else None


def _landed(track: Track, number: int, left: int, rest: _Rest) -> int:
    """Return the first frame from which an object stays where it rests."""
    path = track.poses[left : rest.first + 1, number, :3]
    seen = track.states[left : rest.first + 1, number] != STATES.index("lost")
    away = (np.linalg.norm(path - track.poses[rest.first, number, :3], axis=1) > STIR_M) | ~seen
    return left + int(np.flatnonzero(away)[-1]) + 1 if away.any() else rest.first


def _landing(track: Track, number: int, left: int, landed: int) -> Literal["placed", "fell"]:
    """Return "fell" if an object was seen to come down fast, else "placed"."""
    first = max(landed - 2, left)
    if (track.states[first : landed + 1, number] == STATES.index("lost")).any():
        return "placed"
    drop = np.diff(track.poses[first : landed + 1, number, 2]) / np.diff(track.times[first : landed + 1])
    return "fell" if len(drop) and -drop.min() > FALL_M_S else "placed"


def placements_at(track: Track, scene: Scene, frame: int) -> tuple[Placement, ...]:
    """Return the scene's placements at the poses of a frame."""
    return tuple(
        replace(p, world_from_object=Pose(row[:3], row[3:]), misfit=0.0)
        for p, row in zip(scene.placements, track.poses[frame], strict=True)
    )


def _support(track: Track, scene: Scene, number: int, frame: int) -> str:
    """Return what an object rests on at a frame; "" in the air."""
    placed = placements_at(track, scene, frame)
    p = placed[number]
    below = object_under(p, placed)
    if below is not None:
        return below.name
    shelf = next((s for s in scene.shelves if s.carries(p)), None)
    if shelf is not None:
        return shelf.name
    return "table" if _bottom(p) < REACH_M else ""


def _bottom(p: Placement) -> float:
    """Return the height of an object's lowest surface point in metres."""
    points = load_surface(p.mesh, p.size).points
    return float((points @ p.world_from_object.rotation[2]).min() + p.world_from_object.pos[2])


def _touches(track: Track, scene: Scene, number: int, rest: _Rest, on: str) -> Iterator[Event]:
    """Yield the other objects that an object touches where it was set down."""
    placed = placements_at(track, scene, rest.first)
    own = _points(placed[number])
    for other in placed:
        if other.name in (on, placed[number].name):
            continue
        apart = np.linalg.norm(other.world_from_object.pos - placed[number].world_from_object.pos)
        if apart > (np.linalg.norm(other.size) + np.linalg.norm(placed[number].size)) / 2 + TOUCH_M:
            continue
        if KDTree(own).query(_points(other))[0].min() < TOUCH_M:
            yield Event(float(track.times[rest.first]), "touched", track.names[number], other.name)


def _points(p: Placement) -> np.ndarray:
    return load_surface(p.mesh, p.size).points @ p.world_from_object.rotation.T + p.world_from_object.pos


def changes(events: Sequence[Event]) -> list[Event]:
    """Return the events that change what an object rests on."""
    return [event for event in events if event.kind in ("picked", "placed", "fell")]

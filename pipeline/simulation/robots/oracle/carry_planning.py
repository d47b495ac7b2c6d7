"""Moves that carry one object to where a goal wants it, or out of the way, or the reason why there is none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from pipeline.simulation import free_space
from pipeline.simulation.goals.goal import BlockedError, Goal, Move
from pipeline.simulation.goals.in_row import InRow
from pipeline.simulation.goals.inside import Inside
from pipeline.simulation.goals.on import On
from pipeline.simulation.goals.spec import listed
from pipeline.simulation.goals.stages import held_by_wanted
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.oracle import placement
from pipeline.simulation.state import State

GAP = 0.012
"""Kept free around what is set down on the table, in metres."""
HAND_ROOM, CLEAR_HEIGHT = 0.12, 0.01
"""Metres kept between what is set down and what is fixed above the table: half a hand and its tilt; and from which
height on a fixed object is above it."""


def riders(state: State, name: str) -> list[str]:
    """Return the names of all that stands on or in an object, directly or on each other, topmost last."""
    found: list[str] = []
    queue = [name]
    while queue:
        base = state[queue.pop(0)]
        for candidate in state.objects.values():
            above = candidate.position[2] > base.position[2] and not state.touches(candidate.name, "table")
            new = candidate.name != name and candidate.name not in found
            if new and above and state.touches(candidate.name, base.name):
                found.append(candidate.name)
                queue.append(candidate.name)
    return found


@dataclass(eq=False)
class CarryPlanner:
    """Plans to carry one object at a time; keeps what was tried, what was given up and where rows were laid out."""

    physics: Physics
    gap: float = GAP
    """Kept free around what is set down on the table, in metres."""
    reaches: Callable[[np.ndarray], np.ndarray] = field(default=lambda points: np.ones(len(points), bool))
    """Returns at which points (N, 2) the robot can set an object down, of shape (N,)."""
    tries: dict[tuple[Goal, str], int] = field(default_factory=dict)
    """Attempts so far, by goal and object."""
    refused: set[Goal] = field(default_factory=set)
    """Goals given up."""
    rows: dict[InRow, dict[str, np.ndarray]] = field(default_factory=dict)
    """Planned places of a row's members, each of shape (2,)."""
    packs: dict[str, free_space.Packing] = field(default_factory=dict)
    """Planned places of what shares a zone, container or base, by its name."""
    failures: dict[tuple[Goal, str], str] = field(default_factory=dict)
    """Why the last attempt to pick an object up failed."""
    covers: dict[str, str] = field(default_factory=dict)
    """What was found to lie over an object that was to be picked up."""

    def place_on_top(self, state: State, goal: On, goals: list[Goal]) -> Move:
        """Return the move that puts a on b, or that clears b's top or what stands in the way."""
        a, b = state[goal.a], state[goal.b]
        if b.shape == "sphere":
            raise BlockedError(f"nothing stays on a sphere such as {b.name}")
        if goal.a in (supports := self.supports(state, goal.b)):
            return self.move_aside(state, next(n for n in [goal.b, *supports] if self.mobile(state, n)), goal, goals)
        self.require_mobile(state, a)
        on_b = [n for n in riders(state, b.name) if n != a.name]
        wanted = {g.objects[0] for g in goals if g.rests == "on" and g.objects[1] == b.name}
        strangers = [n for n in on_b if n not in wanted and not held_by_wanted(n, wanted, goals)]
        if strangers:
            return self.move_aside(state, strangers[-1], goal, goals)
        if rider := self.topmost_load(state, a.name):
            return self.move_aside(state, rider, goal, goals)
        yaw = None if self.tries.get((goal, a.name), 0) != 1 else b.yaw
        if self._packed(state, goal, goals, Region(b.outline), b.yaw):
            xy, yaw = self.packs[b.name][a.name]
        else:
            xy = placement.free_top(self.physics, b, a, [state[n] for n in on_b])
        if xy is None:
            raise BlockedError(f"{b.name}, {cm(b)} wide, has no room left on top for {a.name}, {cm(a)} wide")
        walls = self._in_the_way(state, a, xy, [b.name, *self.supports(state, b.name), *on_b], min_top=b.top)
        if walls:
            return self._make_room_above(state, walls, goal, goals)
        return Move(a.name, xy, yaw, "place", b.name, goal)

    def place_in_container(self, state: State, goal: Inside, goals: list[Goal]) -> Move:
        """Return the move that puts a into a container, or that takes off what stands on a."""
        a, b = state[goal.a], state[goal.container]
        self.require_mobile(state, a)
        if rider := self.topmost_load(state, a.name):
            return self.move_aside(state, rider, goal, goals)
        opening = placement.container_opening(self.physics, b)
        if opening is None:
            raise BlockedError(f"{b.name} is not hollow: nothing can be put inside; add_container adds a box that is")
        if placement.smallest_width(a.outline) > placement.smallest_width(opening) + 0.004:
            wide, gap = placement.smallest_width(a.outline) * 100, placement.smallest_width(opening) * 100
            raise BlockedError(f"{a.name} is {wide:.1f} cm wide, the opening of {b.name} only {gap:.1f} cm")
        inside = [state[n] for n in riders(state, b.name) if n != a.name]
        if self._packed(state, goal, goals, Region(opening), b.yaw):
            xy, yaw = self.packs[goal.container][a.name]
        else:
            xy, yaw = placement.place_inside(self.physics, a, b, opening, inside)
        return Move(a.name, xy, yaw, "place", b.name, goal)

    def _packed(self, state: State, goal: Goal, goals: list[Goal], region: Region, yaw: float) -> bool:
        """Return whether there is a plan for where each of several objects goes that share a zone or container."""
        name, holder = goal.objects[0], goal.holder
        sharing = [g for g in goals if type(g) is type(goal) and g.holder == holder]
        if len(sharing) < 2:
            return False
        if holder not in self.packs or self.tries.get((goal, name), 0):
            missing = [state[g.objects[0]] for g in sharing if not g.met(state)]
            ignored = {o.name for o in missing} | {holder, *self.supports(state, holder)}
            others = [o for o in state.objects.values() if o.name not in ignored]
            if goal.rests == "on":
                others = [o for o in others if o.top > state[holder].top + 0.002]
            gaps = (self.gap, GAP, GAP / 2, GAP / 4) if self.gap > GAP else (GAP, GAP / 2, GAP / 4)
            plans = (free_space.pack(region, missing, others, yaw, gap) for gap in gaps)
            self.packs[holder] = next((plan for plan in plans if plan), {})
        return name in self.packs[holder]

    def place_in_row(self, state: State, goal: InRow, goals: list[Goal]) -> Move:
        """Return the move that brings one member to its place in the row, or that clears that place."""
        if goal not in self.rows:
            self.rows[goal] = self._lay_out_row(state, goal, goals)
        places = self.rows[goal]
        self._require_all_mobile(state, goal.names)
        displaced = [
            n
            for n in goal.names
            # Metres from its place within which a member of a row is not moved
            if np.linalg.norm(state[n].position[:2] - places[n]) > 0.01 or not state.touches(n, "table")
        ]
        blockers: list[str] = []
        for name in displaced:
            if rider := self.topmost_load(state, name):
                return self.move_aside(state, rider, goal, goals, places)
            blockers = self._in_the_way(state, state[name], places[name], [name])
            if not blockers:
                return Move(name, places[name], None, "place", "its place in the row", goal)
        if not displaced:
            missed = goal.miss(state) * 100
            raise BlockedError(f"{goal.name}: all stand in their places, still missed by {missed:.1f} cm")
        return self.move_aside(state, blockers[0], goal, goals, places)

    def _lay_out_row(self, state: State, goal: InRow, goals: list[Goal]) -> dict[str, np.ndarray]:
        """Choose where the row goes: free of everything, else only of what is fixed.

        Where it can, the other goals about its members hold there, too.
        """
        if conflict := placement.spacing_conflict(state, goal):
            raise BlockedError(conflict)
        others = [o for o in state.objects.values() if o.name not in goal.names]
        fixed = [o for o in others if not self.mobile(state, o.name)]
        related = [g for g in goals if g is not goal and set(g.objects) & set(goal.names) and not g.rests]
        for required, obstacles in product((related, []) if related else ([],), (others, fixed)):
            for gap, margin in self._row_gaps():
                if places := placement.row_places(state, goal, obstacles, gap, required, margin, self.reaches):
                    return places
        length = sum(float(state[n].radius) * 2 for n in goal.names) * 100
        along = "to the right" if goal.along == "right" else "away from the camera"
        raise BlockedError(f"no straight place of {length:.0f} cm {along} on the table for {len(goal.names)} objects")

    def _row_gaps(self) -> list[tuple[float, float]]:
        """Return metres between the members of a row and around it, the widest first."""
        usual = [(0.03, 0.01), (0.015, 0.01), (0.006, 0.01)]
        return [(self.gap, self.gap), *usual] if self.gap > GAP else usual

    def place_on_table(self, state: State, goal: Goal, goals: list[Goal]) -> Move:
        """Return the move to a place on the table where all goals about that object hold."""
        names = [n for n in goal.objects if self.mobile(state, n)]
        if not names:
            raise BlockedError(f"{goal.objects[0]} stands fast and cannot be moved")
        holders = set[str]()
        for name in names:
            if rider := self.topmost_load(state, name):
                return self.move_aside(state, rider, goal, goals)
            if move := self._table_move(state, name, goal, goals, holders):
                return move
        others = [g.name for g in goals if g is not goal and set(g.objects) & set(goal.objects)]
        also = " and " + " and ".join(others[:3]) if others else ""
        held = f": {listed(sorted(holders)[:3])} stands there and has to stay" if holders else ""
        raise BlockedError(f"no place on the table where {goal.name}{also}{held}")

    def _table_move(self, state: State, name: str, goal: Goal, goals: list[Goal], holders: set[str]) -> Move | None:
        """Return the move to the best place; None without one: `holders` then get what has to stay on such places."""
        carried = state[name]
        related = [g for g in goals if name in g.objects and g.constrains_place]
        points = _candidate_places(state, related)
        if any(g.fixed_place for g in related):
            # Metres by which a place given by coordinates may lie outside the observed table: objects stood there, too
            points = points[state.table.depth(points) > -0.03]
        else:
            points = points[free_space.inside_region(points, carried, state.table)]
        if not len(points):
            return None
        ignored = {name, *riders(state, name)}
        others = [o for o in state.objects.values() if o.name not in ignored]
        if goal.fills_zone:
            zone = state.zones[goal.holder]
            along = float(np.arctan2(zone.right[1], zone.right[0]))
            if self._packed(state, goal, goals, zone.region, along):
                xy, yaw = self.packs[goal.holder][name]
                fits = free_space.fits(xy[None], carried.moved(yaw=yaw), others, 0.002)[0]
                if fits and _all_hold(state, name, xy, related):
                    return Move(name, xy, yaw, "place", goal.holder, goal)
        target = goal.holder if goal.fills_zone else "the table"
        free = free_space.fits(points, carried, others, self.gap)
        wanted = state.zones[goal.holder].xy if goal.fills_zone else carried.position[:2]
        distances = np.linalg.norm(points - wanted, axis=1)
        reached, roomy = self.reaches(points), _has_room_above(points, carried, others)
        tiers = [] if roomy.all() else [reached & free & roomy]
        for possible in (*tiers, reached & free, reached & ~free, ~reached & free, ~reached & ~free):
            for i in np.argsort(distances + 1e3 * ~possible, kind="stable")[: int(possible.sum())]:
                if not _all_hold(state, name, points[i], related):
                    continue
                blockers = [] if free[i] else self._in_the_way(state, carried, points[i], [name])
                if not blockers:
                    return Move(name, points[i], None, "place", target, goal)
                mobile = [n for n in blockers if self.mobile(state, n)]
                settled = [n for n in mobile if _is_settled(state, n, goals)]
                if len(mobile) == len(blockers) and not settled:
                    return self.move_aside(state, blockers[0], goal, goals, {name: points[i]})
                holders.update(n for n in blockers if n not in mobile or n in settled)
        return None

    def move_aside(
        self,
        state: State,
        name: str,
        goal: Goal,
        goals: list[Goal],
        reserved: Mapping[str, np.ndarray] | None = None,
        keep_clear: Sequence[Object] = (),
    ) -> Move:
        """Return the move that carries an object, or what stands on it, to the nearest free place.

        The place breaks no goal already met where there is such a place; otherwise the object is carried back later.
        It is none of the places in `reserved` (2,), by name of what goes there, and clear of the outlines of
        `keep_clear`. Raises BlockedError.
        """
        top = ([name, *riders(state, name)])[-1]
        if not self.mobile(state, top):
            raise BlockedError(f"{top} is in the way and stands fast")
        moved = state[top]
        points = free_space.grid(state.table)
        points = self._reached(points[free_space.inside_region(points, moved, state.table)])
        others = [*(o for o in state.objects.values() if o.name != top), *keep_clear]
        taken = [state[n].moved(xy) for n, xy in (reserved or {}).items()]
        taken += [state[g.objects[0]].moved(g.fixed_place) for g in goals if g.fixed_place and g.objects[0] != top]
        room = free_space.fits(points, moved, [*others, *taken], self.gap)
        if not room.any():
            room = free_space.fits(points, moved, others, 0.006)
        if (roomy := room & _has_room_above(points, moved, others)).any():
            room = roomy
        xy = _place_aside(state, top, points[room], goals)
        if xy is not None:
            return Move(top, xy, None, "move aside", "a free place", goal)
        raise BlockedError(f"no free place of {cm(moved)} on the table to move {top} out of the way")

    def _reached(self, points: np.ndarray) -> np.ndarray:
        """Return those of points (N, 2) that the robot reaches; all where it reaches none."""
        reached = points[self.reaches(points)]
        return reached if len(reached) else points

    def _make_room_above(self, state: State, walls: list[str], goal: On, goals: list[Goal]) -> Move:
        """Carry away neighbours that are higher than a base and leave no room above it, or else the base."""
        free = [n for n in walls if self.mobile(state, n) and not any(g.met(state) for g in goals if n in g.objects)]
        if len(free) == len(walls):
            return self.move_aside(state, free[0], goal, goals)
        if self.mobile(state, goal.b):
            return self.move_aside(state, goal.b, goal, goals)
        raise BlockedError(f"{walls[0]} stands too close to {goal.b} to set {goal.a} down")

    def _in_the_way(
        self, state: State, carried: Object, xy: np.ndarray, allowed: list[str], min_top: float = 0.0
    ) -> list[str]:
        """Return what an object set down at xy would hit, of what is higher than `min_top`."""
        ignored = {carried.name, *allowed, *riders(state, carried.name)}
        others = [o for o in state.objects.values() if o.name not in ignored and o.top > min_top + 0.002]
        return [o.name for o in others if not free_space.fits(xy[None], carried, [o], 0.003)[0]]

    def require_mobile(self, state: State, a: Object) -> None:
        """Raise BlockedError where an object stands fast."""
        if not self.mobile(state, a.name):
            raise BlockedError(f"{a.name} stands fast and cannot be moved")

    def topmost_load(self, state: State, name: str) -> str | None:
        """Return the topmost object that stands on it; None for nothing and for a container: its load comes along."""
        if state[name].container:
            return None
        load = riders(state, name)
        return load[-1] if load else None

    def supports(self, state: State, name: str) -> list[str]:
        """Return the names of the objects that it stands on or in, directly or not."""
        return [o.name for o in state.objects.values() if o.name != name and name in riders(state, o.name)]

    def mobile(self, state: State, name: str) -> bool:
        """Return whether an object can be carried."""
        return name in self.physics.addresses and not state[name].fixed

    def _require_all_mobile(self, state: State, names: Iterable[str]) -> None:
        for name in names:
            self.require_mobile(state, state[name])


def _has_room_above(points: np.ndarray, moved: Object, others: Sequence[Object]) -> np.ndarray:
    """Return at which points (N, 2) the hand that sets an object down meets no shelf, of shape (N,)."""
    return free_space.fits(points, moved, [o for o in others if o.fixed and o.bottom > CLEAR_HEIGHT], HAND_ROOM)


def _candidate_places(state: State, related: list[Goal]) -> np.ndarray:
    """Return the points (N, 2) to look at: those of the last goal that names places, else a grid over the table."""
    points = [free_space.grid(state.table)]
    for goal in related:
        points = goal.candidate_places(state) or points
    return np.concatenate(points)


def _place_aside(state: State, name: str, places: np.ndarray, goals: Sequence[Goal]) -> np.ndarray | None:
    """Return the nearest of places (N, 2) out of all zones, of shape (2,); None if there is none.

    One where the object's met goals still hold is preferred. There is none where the object stands on another in its
    own zone: it makes way for that one and is carried back later.
    """
    met = [g for g in goals if name in g.objects and not isinstance(g, InRow) and not g.rests and g.met(state)]
    nearest: np.ndarray | None = None
    for xy in places[np.argsort(np.linalg.norm(places - state[name].position[:2], axis=1))]:
        after = state.put(name, xy)
        if all(z.outside(after[name].outline).min() > 0 for z in state.zones.values()):
            if all(g.met(after) for g in met):
                return xy
            nearest = xy if nearest is None else nearest
    return nearest


def _is_settled(state: State, name: str, goals: list[Goal]) -> bool:
    """Whether an object is where its goals want it; one that still has to go elsewhere may be moved aside."""
    about = [goal.met(state) for goal in goals if name in goal.objects]
    return bool(about) and all(about)


def _all_hold(state: State, name: str, xy: np.ndarray, related: list[Goal]) -> bool:
    """Return whether all goals hold with the object at xy and 4 mm to every side; at xy alone for what fills a zone."""
    if not all(g.met(state.put(name, xy)) for g in related):
        return False
    nearby = [xy + d for d in 0.004 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])]
    return all(g.met(state.put(name, p)) for p in nearby for g in related if not g.fills_zone)


def cm(sized: Object) -> str:
    """Return the width of an object as text in whole centimetres."""
    return f"{sized.radius * 200:.0f} cm"

"""What to carry where next: from goals and the present state to one move, or the reason why there is none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.simulation import landing, part_planning, spots
from pipeline.simulation.goals import At, Away, Beside, Goal, Inside, InZone, Near, On, Outside, Upright
from pipeline.simulation.groups import Count, InRow
from pipeline.simulation.moves import Blocked, Move, Pull, Refusal
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.ordering import in_order, pursued, wanted_above
from pipeline.simulation.part_goals import Closed, InsidePart, Opened
from pipeline.simulation.physics import Physics
from pipeline.simulation.state import State

SQUARE = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
TRIES = 3
"""Carries of one object for one goal before giving it up."""
GAP = 0.012
"""Kept free around what is set down on the table, in metres."""
EDGE = 0.03
"""How far outside the seen table a place asked for by its coordinates may lie: things stood there, too."""
CLOSE = 0.01
"""A member of a row this close to its place stays, in metres."""


def riders(state: State, name: str) -> list[str]:
    """What stands on or in it, and on that, topmost last."""
    found: list[str] = []
    queue = [name]
    while queue:
        below = state[queue.pop(0)]
        for thing in state.objects.values():
            above = thing.position[2] > below.position[2] and not state.touches(thing.name, "table")
            if thing.name != name and thing.name not in found and above and state.touches(thing.name, below.name):
                found.append(thing.name)
                queue.append(thing.name)
    return found


@dataclass(eq=False)
class Planner:
    """Remembers what was tried, which goals were given up and where rows were laid out."""

    physics: Physics
    gap: float = GAP
    """Kept free around what is set down on the table, in metres."""
    tries: dict[tuple[Goal, str], int] = field(default_factory=dict)
    refused: set[Goal] = field(default_factory=set)
    rows: dict[InRow, dict[str, np.ndarray]] = field(default_factory=dict)
    packs: dict[str, spots.Packing] = field(default_factory=dict)
    troubles: dict[tuple[Goal, str], str] = field(default_factory=dict)
    """Why the last attempt to take an object up failed."""
    covers: dict[str, str] = field(default_factory=dict)
    """What was found to lie over an object when it should be taken up."""

    def next(self, state: State, goals: Sequence[Goal]) -> Move | Pull | Refusal | None:
        """The next move towards the first goal not met; None when there is nothing left to do."""
        live = pursued(state, goals, self.refused)
        for goal in goals:
            if isinstance(goal, Count) and goal not in self.refused and (many := goal.surplus(state)):
                try:
                    return self.aside(state, many[-1].objects[0], goal, live)
                except Blocked as blocked:
                    return Refusal(many[-1].objects[0], goal, str(blocked))
        for goal in in_order(live):
            if goal.met(state):
                continue
            try:
                move = self._towards(state, goal, live)
            except Blocked as blocked:
                return Refusal(goal.objects[0], goal, str(blocked))
            cover = self.covers.pop(move.object, "")
            if isinstance(move, Move) and cover and cover not in goal.objects:
                try:
                    return self.aside(state, cover, goal, live, {move.object: move.xy})
                except Blocked as blocked:
                    return Refusal(cover, goal, str(blocked))
            if self.tries.get((move.goal, move.object), 0) >= TRIES:
                trouble = self.troubles.get((move.goal, move.object))
                return Refusal(move.object, goal, trouble or self._failed(state, goal))
            return move
        return None

    def _failed(self, state: State, goal: Goal) -> str:
        if isinstance(goal, On):
            a, b = state[goal.a], state[goal.b]
            return f"{a.name}, {_cm(a)} wide, does not stay on {b.name}, {_cm(b)} wide ({TRIES} tries)"
        if isinstance(goal, Inside):
            a, b = state[goal.a], state[goal.container]
            return f"{a.name}, {_cm(a)} wide, does not stay in {b.name}, {_cm(b)} wide ({TRIES} tries)"
        return f"{goal.name} still missed by {goal.miss(state) * 100:.1f} cm after {TRIES} tries"

    def _towards(self, state: State, goal: Goal, goals: list[Goal]) -> Move | Pull:
        if isinstance(goal, On):
            return self._onto(state, goal, goals)
        if isinstance(goal, Inside):
            return self._into(state, goal, goals)
        if isinstance(goal, InRow):
            return self._row(state, goal, goals)
        if isinstance(goal, Opened | Closed):
            return part_planning.swing(self, state, goal, goals)
        if isinstance(goal, InsidePart):
            return part_planning.into_part(self, state, goal, goals)
        if isinstance(goal, Upright):
            raise Blocked(f"{goal.a} lies on its side, and this gripper turns things about the vertical only")
        return self._about(state, goal, goals)

    def _onto(self, state: State, goal: On, goals: list[Goal]) -> Move:
        a, b = state[goal.a], state[goal.b]
        if b.shape == "sphere":
            raise Blocked(f"nothing stays on a sphere such as {b.name}")
        if goal.a in (below := self.below(state, goal.b)):
            return self.aside(state, next(n for n in [goal.b, *below] if self.mobile(state, n)), goal, goals)
        self.loose(state, a)
        on_b = [n for n in riders(state, b.name) if n != a.name]
        wanted = {g.a for g in goals if isinstance(g, On) and g.b == b.name}
        strangers = [n for n in on_b if n not in wanted and not wanted_above(n, wanted, goals)]
        if strangers:
            return self.aside(state, strangers[-1], goal, goals)
        if above := self.load(state, a.name):
            return self.aside(state, above, goal, goals)
        turn = None if self.tries.get((goal, a.name), 0) != 1 else b.yaw
        if self._packed(state, goal, goals, Region(b.outline), b.yaw):
            spot, turn = self.packs[b.name][a.name]
        else:
            spot = landing.top(self.physics, b, a, [state[n] for n in on_b])
        if spot is None:
            raise Blocked(f"{b.name}, {_cm(b)} wide, has no room left on top for {a.name}, {_cm(a)} wide")
        walls = self._in_the_way(state, a, spot, [b.name, *self.below(state, b.name), *on_b], over=b.top)
        if walls:
            return self._clear(state, walls, b, a, goal, goals)
        return Move(a.name, spot, turn, "place", b.name, goal)

    def _into(self, state: State, goal: Inside, goals: list[Goal]) -> Move:
        a, b = state[goal.a], state[goal.container]
        self.loose(state, a)
        if above := self.load(state, a.name):
            return self.aside(state, above, goal, goals)
        room = landing.opening(self.physics, b)
        if room is None:
            raise Blocked(f"{b.name} is not hollow: nothing can be put inside; add_container adds a box that is")
        if landing.narrow(a.outline) > landing.narrow(room) + 0.004:
            wide, gap = landing.narrow(a.outline) * 100, landing.narrow(room) * 100
            raise Blocked(f"{a.name} is {wide:.1f} cm wide, the opening of {b.name} only {gap:.1f} cm")
        inside = [state[n] for n in riders(state, b.name) if n != a.name]
        if self._packed(state, goal, goals, Region(room), b.yaw):
            xy, yaw = self.packs[goal.container][a.name]
        else:
            xy, yaw = landing.into(self.physics, a, b, room, inside)
        return Move(a.name, xy, yaw, "place", b.name, goal)

    def _packed(self, state: State, goal: InZone | Inside | On, goals: list[Goal], region: Region, turn: float) -> bool:
        """Whether there is a plan of where each of several things goes that share a zone or container."""
        place = _holder(goal)
        sharing = [g for g in goals if type(g) is type(goal) and _holder(g) == place]
        if len(sharing) < 2:
            return False
        if place not in self.packs or self.tries.get((goal, goal.a), 0):
            missing = [state[g.objects[0]] for g in sharing if not g.met(state)]
            aside = {o.name for o in missing} | {place, *self.below(state, place)}
            others = [o for o in state.objects.values() if o.name not in aside]
            if isinstance(goal, On):
                others = [o for o in others if o.top > state[place].top + 0.002]
            gaps = (self.gap, GAP, GAP / 2, GAP / 4) if self.gap > GAP else (GAP, GAP / 2, GAP / 4)
            plans = (spots.pack(region, missing, others, turn, gap) for gap in gaps)
            self.packs[place] = next((plan for plan in plans if plan), {})
        return goal.a in self.packs[place]

    def _row(self, state: State, goal: InRow, goals: list[Goal]) -> Move:
        if goal not in self.rows:
            self.rows[goal] = self._lay_out(state, goal, goals)
        slots = self.rows[goal]
        self._movable(state, goal.names)
        away = [n for n in goal.names if np.linalg.norm(state[n].position[:2] - slots[n]) > CLOSE or _lifted(state, n)]
        blockers: list[str] = []
        for name in away:
            if above := self.load(state, name):
                return self.aside(state, above, goal, goals, slots)
            blockers = self._in_the_way(state, state[name], slots[name], [name])
            if not blockers:
                return Move(name, slots[name], None, "place", "its place in the row", goal)
        if not away:
            raise Blocked(f"{goal.name}: all stand in their places, still missed by {goal.miss(state) * 100:.1f} cm")
        return self.aside(state, blockers[0], goal, goals, slots)

    def _lay_out(self, state: State, goal: InRow, goals: list[Goal]) -> dict[str, np.ndarray]:
        """Where the row fits: among everything, else only among what is fixed; with the other goals, else without."""
        if crowded := landing.crowded(state, goal):
            raise Blocked(crowded)
        others = [o for o in state.objects.values() if o.name not in goal.names]
        fixed = [o for o in others if not self.mobile(state, o.name)]
        about = [
            g for g in goals if g is not goal and set(g.objects) & set(goal.names) and not isinstance(g, On | Inside)
        ]
        for rules in (about, []) if about else ([],):
            for obstacles in (others, fixed):
                for gap, around in self._row_gaps():
                    if slots := landing.row(state, goal, obstacles, gap, rules, around):
                        return slots
        length = sum(float(state[n].radius) * 2 for n in goal.names) * 100
        raise Blocked(f"no straight place of {length:.0f} cm {_along(goal)} on the table for {len(goal.names)} objects")

    def _row_gaps(self) -> list[tuple[float, float]]:
        """Metres between the members of a row and around it, the widest first."""
        usual = [(0.03, 0.01), (0.015, 0.01), (0.006, 0.01)]
        return [(self.gap, self.gap), *usual] if self.gap > GAP else usual

    def _about(self, state: State, goal: Goal, goals: list[Goal]) -> Move:
        """Goals about places on the table: looks for a place where all goals about that object hold."""
        names = [n for n in goal.objects if self.mobile(state, n)]
        if not names:
            raise Blocked(f"{goal.objects[0]} stands fast and cannot be moved")
        for name in names:
            if above := self.load(state, name):
                return self.aside(state, above, goal, goals)
            move = self._place_for(state, name, goal, goals)
            if move:
                return move
        raise Blocked(f"no place on the table where {goal.name}{self._with(goal, goals)}")

    def _with(self, goal: Goal, goals: list[Goal]) -> str:
        others = [g.name for g in goals if g is not goal and set(g.objects) & set(goal.objects)]
        return " and " + " and ".join(others[:3]) if others else ""

    def _place_for(self, state: State, name: str, goal: Goal, goals: list[Goal]) -> Move | None:
        thing = state[name]
        about: list[Goal] = [
            g for g in goals if name in g.objects and isinstance(g, At | Away | Beside | InZone | Near | Outside)
        ]
        points = _candidates(state, about)
        if any(isinstance(g, At) for g in about):
            points = points[state.table.depth(points) > -EDGE]
        else:
            points = points[spots.standing(points, thing, state.table)]
        if not len(points):
            return None
        others = [o for o in state.objects.values() if o.name != name and o.name not in riders(state, name)]
        if isinstance(goal, InZone):
            zone = state.zones[goal.zone]
            turn = float(np.arctan2(zone.right[1], zone.right[0]))
            if self._packed(state, goal, goals, zone.region, turn):
                xy, yaw = self.packs[goal.zone][name]
                if spots.fits(xy[None], thing.moved(yaw=yaw), others, 0.002)[0] and _holds(state, name, xy, about):
                    return Move(name, xy, yaw, "place", goal.zone, goal)
        free = spots.fits(points, thing, others, self.gap)
        centre = state.zones[goal.zone].xy if isinstance(goal, InZone) else thing.position[:2]
        prices = np.linalg.norm(points - centre, axis=1)
        for possible in (free, ~free):
            for i in np.argsort(prices + 1e3 * ~possible, kind="stable")[: int(possible.sum())]:
                if not _holds(state, name, points[i], about):
                    continue
                blockers = [] if possible is free else self._in_the_way(state, thing, points[i], [name])
                if not blockers:
                    return Move(name, points[i], None, "place", _target(goal), goal)
                mobile = [n for n in blockers if self.mobile(state, n)]
                settled = [n for n in mobile if any(g.met(state) for g in goals if n in g.objects)]
                if len(mobile) == len(blockers) and not settled:
                    return self.aside(state, blockers[0], goal, goals, {name: points[i]})
        return None

    def aside(
        self,
        state: State,
        name: str,
        goal: Goal,
        goals: list[Goal],
        reserved: Mapping[str, np.ndarray] | None = None,
        keep: Sequence[Object] = (),
    ) -> Move:
        """Carries something out of the way to the nearest free place that spoils no goal already met.

        Not to the places of `reserved`, by name, nor where the outlines of `keep` lie.
        """
        top = ([name, *riders(state, name)])[-1]
        if not self.mobile(state, top):
            raise Blocked(f"{top} is in the way and stands fast")
        thing = state[top]
        points = spots.grid(state.table)
        points = points[spots.standing(points, thing, state.table)]
        others = [*(o for o in state.objects.values() if o.name != top), *keep]
        taken = [state[n].moved(xy) for n, xy in (reserved or {}).items()] + [
            state[g.a].moved(g.xy) for g in goals if isinstance(g, At) and g.a != top
        ]
        room = spots.fits(points, thing, [*others, *taken], self.gap)
        if not room.any():
            room = spots.fits(points, thing, others, 0.006)
        places = points[room]
        kept = [g for g in goals if top in g.objects and not isinstance(g, InRow) and g.met(state)]
        for xy in places[np.argsort(np.linalg.norm(places - thing.position[:2], axis=1))]:
            hoped = state.put(top, xy)
            zones_free = all(z.outside(hoped[top].outline).min() > 0 for z in state.zones.values()) or not state.zones
            if zones_free and all(g.met(hoped) for g in kept if not isinstance(g, On | Inside)):
                return Move(top, xy, None, "move aside", "a free place", goal)
        raise Blocked(f"no free place of {_cm(thing)} on the table to move {top} out of the way")

    def _clear(self, state: State, walls: list[str], b: Object, a: Object, goal: Goal, goals: list[Goal]) -> Move:
        """Neighbours higher than a base leave no room above it: carry them away, or else the base."""
        loose = [n for n in walls if self.mobile(state, n) and not any(g.met(state) for g in goals if n in g.objects)]
        if len(loose) == len(walls):
            return self.aside(state, loose[0], goal, goals)
        if self.mobile(state, b.name):
            return self.aside(state, b.name, goal, goals)
        raise Blocked(f"{walls[0]} stands too close to {b.name} to set {a.name} down")

    def _in_the_way(
        self, state: State, thing: Object, xy: np.ndarray, allowed: list[str], over: float = 0.0
    ) -> list[str]:
        """What a thing set down at xy would hit; only what is higher than `over`."""
        carried = riders(state, thing.name)
        others = [
            o for o in state.objects.values()
            if o.name not in (thing.name, *allowed, *carried) and o.top > over + 0.002
        ]  # fmt: skip
        return [o.name for o in others if not spots.fits(xy[None], thing, [o], 0.003)[0]]

    def loose(self, state: State, a: Object) -> None:
        """Raises Blocked where it stands fast."""
        if not self.mobile(state, a.name):
            raise Blocked(f"{a.name} stands fast and cannot be moved")

    def load(self, state: State, name: str) -> str | None:
        """The topmost thing standing on it; None for nothing, or for what lies in a container and comes along."""
        if state[name].container:
            return None
        above = riders(state, name)
        return above[-1] if above else None

    def below(self, state: State, name: str) -> list[str]:
        return [o.name for o in state.objects.values() if o.name != name and name in riders(state, o.name)]

    def mobile(self, state: State, name: str) -> bool:
        return name in self.physics.addresses and not state[name].fixed

    def _movable(self, state: State, names: Iterable[str]) -> None:
        for name in names:
            if not self.mobile(state, name):
                raise Blocked(f"{name} stands fast and cannot be moved")


def _candidates(state: State, about: list[Goal]) -> np.ndarray:
    points = [spots.grid(state.table)]
    for goal in about:
        if isinstance(goal, At):
            points = [np.array([goal.xy]), goal.xy + spots.grid(Region(SQUARE * goal.tolerance))]
        if isinstance(goal, InZone):
            zone = state.zones[goal.zone]
            local = np.stack(np.meshgrid(*[np.arange(-s / 2, s / 2, 0.01) for s in zone.size]), -1).reshape(-1, 2)
            away = np.array([-zone.right[1], zone.right[0]])
            points = [zone.xy[None], zone.xy + local @ np.stack([zone.right, away])]
    return np.concatenate(points)


def _holds(state: State, name: str, xy: np.ndarray, about: list[Goal]) -> bool:
    """Whether all the goals hold with the object at xy, and still do 4 mm to every side where they can."""
    if not all(g.met(state.put(name, xy)) for g in about):
        return False
    exact = [g for g in about if isinstance(g, InZone)]
    nearby = [xy + d for d in 0.004 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])]
    return all(g.met(state.put(name, p)) for p in nearby for g in about if g not in exact)


def _holder(goal: Goal) -> str:
    """The zone, container or base that a goal puts something in or on."""
    return goal.zone if isinstance(goal, InZone) else goal.objects[-1]


def _lifted(state: State, name: str) -> bool:
    return not state.touches(name, "table")


def _target(goal: Goal) -> str:
    return goal.zone if isinstance(goal, InZone) else "the table"


def _along(goal: InRow) -> str:
    return "to the right" if goal.along == "right" else "away from the camera"


def _cm(thing: Object) -> str:
    return f"{thing.radius * 200:.0f} cm"

"""An object at a place: kit.at, with coordinates, where another object stood, or at its mirror image; kit.stay."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pipeline.simulation.free_space import farthest_free_place, grid
from pipeline.simulation.goals.goal import Goal, length
from pipeline.simulation.goals.spec import (
    ALL,
    FIRST,
    NONE,
    GoalSpec,
    PlannedGoal,
    SentenceForm,
    Tolerance,
    listed,
    quoted,
)
from pipeline.simulation.objects import KitError, Object, Region
from pipeline.simulation.state import State

TOLERANCE = Tolerance(0.03, widest=0.06)
SQUARE = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])


@dataclass(frozen=True)
class At(Goal):
    """a's centre is at a place on the table."""

    a: str
    xy: tuple[float, float]
    tolerance: float = TOLERANCE.default
    constrains_place: ClassVar = True
    label: ClassVar = "{a} at ({xy[0]:.2f}, {xy[1]:.2f})"

    @property
    def fixed_place(self) -> tuple[float, float]:
        return self.xy

    def miss(self, state: State) -> float:
        return max(0.0, float(np.linalg.norm(state[self.a].position[:2] - self.xy)) - self.tolerance)

    def candidate_places(self, state: State) -> list[np.ndarray]:
        """Return the place itself and a grid over the square that the tolerance spans around it."""
        return [np.array([self.xy]), self.xy + grid(Region(SQUARE * self.tolerance))]

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        if planned.kind == "at" and planned.xy and planned.names[0] == self.a:
            # Metres from which two places are different
            return float(np.hypot(*np.subtract(self.xy, planned.xy))) < 0.1
        return None

    def opposite(self, sim: Any) -> Goal:
        return elsewhere(sim, self.a)


@dataclass(frozen=True)
class Stay(Goal):
    """Objects end where they started: "leave the rest alone"."""

    names: tuple[str, ...]
    tolerance: float = TOLERANCE.default
    places: tuple[tuple[float, ...], ...] = ()
    """World positions of their centres at the start, in metres; empty until the simulation is arranged."""
    sets_place: ClassVar = False

    @property
    def name(self) -> str:
        return f"{listed(self.names)} within {self.tolerance * 100:.0f} cm of the start"

    @property
    def objects(self) -> tuple[str, ...]:
        return self.names

    @property
    def carried(self) -> tuple[str, ...]:
        return ()

    @property
    def kept(self) -> tuple[str, ...]:
        return self.names

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Stay":
        """Return the goal with the present places of its objects."""
        known = {one.name: one for one in objects.values()}
        return replace(self, places=tuple(tuple(map(float, known[name].position)) for name in self.names))

    def miss(self, state: State) -> float:
        """Return how much farther than the tolerance the one that moved most is from its start.

        Raises KitError where the goal is no part of a simulation, so that no start is known.
        """
        if len(self.places) < len(self.names):
            raise KitError('kit.stay is measured in sim.goal only; compare run.start("a") with run.end("a") instead')
        return max(0.0, *(self._distance(state, name) - self.tolerance for name in self.names))

    def _distance(self, state: State, name: str) -> float:
        return float(np.linalg.norm(state[name].position - self.places[self.names.index(name)]))

    def pursued(self, state: State, refused: Container[Goal] = ()) -> list[Goal]:
        """Return the way back of each object that has moved."""
        moved = (name for name in self.names if self._distance(state, name) > self.tolerance)
        back = [At(name, self.places[self.names.index(name)][:2], self.tolerance) for name in moved]  # type: ignore[arg-type]
        return [goal for goal in back if goal not in refused]

    def opposite(self, sim: Any) -> Goal:
        return elsewhere(sim, self.names[0])

    def canonical(self) -> Goal:
        return replace(self, names=tuple(sorted(self.names)), places=())

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        return True if planned.kind == "stay" and planned.names[0] in self.names else None


def stay(*names: str, tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that objects end at most `tolerance` metres from where they started."""
    if not names or len(set(names)) < len(names):
        raise KitError(f"stay names one or more different objects, not: {', '.join(map(str, names)) or 'none'}")
    return Stay(tuple(names), length(tolerance))


def elsewhere(sim: Any, name: str) -> At:
    """Return the goal that an object of a kit.Simulation stands as far away as it can from where it is."""
    return At(name, farthest_free_place(sim, name))


def at(a: str, xy: Sequence[float], tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that a's centre is at xy, world x and y in metres."""
    x, y = (float(v) for v in xy)
    return At(a, (x, y), length(tolerance))


def _call_at(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    x, y = goal.xy or (0.0, 0.0)
    return f'kit.at("{goal.names[0]}", ({x:.3f}, {y:.3f}))'


def _call_at_start_place(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    a, b = goal.names
    return f'kit.at("{a}", place_of_{b})'


def _call_mirrored(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    return ", ".join(f'kit.at("{name}", image["{name}"])' for name in goal.names)


def _measure_start_place(goal: PlannedGoal) -> str:
    a, b = goal.names
    return f'kit.at("{a}", run.start("{b}").position[:2])'


def _measure_mirrored(goal: PlannedGoal) -> str:
    image = f"sim.mirrored({quoted(goal.names)})"
    return ", ".join(f'kit.at("{name}", {image}["{name}"])' for name in goal.names)


def _note_places(swapped: Sequence[PlannedGoal], goals: Sequence[PlannedGoal], objects: Mapping[str, Any]) -> list[str]:
    places = dict.fromkeys(goal.names[1] for goal in swapped)
    lines = [f'place_of_{name} = sim["{name}"].position[:2]' for name in places]
    return ["# Where they stand before anything moves.", *lines]


def _note_images(
    mirrored: Sequence[PlannedGoal], goals: Sequence[PlannedGoal], objects: Mapping[str, Any]
) -> list[str]:
    return [f"image = sim.mirrored({quoted(goal.names)})" for goal in mirrored]


def _check_at(goal: PlannedGoal) -> str:
    (a,), (x, y) = goal.names, goal.xy or (0.0, 0.0)
    return f'''
def check_{a}_ends_where_it_was_wanted(sim):
    off = math.dist(sim.rollout().end("{a}").position[:2], ({x:.3f}, {y:.3f}))
    assert off < 0.05, f"{a} ends {{off * 100:.1f}} cm from its place"
'''


def _check_start_place(goal: PlannedGoal) -> str:
    a, b = goal.names
    return f'''
def check_{a}_ends_where_{b}_stood(sim):
    run = sim.rollout()
    off = math.dist(run.end("{a}").position[:2], run.start("{b}").position[:2])
    assert off < 0.05, f"{a} ends {{off * 100:.1f}} cm from where {b} stood"
'''


def _check_mirrored(goal: PlannedGoal) -> str:
    return f'''
def check_left_and_right_are_exchanged(sim):
    """Each ends as far left of the middle of them all as it started right of it, and as far away from the camera."""
    run = sim.rollout()
    names = [{quoted(goal.names)}]
    right = sim.scene.right
    ahead = [run.start(name).position[:2] @ right for name in names]
    middle = (max(ahead) + min(ahead)) / 2
    for name, before in zip(names, ahead):
        want = run.start(name).position[:2] + 2 * (middle - before) * right
        off = math.dist(run.end(name).position[:2], want)
        assert off < 0.05, f"{{name}} ends {{off * 100:.1f}} cm from its mirror image"
'''


def _check_stay(goal: PlannedGoal) -> str:
    (a,) = goal.names
    return f'''
def check_{a}_stays_where_it_stands(sim):
    moved = sim.rollout().moved("{a}")
    assert moved < 0.05, f"{a} ends {{moved * 100:.1f}} cm from where it stood"
'''


SPECS = (
    GoalSpec(
        kind="at",
        goal=At,
        function=at,
        manual='kit.at("red_cube", (0.1, 0.2), tolerance=0.03)           its centre is there',
        order=110,
        forms=(SentenceForm("{} stands at {xy}"),),
        commands=(SentenceForm("move {} to {xy}"),),
        objects=FIRST,
        tolerance=TOLERANCE,
        call=_call_at,
        checks=_check_at,
        compatible=("in_zone",),
    ),
    GoalSpec(
        kind="mirrored",
        goal=At,
        order=111,
        forms=(SentenceForm("{list} are mirrored, left and right exchanged"),),
        commands=(
            SentenceForm("mirror {list}"),
            SentenceForm("mirror {list}: exchange left and right"),
        ),
        carried=ALL,
        call=_call_mirrored,
        measure=_measure_mirrored,
        setup=_note_images,
        checks=_check_mirrored,
        compatible=("in_zone", "left_of"),
    ),
    GoalSpec(
        kind="where",
        goal=At,
        order=112,
        forms=(SentenceForm("{} stands where {} stood"),),
        commands=(SentenceForm("put {} in the place of {}"),),
        call=_call_at_start_place,
        measure=_measure_start_place,
        setup=_note_places,
        checks=_check_start_place,
        compatible=("in_zone", "near", "left_of"),
    ),
    GoalSpec(
        kind="stay",
        goal=Stay,
        function=stay,
        manual='kit.stay("blue_cube", "yellow_can", tolerance=0.03)      end where they started',
        order=205,
        forms=(SentenceForm("{} stays where it stands"),),
        commands=(SentenceForm("leave {} where it stands"), SentenceForm("leave {} alone")),
        carried=NONE,
        measure=lambda goal: f'kit.at("{goal.names[0]}", run.start("{goal.names[0]}").position[:2])',
        checks=_check_stay,
    ),
)

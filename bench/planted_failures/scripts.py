"""How a planted episode fails: each script is an iterator of actions that knows every pose and does one thing wrong.

A script raises UnplantedError where it could not do what its name says. It never asks the classifier.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bench.planted_failures.staging import Staged, UnplantedError, go, gripper, still, wait
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS
from pipeline.simulation import kit

Actions = Iterator[np.ndarray]
HIGH_M, LIFTED_M, PUSHED_M = 0.08, 0.06, 0.05
UP_M = np.array([0, 0, 0.12])


def require(holds: bool, what: str) -> None:
    if not holds:
        raise UnplantedError(what)


def until(actions: np.ndarray, over: Callable[[], bool], begin: int = 0) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the actions of a demonstration, with their numbers, until something is so."""
    for number, action in enumerate(actions[begin:], begin):
        if over():
            return
        yield number, action
    raise UnplantedError("the demonstration ended before the script could act")


def last_seconds(stage: Staged, actions: np.ndarray) -> None:
    """Give the episode the time of the actions and two seconds more."""
    stage.seconds = len(actions) * CONTROL_SECONDS + 2.0


def shifted(name: str, by: np.ndarray) -> Callable[[kit.Simulation], None]:
    return lambda sim: sim.move(name, sim[name].position[:2] + by)


def above(stage: Staged, name: str, height: float) -> np.ndarray:
    return np.array([*stage.place(name)[:2], stage.sim[name].top + height])


def unit(stage: Staged) -> np.ndarray:
    turn = stage.random.uniform(0, 2 * np.pi)
    return np.array([np.cos(turn), np.sin(turn)])


# ---------------------------------------------------------------------- never reached


def stays_home(stage: Staged) -> Actions:
    yield from wait(stage, 9.0)


def stops_short(stage: Staged) -> Actions:
    """Goes to 4 cm above the object and stays there."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    near = lambda: np.linalg.norm(stage.tool() - above(stage, stage.target, 0.0)) < 0.05  # noqa: E731
    for _, action in until(actions, near):
        yield action
    require(not stage.touches(stage.target), "it touched the object")
    yield from wait(stage, stage.seconds)


def hovers_over_another(stage: Staged) -> Actions:
    yield from go(stage, above(stage, stage.others[0], HIGH_M))
    yield from wait(stage, 9.0)


def wanders(stage: Staged) -> Actions:
    """Moves about in the air above everything until the time is over."""
    top = max(o.top for o in stage.sim.objects) + HIGH_M
    start = stage.tool()
    yield from go(stage, np.array([*start[:2], max(start[2], top)]))
    while True:
        yield from go(stage, np.array([*(start[:2] + stage.random.uniform(-0.1, 0.1, 2)), max(start[2], top)]))


def grasps_elsewhere(stage: Staged) -> Actions:
    """Closes at an empty place far from the object, and does the rest of the task with an empty hand."""
    place = stage.free_place(stage.target, 0.15)
    actions = stage.demonstration(lambda sim: sim.move(stage.target, place))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) < 0.005, "it touched the object")


# ---------------------------------------------------------------------- missed grasp


def never_closes(stage: Staged) -> Actions:
    actions = stage.demonstration()
    last_seconds(stage, actions)
    for action in actions:
        yield gripper(stage, action, 0.0)
    require(stage.shift(stage.target) < 0.05 and stage.rise(stage.target) < 0.01, "it moved the object")


def closes_beside(stage: Staged) -> Actions:
    """Goes down and closes right beside the object, and does the rest of the task with an empty hand."""
    size = stage.sim[stage.target].radius
    for _ in range(8):
        by = unit(stage) * (size + stage.random.uniform(0.01, 0.025))
        if stage.is_free_of_others(stage.target, by):
            break
    actions = stage.demonstration(shifted(stage.target, by))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) < 0.05 and stage.rise(stage.target) < 0.01, "it moved the object")


def closes_above(stage: Staged) -> Actions:
    """Closes 4.5 cm above where it should, and does the rest of the task with an empty hand."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    begin, height, end = stage.grasp_of(actions)
    for action in actions[:begin]:
        sent = stage.sent_to()[2]
        yield action
        if height + 0.045 > stage.sent_to()[2] < sent:
            break
    for _ in range(20):
        yield gripper(stage, still(stage), 1.0)
    require(stage.rise(stage.target) < 0.005, "it held the object")
    yield from actions[end:]
    require(stage.shift(stage.target) < 0.05 and stage.rise(stage.target) < 0.01, "it moved the object")


def lets_go_at_once(stage: Staged) -> Actions:
    """Closes on the object and opens again before it is off the table."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    for _, action in until(actions, lambda: stage.is_closed() and stage.has(stage.target)):
        yield action
    for _ in range(15):
        yield gripper(stage, still(stage), 0.0)
    require(stage.rise(stage.target) < 0.005, "it lifted the object")
    yield from go(stage, stage.tool() + UP_M)
    yield from wait(stage, stage.seconds)


# ---------------------------------------------------------------------- dropped


def carried_so_far(stage: Staged, name: str, share: float) -> bool:
    """Whether an object is in the air, and so much of the way to where it belongs is behind it."""
    goal = next(g for _, goals in stage.world.stages for g in goals if name in g.carried)
    end = stage.place(goal.objects[1])[:2] if len(goal.objects) > 1 else np.array(goal.fixed_place)
    here, start = stage.place(name)[:2], stage.start(name)[:2]
    gone = float(np.dot(here - start, end - start) / np.dot(end - start, end - start))
    return stage.rise(name) > LIFTED_M and gone > share


def opening_when(stage: Staged, actions: np.ndarray, over: Callable[[], bool]) -> Actions:
    """Play a demonstration until something is so, stop, open, and go on with an open gripper."""
    number = 0
    for number, action in until(actions, over):  # noqa: B007
        yield action
    yield from wait(stage, 0.4)
    for _ in range(10):
        yield gripper(stage, still(stage), 0.0)
    for action in actions[number:]:
        yield gripper(stage, action, 0.0)


def opens_on_the_way(stage: Staged) -> Actions:
    """Opens in the air half-way, and goes on without the object."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    yield from opening_when(stage, actions, lambda: carried_so_far(stage, stage.target, 0.45))


def opens_after_lifting(stage: Staged) -> Actions:
    """Opens as soon as the object is in the air, and stays there."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    for _, action in until(actions, lambda: stage.rise(stage.target) > LIFTED_M):
        yield action
    while True:
        yield gripper(stage, still(stage), 0.0)


def opens_too_high(stage: Staged) -> Actions:
    """Opens shortly before the place, still high above it, and goes home."""
    actions = stage.demonstration()
    last_seconds(stage, actions)
    for _, action in until(actions, lambda: carried_so_far(stage, stage.target, 0.7)):
        yield action
    for _ in range(15):
        yield gripper(stage, still(stage), 0.0)
    yield from go(stage, stage.tool() + UP_M)
    yield from wait(stage, stage.seconds)


def drops_the_second(stage: Staged) -> Actions:
    """Puts the first object where it belongs, and opens in the air with the second."""
    names = [name for name, _ in stage.planted.move]
    actions = stage.demonstration()
    last_seconds(stage, actions)
    carried: list[str] = []

    def second_is_up() -> bool:
        carried.extend(name for name in names if stage.rise(name) > LIFTED_M and name not in carried)
        return len(carried) == 2 and carried_so_far(stage, carried[1], 0.4)

    yield from opening_when(stage, actions, second_is_up)


# ---------------------------------------------------------------------- wrong object


def another(stage: Staged) -> str:
    """Return the other object that is nearest to the target in size, so that the robot can carry it."""
    size = lambda name: float(np.abs(stage.sim[name].size - stage.sim[stage.target].size).sum())  # noqa: E731
    return min(stage.others, key=size)


def another_to_the_goal(stage: Staged) -> Actions:
    where = stage.planted.move[0][1]
    place = np.array(stage.goal(stage.target, where).fixed_place) if where == "at" else None
    other = another(stage)
    goal = kit.at(other, place) if place is not None else stage.goal(other, where)
    actions = stage.demonstration(None, goal)
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(other) > PUSHED_M, f"{other} was not carried")


def another_elsewhere(stage: Staged) -> Actions:
    other = another(stage)
    actions = stage.demonstration(None, kit.at(other, stage.free_place(other, 0.12)))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(other) > PUSHED_M, f"{other} was not carried")


def keeps_another_in_the_air(stage: Staged) -> Actions:
    other = another(stage)
    actions = stage.demonstration(None, kit.at(other, stage.free_place(other, 0.12)))
    last_seconds(stage, actions)
    for _, action in until(actions, lambda: stage.rise(other) > LIFTED_M):
        yield action
    yield from wait(stage, stage.seconds)


def drops_another(stage: Staged) -> Actions:
    other = another(stage)
    actions = stage.demonstration(None, kit.at(other, stage.free_place(other, 0.12)))
    last_seconds(stage, actions)
    yield from opening_when(stage, actions, lambda: stage.rise(other) > LIFTED_M)


# ---------------------------------------------------------------------- right object, wrong place


def puts_it_elsewhere(stage: Staged) -> Actions:
    """Puts the object down at a free place, away from where it belongs and from where it stood."""
    place = stage.free_place(stage.target, 0.1 + 0.03 * (stage.planted.layout % 3))
    goal = stage.goal(*stage.planted.move[0])
    if stage.planted.move[0][1] == "at":
        place = next(
            p
            for d in (0.1, 0.2, 0.25, 0.3)
            if np.linalg.norm((p := stage.free_place(stage.target, d)) - goal.fixed_place) > 0.08
        )
    actions = stage.demonstration(None, kit.at(stage.target, place))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) > PUSHED_M, "the object was not carried")


def puts_it_on_another(stage: Staged) -> Actions:
    """Puts the object onto something that it does not belong on."""
    flat = [o for o in stage.others if stage.sim[o].shape in ("box", "cube", "cylinder")]
    lowest = min(flat, key=lambda name: stage.sim[name].top)
    actions = stage.demonstration(None, kit.on(stage.target, lowest))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) > PUSHED_M, "the object was not carried")


def misses_narrowly(stage: Staged) -> Actions:
    """Puts the object down 6 to 8 cm beside the place where it belongs."""
    (_, where), goal = stage.planted.move[0], stage.goal(*stage.planted.move[0])
    require(where == "at", "it takes a place on the table")
    for _ in range(40):
        place = np.array(goal.fixed_place) + unit(stage) * stage.random.uniform(0.06, 0.08)
        if stage.is_free(place, stage.sim[stage.target].radius + 0.01):
            break
    actions = stage.demonstration(None, kit.at(stage.target, place, tolerance=0.01))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) > PUSHED_M, "the object was not carried")


def exchanges_places(stage: Staged) -> Actions:
    """Puts the first object where the second belongs, and nothing else."""
    (first, _), (_, where) = stage.planted.move
    actions = stage.demonstration(None, stage.goal(first, where))
    last_seconds(stage, actions)
    yield from actions
    require(stage.shift(stage.target) > PUSHED_M, "the object was not carried")

"""Scripts that fail by pushing something else aside, or by taking too long; see scripts.py."""

import numpy as np

from bench.planted_failures.scripts import (
    LIFTED_M,
    PUSHED_M,
    UP_M,
    Actions,
    carried_so_far,
    last_seconds,
    require,
    unit,
    until,
)
from bench.planted_failures.staging import Staged, UnplantedError, go, wait
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS

# ---------------------------------------------------------------------- collision


def sweep(stage: Staged, name: str, target_gap: float = 0.1) -> Actions:
    """Push an object by 8 cm with the closed hand, low over the table, away from what the task is about."""
    at = stage.place(name)[:2]
    reach, target = stage.sim[name].radius, stage.place(stage.target)[:2]
    for _ in range(60):
        way = unit(stage)
        begin, end = at - way * (reach + 0.06), at + way * 0.1
        on_table = all(stage.sim.scene.table.contains(p, margin=0.0) for p in (begin, end))
        if (
            on_table
            and stage.is_free(begin, 0.03)
            and min(np.linalg.norm(p - target) for p in (begin, end)) > (target_gap + stage.sim[stage.target].radius)
        ):
            break
    else:
        raise UnplantedError("there is no way to push it")
    low = max(0.02, min(0.04, stage.sim[name].top - 0.015))
    over = max(o.top for o in stage.sim.objects) + 0.04
    yield from go(stage, np.array([*stage.tool()[:2], max(stage.tool()[2], over)]))
    yield from go(stage, np.array([*begin, over]))
    yield from go(stage, np.array([*begin, low]))
    yield from go(stage, np.array([*(at + way * 0.04), low]), 0.2)
    yield from wait(stage, 0.3)
    yield from go(stage, stage.tool() + UP_M)
    require(stage.shift(name) > PUSHED_M, f"{name} was not pushed")


def sweeps_another_aside(stage: Staged) -> Actions:
    """Pushes another object aside and stops."""
    yield from sweep(stage, stage.others[stage.planted.layout % len(stage.others)])
    require(stage.shift(stage.target) < 0.01, "the object moved, too")
    yield from wait(stage, 9.0)


def sweeps_two_aside(stage: Staged) -> Actions:
    """Pushes two other objects aside, one after the other, and stops."""
    for name in stage.others[:2]:
        yield from sweep(stage, name)
    require(stage.shift(stage.target) < 0.01, "the object moved, too")
    yield from wait(stage, 9.0)


def shoves_the_holder(stage: Staged) -> Actions:
    """Pushes aside what the object belongs on, and then puts the object where that stood."""
    actions = stage.demonstration()
    holder, home = stage.planted.move[0][1].split()[1], stage.tool()
    commands = stage.robot.commanded()
    yield from sweep(stage, holder)
    yield from go(stage, home)
    for _ in range(40):
        yield stage.world.action(stage.robot.commands(commands))
    last_seconds(stage, actions)
    stage.seconds += stage.now() + 1.0
    yield from actions
    require(stage.shift(holder) > PUSHED_M and stage.shift(stage.target) > PUSHED_M, "it did not do both")


def carries_it_through_another(stage: Staged) -> Actions:
    """Lifts the object, pushes another one aside with it, and stops with the object in the air."""
    actions = stage.demonstration()
    for _, action in until(actions, lambda: stage.rise(stage.target) > LIFTED_M):
        yield action
    name = min(stage.others, key=lambda one: -stage.sim[one].top)
    at, here = stage.place(name)[:2], stage.tool()[:2]
    way = (at - here) / np.linalg.norm(at - here)
    yield from go(stage, np.array([*(at + way * 0.05), stage.tool()[2]]), 0.2)
    require(stage.shift(name) > PUSHED_M, f"{name} was not pushed")
    require(stage.rise(stage.target) > 0.02, "it lost the object")
    yield from wait(stage, 9.0)


# ---------------------------------------------------------------------- time


def slow_actions(stage: Staged, actions: np.ndarray, factor: int) -> Actions:
    """Yield the actions at a fraction of their speed."""
    for action in actions:
        state = stage.world.data.ctrl.copy()
        end = stage.world.command(action)
        for k in range(1, factor + 1):
            step = stage.world.action(state + (end - state) * k / factor)
            step[stage.robot.grippers] = action[stage.robot.grippers]
            yield step


def too_slow_to_carry(stage: Staged) -> Actions:
    """Does all right at a third of the speed; the time is over while the object is in the hand."""
    actions = stage.demonstration()
    stage.seconds = 3 * CONTROL_SECONDS * stage.first(actions, lambda: carried_so_far(stage, stage.target, 0.5))
    yield from slow_actions(stage, actions, 3)


def too_slow_to_reach(stage: Staged) -> Actions:
    """Does all right at a fifth of the speed; the time is over on the way to the object."""
    actions = stage.demonstration()
    stage.seconds = 5 * CONTROL_SECONDS * 0.8 * stage.first(actions, lambda: stage.touches(stage.target))
    yield from slow_actions(stage, actions, 5)


def begins_late(stage: Staged) -> Actions:
    """Hesitates for six seconds, then does all right; the time is over while the object is in the hand."""
    actions = stage.demonstration()
    half = stage.first(actions, lambda: carried_so_far(stage, stage.target, 0.4))
    stage.seconds = 6.0 + CONTROL_SECONDS * half
    yield from wait(stage, 6.0)
    yield from actions


def is_cut_off(stage: Staged) -> Actions:
    """Does all right at its usual speed, in an episode that is too short."""
    actions = stage.demonstration()
    stage.seconds = CONTROL_SECONDS * stage.first(actions, lambda: carried_so_far(stage, stage.target, 0.7))
    yield from actions


def has_no_time_for_the_second(stage: Staged) -> Actions:
    """Puts the first object where it belongs; the time is over on the way with, or to, the second."""
    names = [name for name, _ in stage.planted.move]
    actions, carried = stage.demonstration(), []

    def second() -> bool:
        carried.extend(name for name in names if stage.rise(name) > LIFTED_M and name not in carried)
        return len(carried) == 2

    share = 0.9 if stage.planted.layout % 2 else 1.0
    placed = stage.first(actions, second)
    stage.seconds = CONTROL_SECONDS * share * placed
    yield from actions

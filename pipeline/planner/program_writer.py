"""Programs from planned goals: the simulation that a careful engineer would write first, and its checks."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.planner.scene_objects import SceneObject, TableTop, scene_objects
from pipeline.planner.zones import place_zones, zones_to_clear
from pipeline.simulation.goals.sentences import named_objects
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs, quoted
from pipeline.simulation.goals.stages import lasting

TRAY_HEIGHT = 0.05
"""Height of a container that the program adds, in metres."""
MAX_DISTRACTORS = 3
"""Objects that are scattered where the goals carry none."""


def simulation_source(
    instruction: str,
    goals: Sequence[PlannedGoal],
    scene: Mapping[str, Any],
    tolerances: Mapping[PlannedGoal, float] | None = None,
    alone: bool = False,
) -> str:
    """Return the source of simulation.py.

    Args:
        tolerances: of goals that are to be met less exactly than usual, in metres.
        alone: leave out the objects that no goal names.
    """
    objects, required = scene_objects(scene), named_objects(goals)
    known = {o.name: o for o in objects}
    table = TableTop.from_json(scene)
    lines: list[str] = []
    places = None if alone else place_zones(goals, objects, table)
    if places is None:
        lines += ["# The others are in the way.", f"sim.keep({quoted(required)})"]
        places = place_zones(goals, [known[name] for name in required], table) or {}
    added = {goal.names[1] for goal in goals if goal.new_container}
    for name, (xy, size) in places.items():
        place = f"xy=({xy[0]:.3f}, {xy[1]:.3f}), size=({size:.3f}, {size:.3f})"
        container = f'sim.add_container("{name}", {place}, height={TRAY_HEIGHT})'
        lines.append(container if name in added else f'sim.add_zone("{name}", {place})')
    leaving = [goal for goal in goals if goal.spec.zone == "clear"]
    for name, (centre, size) in zones_to_clear(goals, objects, table).items():
        place = f"xy=({centre[0]:.3f}, {centre[1]:.3f}), size=({size[0]:.3f}, {size[1]:.3f})"
        inside = [goal.names[0] for goal in leaving if goal.names[1] == name]
        lines += [f'sim.add_zone("{name}", {place})', f'sim.scatter({quoted(inside)}, within="{name}")']
    within = {goal.names[0] for goal in leaving}
    scattered = [name for name in _objects_to_scatter(goals, known) if name not in within]
    images = any(goal.kind == "mirrored" and set(goal.names) == set(scattered) for goal in goals)
    lines += [f"sim.scatter({quoted(scattered)}{', mirrored=True' * images})"] if scattered else []
    for spec in goal_specs().values():
        mine = [goal for goal in goals if goal.kind == spec.kind]
        lines += spec.setup(mine, goals, known) if mine and spec.setup else []
    for stage in sorted({goal.stage for goal in goals}):
        lines += _stage_lines([goal for goal in goals if goal.stage == stage], known, tolerances or {})
    body = textwrap.indent("\n".join(lines), "    ")
    doc = " ".join(instruction.replace("\\", "").replace('"""', "").split())
    return (
        "import kit\n\n\ndef build(scene, seed):\n"
        f'    """{doc.rstrip(chr(34))}"""\n    sim = kit.Simulation(scene, seed)\n{body}\n    return sim\n'
    )


def _objects_to_scatter(goals: Sequence[PlannedGoal], known: Mapping[str, SceneObject]) -> list[str]:
    """Return the objects that get new places: those of the goals, but no furniture and no container to be filled.

    Where the goals only open and shut parts, the smallest objects around.
    """
    holders = {goal.names[-1] for goal in goals if goal.spec.holds_others and not goal.new_container}
    loose = [
        n
        for n in named_objects([goal for goal in goals if goal.kind != "stay"])
        if n in known and (n not in holders or not known[n].container)
    ]
    if movable := [n for n in loose if not known[n].parts]:
        return movable
    if any(goal.carried for goal in goals):
        return []
    return [o.name for o in sorted(known.values(), key=lambda o: o.width) if not o.parts][:MAX_DISTRACTORS]


def _stage_lines(
    goals: Sequence[PlannedGoal], known: Mapping[str, SceneObject], tolerances: Mapping[PlannedGoal, float]
) -> list[str]:
    """Return the lines that state goals as one stage."""
    staying = [name for goal in goals if goal.kind == "stay" for name in goal.names]
    goals = [goal for goal in goals if goal.kind != "stay"]
    calls = [goal.spec.call(goal, known) for goal in goals]
    for index, goal in enumerate(goals):
        if goal in tolerances:
            calls[index] = f"{calls[index][:-1]}, tolerance={tolerances[goal]:.3f})"
    calls += [f"kit.stay({quoted(staying)})"] if staying else []
    if len(calls) == 1 and len(calls[0]) < 100:
        return [f"sim.goal({calls[0]})"]
    return ["sim.goal(", *(f"    {call}," for call in calls), ")"]


GENERAL_CHECKS = {
    "check_oracle_solves_it": '''
def check_oracle_solves_it(sim):
    """The scripted robot reaches every goal."""
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"
''',
    "check_nothing_is_solved_at_the_start": '''
def check_nothing_is_solved_at_the_start(sim):
    """A task that is done already is no task."""
    reward = sim.reward_at_start()
    assert reward < 0.99, f"reward {reward:.2f} before anything moved: the goals hold at the start"
''',
    "check_robot_grasps_an_object": '''
def check_robot_grasps_an_object(sim):
    """Something was picked up: the goals are not reached by things that fall or roll."""
    assert sim.rollout().grasps, "the robot picked nothing up"
''',
    "check_nothing_falls_off_the_table": """
def check_nothing_falls_off_the_table(sim):
    run = sim.rollout()
    for thing in sim.objects:
        top = run.end(thing.name).top
        assert top > 0, f"{thing.name} ends {-top * 100:.0f} cm below the table's top"
""",
}
"""Checks of every program, by name."""


def check_functions(goals: Sequence[PlannedGoal]) -> dict[str, str]:
    """Return the functions of checks.py by name; each goal is measured from poses, not by its own predicate."""
    functions = dict(GENERAL_CHECKS)
    stages = [[goal for goal in goals if goal.stage == stage] for stage in sorted({goal.stage for goal in goals})]
    if len(stages) > 1:
        functions["check_steps_are_done_in_order"] = _order_check(stages)
    for goal in lasting(stages):
        for source in re.findall(r"^def .*?(?=^def |\Z)", goal.spec.checks(goal), re.M | re.S):
            name = source.split("(")[0].strip().removeprefix("def ")
            functions.setdefault(name, "\n" + source.strip() + "\n")
    return functions


def _order_check(stages: Sequence[Sequence[PlannedGoal]]) -> str:
    """Return the check that the goals of each stage are met before those of the next."""
    steps = [f"        [{', '.join(goal.spec.measure(goal) for goal in goals)}]," for goals in stages]
    return "\n".join(
        (
            "",
            "def check_steps_are_done_in_order(sim):",
            '    """Each step is completed before the next one begins to count."""',
            "    run = sim.rollout()",
            "    why = run.why_not_in_order(",
            *steps,
            "    )",
            "    assert not why, why",
            "",
        )
    )


def checks_source(goals: Sequence[PlannedGoal]) -> str:
    """Return the source of checks.py."""
    functions = [source.strip("\n") for source in check_functions(goals).values()]
    head = [f"import {name}" for name in ("math", "kit") if any(f"{name}." in source for source in functions)]
    head = ["\n".join(head)] if head else []
    return "\n\n\n".join([*head, *functions]) + "\n"

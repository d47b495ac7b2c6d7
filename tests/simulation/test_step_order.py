"""Steps of a task have to be done in order: a rollout in another order fails the checks, one in order passes."""

import itertools

import pytest
from kit_programs import arranged, failures

from pipeline.planner import PlannerModel, program_writer
from pipeline.planner.goals import read_sentences
from pipeline.simulation import kit, rollout
from pipeline.tasks import scene_to_json, understand_instruction

TASKS = {
    "two steps": "First put the green cube into the white bowl, then put the red cube on the blue cube.",
    "one object twice": (
        "First put the red cube on the blue cube, then put the green cube into the white bowl, "
        "finally move the red cube to the right."
    ),
}


def program_of(scene, instruction):
    """Return a function that arranges the simulation, and the program's checks."""
    goals = read_sentences(understand_instruction(instruction, scene, PlannerModel()).goals)
    assert goals
    simulation = program_writer.simulation_source(instruction, goals, scene_to_json(scene))
    return lambda: arranged(simulation, scene), program_writer.checks_source(goals)


@pytest.mark.parametrize("task", TASKS)
def test_only_the_stated_order_passes(scene, task):
    build, checks = program_of(scene, TASKS[task])
    assert not failures(checks, build())
    stages = build().stages
    for order in itertools.permutations(stages):
        if order == stages:
            continue
        sim = build()
        sim._run = rollout.roll_out(sim.bench(), order)
        assert failures(checks, sim), [name for name, _ in order]


def test_a_wrong_order_is_named_and_a_step_undone_later_or_held_at_the_start_is_none(scene):
    build, checks = program_of(scene, TASKS["two steps"])
    sim = build()
    sim._run = rollout.roll_out(sim.bench(), tuple(reversed(sim.stages)))
    assert failures(checks, sim) == {
        "check_steps_are_done_in_order": "red_cube on blue_cube came before green_cube inside white_bowl"
    }
    build, _ = program_of(scene, TASKS["one object twice"])
    run = build().rollout()
    assert run.solved and all(goal["met"] for goal in run.goals), run.why
    assert not run.touching("red_cube", "blue_cube")
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.inside("green_cube", "white_bowl"))
    sim.goal(kit.left_of("red_cube", "blue_cube"))
    assert not sim.rollout().why_not_in_order(*(goals for _, goals in sim.stages))

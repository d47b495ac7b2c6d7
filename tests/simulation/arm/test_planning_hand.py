"""A dry run of the arm plans what a rollout does, and says why a task cannot be done."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.feasibility import best_first, feasible_first, plan_candidates, read_feasibility, why_not_feasible
from pipeline.planner import PlannerModel
from pipeline.planner.proposals import alternatives, proposals
from pipeline.simulation import kit
from pipeline.simulation.robots import robot_kind
from pipeline.tasks import ask_for_proposals, scene_to_json, understand_instruction


def planned(table, robot, moves, *goals):
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot_kind(robot).make(moves)), 0)
    sim.keep("red_cube", "blue_cube", "yellow_can", "white_bowl")
    sim.goal(*goals)
    return sim.rollout()


@pytest.mark.parametrize("robot", ["arm", "arm-suction"])
def test_objects_end_where_the_arm_sets_them_down(table, robot):
    goals = kit.on("red_cube", "blue_cube"), kit.at("yellow_can", (0.15, 0.1))
    dry, real = (planned(table, robot, moves, *goals) for moves in (False, True))
    assert dry.solved and real.solved, (dry.why, real.why)
    assert np.ptp(dry.actions, axis=0).max() < 1e-9, "the arm stays at home in a dry run"
    assert [(e.verb, e.object) for e in dry.events] == [(e.verb, e.object) for e in real.events]
    for name in ("red_cube", "blue_cube", "yellow_can"):
        assert np.allclose(dry.end(name).position, real.end(name).position, atol=0.012)


def test_tasks_that_the_robot_can_do_come_first_and_others_keep_their_reason(table, sandbox):
    scene = kit.Scene.load(table)
    able, unable = (
        understand_instruction(text, scene, PlannerModel())
        for text in ("Put the red cube on the blue cube", "Move the white bowl into the zone on the left")
    )
    results = {}
    for task in (unable, able):
        results[task] = why_not_feasible(task, table, sandbox, "arm")
        assert read_feasibility(task, table, "arm") == results[task]
        assert why_not_feasible(task, table, sandbox, "gripper") == ""
    ordered = feasible_first([unable, able], table, "arm")
    assert [bool(results[task]) for task in ordered] == sorted(bool(reason) for reason in results.values())
    assert results[able] == ""


def test_of_each_kind_a_feasible_candidate_is_chosen_also_of_other_tasks(table, sandbox, monkeypatch):
    data = scene_to_json(scene := kit.Scene.load(table))
    first, more = ({p.instruction for p in plans} for plans in (proposals(data), alternatives(data)))
    assert more and not first & more and len(more) == len(alternatives(data))
    candidates = ask_for_proposals(scene, PlannerModel(), alternatives=True).tasks
    reasons = {task.instruction: "too wide" for task in candidates if "red" in task.instruction}
    monkeypatch.setattr("pipeline.feasibility.why_not_feasible", lambda task, *_: reasons.get(task.instruction, ""))
    chosen = best_first(list(plan_candidates(candidates, table, sandbox, "arm")), 99)
    assert len({one.task.instruction for one in chosen}) == len(chosen)
    assert [bool(one.reason) for one in chosen] == sorted(bool(one.reason) for one in chosen)
    kinds_able = {task.kind for task in candidates if task.instruction not in reasons}
    assert {one.task.kind for one in chosen if one.reason}.isdisjoint(kinds_able)
    assert {one.task.kind for one in chosen} == {task.kind for task in candidates}

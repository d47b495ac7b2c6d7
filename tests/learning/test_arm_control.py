"""The arm acts by the floating gripper's actions: the same policy moves, takes hold and lets go with either."""

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from planted_policies import STILL, ScriptedPolicy

from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.episodes import play, success_rate
from pipeline.learning.subtask import LearningError
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.simulation.robots import robot_kind


@pytest.fixture(scope="module")
def arm_task(bowl_task):
    return bowl_task.with_robot(robot_kind("arm-suction").make(True))


@pytest.fixture(scope="module")
def starts(arm_task, bowl_subtasks):
    world = SubtaskWorld(arm_task, bowl_subtasks[0])
    return [world.settled(layout) for layout in arm_task.get(range(3))]


def test_the_arm_is_seen_and_acts_in_the_floating_grippers_shape(arm_task, bowl_task, bowl_subtasks):
    for subtask in bowl_subtasks:
        arm, floating = SubtaskEnv(arm_task, subtask), SubtaskEnv(bowl_task, subtask)
        assert arm.observation_space == floating.observation_space and arm.action_space == floating.action_space
    control = SubtaskWorld(arm_task, bowl_subtasks[0]).control
    with pytest.raises(LearningError, match="demonstrations are of the floating gripper"):
        control.action(np.zeros(control.model.nu))
    with pytest.raises(LearningError, match="not on a GPU"):
        control.ramp(STILL)


@pytest.mark.parametrize("direction", np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_the_cup_goes_where_it_is_told_and_looks_down(arm_task, bowl_subtasks, starts, direction):
    """Half of the fastest motion for half a second, from 30 cm above the table, then still for as long."""
    world = SubtaskWorld(arm_task, bowl_subtasks[0])
    world.begin(starts[0])
    before = world.control.tip
    for action in [[*(0.5 * np.array(direction)), 0, -1]] * 5 + [STILL] * 5:
        world.step(np.array(action))
    assert world.control.tip - before == pytest.approx(2.5 * RATE.slide_m * np.array(direction), abs=0.006)
    assert world.data.site("arm/hand/pinch").xmat.reshape(3, 3)[:, 2] == pytest.approx([0, 0, -1], abs=0.02)


def test_no_place_out_of_reach_is_gone_to_and_a_cup_that_holds_nothing_is_solid(arm_task, bowl_subtasks, starts):
    world = SubtaskWorld(arm_task, bowl_subtasks[0])
    world.begin(starts[0])
    for _ in range(60):
        world.step(np.array([0, 0, 1.0, 0, -1]))
    assert np.isfinite(world.data.qpos).all() and world.control.tip[2] < 1.3
    env = SubtaskEnv(arm_task, bowl_subtasks[0], starts[:1])
    (reached,) = play(env, ScriptedPolicy(env), starts[:1])
    pick = SubtaskEnv(arm_task, bowl_subtasks[1], [reached.end])
    for _ in range(2):
        (episode,) = play(pick, ScriptedPolicy(pick), [reached.end])
        assert episode.success


def test_a_hand_that_knows_every_pose_solves_each_subtask_with_the_arm(arm_task, bowl_subtasks, starts):
    states = starts
    for subtask in bowl_subtasks:
        env = SubtaskEnv(arm_task, subtask, states)
        episodes = list(play(env, ScriptedPolicy(env), states))
        assert success_rate(episodes) == 1, subtask.name
        states = [one.end for one in episodes]


def test_an_episode_goes_on_exactly_from_a_kept_state_with_something_held(arm_task, bowl_subtasks, starts):
    reach, pick, place = bowl_subtasks
    ends = starts[:1]
    for subtask in (reach, pick):
        env = SubtaskEnv(arm_task, subtask, ends)
        ends = [one.end for one in play(env, ScriptedPolicy(env), ends)]
    worlds = [SubtaskWorld(arm_task, place) for _ in range(2)]
    for world in worlds:
        world.begin(ends[0])
    assert worlds[0].control.held == "red_cube"
    actions = np.random.default_rng(2).uniform(-0.3, 0.3, (8, 5))
    actions[:, 4] = 1.0  # the vacuum stays on
    for action in actions:
        for world in worlds:
            world.step(action)
    assert (worlds[0].data.qpos == worlds[1].data.qpos).all() and worlds[0].control.held == "red_cube"

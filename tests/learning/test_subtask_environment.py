"""The environment of a subtask: it runs exactly again, its reward cannot replace success, and success is physical."""

import numpy as np
import pytest
import small_task

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from gymnasium.utils.env_checker import check_env
from planted_policies import STILL, ScriptedPolicy

from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import finish, play, success_rate
from pipeline.learning.pushing import push_line
from pipeline.learning.start_states import read_states, write_states
from pipeline.learning.subtask import LearningError
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.terms.term import reward_terms, term_from_json
from pipeline.simulation import kit
from pipeline.simulation.goals.hand import grasp_point, hand_of


@pytest.fixture(scope="module")
def envs(bowl_task, bowl_subtasks):
    return [SubtaskEnv(bowl_task, one) for one in bowl_subtasks]


@pytest.fixture(scope="module")
def starts(bowl_task, bowl_subtasks):
    world = SubtaskWorld(bowl_task, bowl_subtasks[0])
    return [world.settled(layout) for layout in bowl_task.get(range(4))]


def random_actions(seed, count=25):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 5))


def rolled(env, actions, **reset):
    observation, _ = env.reset(**reset)
    seen = [observation]
    for action in actions:
        observation, reward, ended, _, _ = env.step(action)
        seen.append(np.append(observation, reward))
        if ended:
            break
    return seen


@pytest.mark.parametrize("number", range(3))
def test_gymnasium_finds_nothing_to_complain_about(envs, number, recwarn):
    check_env(envs[number], skip_render_check=True)  # raises what is wrong, warns of what is doubtful
    doubts = [str(one.message) for one in recwarn if one.category is not ResourceWarning]  # of an earlier test
    assert doubts == []


def test_the_same_seed_gives_the_same_rollout_and_layouts_differ(bowl_task, bowl_subtasks, starts):
    one, other = (SubtaskEnv(bowl_task, bowl_subtasks[0], starts) for _ in range(2))
    actions = random_actions(1)
    runs = [rolled(env, actions, seed=7) for env in (one, other, one)]
    for run in runs[1:]:
        assert all((a == b).all() for a, b in zip(runs[0], run, strict=True))
    assert {env.reset(seed=seed)[1]["layout"] for env in (one,) for seed in range(20)} == {0, 1, 2, 3}
    base = bowl_task.base.objects["red_cube"].position
    assert np.allclose(kit.Scene.load(bowl_task._scene.folder.parent)["red_cube"].position, base)
    places = {tuple(layout.objects["red_cube"].position.round(3)) for layout in bowl_task.get(range(4))}
    assert len(places) == 4 and [one.layout for one in starts] == [0, 1, 2, 3]


def test_an_episode_goes_on_exactly_from_a_kept_state(bowl_task, bowl_subtasks, starts, tmp_path):
    reach, pick, _ = bowl_subtasks
    env = SubtaskEnv(bowl_task, reach, starts)
    (end,) = [one.end for one in play(env, ScriptedPolicy(env), starts[1:2])]
    picking = SubtaskEnv(bowl_task, pick, [end])
    (held,) = [one.end for one in play(picking, ScriptedPolicy(picking), [end])]
    assert held.holding >= 0
    write_states(tmp_path / "end_states.npz", [end, held])
    read = read_states(tmp_path / "end_states.npz")
    assert [one.layout for one in read] == [1, 1] and [one.holding for one in read] == [-1, held.holding]
    actions = random_actions(3)
    one = rolled(SubtaskEnv(bowl_task, bowl_subtasks[2], [held]), actions, seed=0)
    other = rolled(SubtaskEnv(bowl_task, bowl_subtasks[2], [read[1]]), actions, seed=0)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY"])
def test_damaged_end_states_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "end_states.npz").write_bytes(content)
    with pytest.raises(LearningError, match="is damaged"):
        read_states(tmp_path / "end_states.npz")
    with pytest.raises(LearningError, match="has no end states yet; learn that subtask first"):
        read_states(tmp_path / "none" / "end_states.npz")


def test_each_hand_solves_its_subtask_from_the_end_and_in_the_world_of_the_one_before(bowl_task, bowl_subtasks, starts):
    states = starts
    for subtask in bowl_subtasks:
        env = SubtaskEnv(bowl_task, subtask, states)
        episodes = list(play(env, ScriptedPolicy(env), states))
        assert success_rate(episodes) == 1, subtask.name
        states = [one.end for one in episodes]
    first = SubtaskWorld(bowl_task, bowl_subtasks[0])
    envs = [SubtaskEnv(bowl_task, bowl_subtasks[0], starts, world=first)]
    for subtask in bowl_subtasks[1:]:
        envs.append(SubtaskEnv(bowl_task, subtask, starts, world=SubtaskWorld(bowl_task, subtask, first.control)))
    observation, _ = envs[0].reset(options={"start": 2})
    outcomes = [finish(envs[0], ScriptedPolicy(envs[0]), observation).success]
    for env in envs[1:]:
        env.world.layout = first.layout
        outcomes.append(finish(env, ScriptedPolicy(env), env.resume()).success)
    assert outcomes == [True, True, True]


def test_nothing_done_is_no_success_and_every_potential_lies_between_zero_and_one(envs, starts):
    class Idle:
        def act(self, observation, explore=False):
            return STILL

    for env in envs:
        (episode,) = play(env, Idle(), env.starts)
        assert not episode.success and episode.steps == env.rules.steps
    for env in envs:
        env.starts = tuple(starts)
        env.reset(seed=2)
        for action in random_actions(5, 40):
            *_, info = env.step(action)
            weights = np.array([one.weight for one in env.world.subtask.reward])
            assert (info["terms"] >= 0).all() and (info["terms"] <= weights + 1e-9).all()


def test_no_episode_without_success_earns_more_than_the_weights(bowl_task, bowl_subtasks, starts):
    for subtask in bowl_subtasks:
        env = SubtaskEnv(bowl_task, subtask, starts)
        most = sum(one.weight for one in subtask.reward)
        assert most < env.rules.bonus
        for seed in range(2):
            env.reset(seed=seed)
            total, ended, cut_off, info = 0.0, False, False, {}
            rng = np.random.default_rng(seed)
            while not (ended or cut_off):
                _, reward, ended, cut_off, info = env.step(rng.uniform(-1, 1, 5))
                total += reward
            assert info["success"] or total <= most + 1e-9


ARGUMENTS = {
    "hand_distance": {"a": "red_cube"}, "goal_distance": {"goal": kit.inside("red_cube", "white_bowl")},
    "approach": {"goal": kit.inside("red_cube", "white_bowl")}, "held": {"a": "red_cube"}, "lifted": {"a": "red_cube"},
    "upright": {"a": "red_cube"}, "released": {"goal": kit.inside("red_cube", "white_bowl")}, "energy": {},
    "others_still": {"a": "red_cube", "others": ["blue_cube"]},
}  # fmt: skip


def test_each_term_is_highest_where_what_it_names_holds(bowl_task, bowl_subtasks, starts):
    from dataclasses import replace

    from pipeline.learning.subtask import WeightedTerm
    from pipeline.simulation.recipe import to_json

    assert set(ARGUMENTS) | {"joint_target"} == set(reward_terms())
    terms = {
        name: term_from_json(name, {key: to_json(value) for key, value in args.items()})
        for name, args in ARGUMENTS.items()
    }
    watched = tuple(WeightedTerm(term) for term in terms.values())
    values, states = [], starts[1:2]
    for subtask in bowl_subtasks:
        env = SubtaskEnv(bowl_task, replace(subtask, reward=watched), states, EpisodeRules())
        env.reset(options={"start": 0})
        values.append(dict(zip(terms, env._potentials, strict=True)))
        (episode,) = play(env, ScriptedPolicy(env), states)
        values.append(dict(zip(terms, episode.terms, strict=True)))
        states = [episode.end]
    start, reached, _, picked, _, placed = values
    assert start["hand_distance"] < reached["hand_distance"] and picked["hand_distance"] > 0.9
    assert (reached["held"], picked["held"], placed["held"]) == (0, 1, 0)
    assert reached["lifted"] < 0.1 and picked["lifted"] == 1
    assert placed["approach"] > picked["approach"] and placed["goal_distance"] == 1 > picked["goal_distance"]
    assert placed["released"] == 1 and picked["released"] == 0
    assert all(one["upright"] > 0.95 and one["others_still"] > 0.9 for one in values) and placed["energy"] < 1


def test_a_joint_target_is_met_where_the_part_is_as_far_open_and_the_hand_pulls_a_drawer_open(furniture):
    made = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"))
    subtask = small_task.subtasks(made)[-1]
    env = SubtaskEnv(made, subtask)
    env.reset(seed=0)
    number = [one.term.term for one in subtask.reward].index("joint_target")
    values, joint = [], env.world.physics.parts["cabinet", "top_drawer"]
    for share in (0.0, 0.5, 1.0):
        env.world.data.qpos[joint.address] = share * 0.15
        values.append(env.world.potentials(env.world.pursue())[number] / subtask.reward[number].weight)
    assert np.allclose(values, [0.0, 0.5, 1.0], atol=0.01)
    reach, pull = small_task.subtasks(made)
    env = SubtaskEnv(made, reach)
    point = grasp_point(env.world.begin(env.starts[0]).state, "cabinet", "top_drawer")

    class Puller:
        """Comes down in front of the handle, takes hold, pulls, and lets go."""

        def act(self, observation, explore=False):
            assert env_now.moment is not None
            state = env_now.moment.state
            hand = hand_of(state)
            tip, open_by = hand.tip, state["cabinet"].part("top_drawer").open
            if env_now is env:
                front = point + np.array([0, -0.012, 0])
                aside = np.linalg.norm((front - tip)[:2]) > 0.01
                change = (front + np.array([0, 0, 0.08]) if aside and tip[2] > point[2] + 0.02 else front) - tip
                return np.array([*np.clip(change / 0.05, -1, 1), 0, -1])
            if hand.holding:
                return np.array([0, -0.5, 0, 0, 1.0 if open_by < 0.8 else -1.0])
            return np.array([0, 0.3, 0, 0, 1.0]) if open_by < 0.6 else STILL

    env_now = env
    (reached,) = play(env, Puller(), env.starts)
    assert reached.success
    env_now = SubtaskEnv(made, pull, [reached.end])
    (opened,) = play(env_now, Puller(), [reached.end])
    assert opened.success


def test_a_push_observes_its_line_from_both_sides(table):
    """Mirror the hand at the line: its way back to the line turns round, and the line itself does not."""
    pushing = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    env = SubtaskEnv(pushing, small_task.subtasks(pushing, "Push it.")[1])
    env.reset(seed=0)
    state, goal = env.moment.state, env.world.subtask.success[-1]
    cube = state["red_cube"].position
    line = push_line(state, goal, np.array([0.0, 0.0, 0.1]))
    across = np.array([-line.unit[1], line.unit[0]])
    left, right = (push_line(state, goal, np.array([*(cube[:2] + side * 0.04 * across), 0.02])) for side in (1, -1))
    assert np.allclose(left.off_line, 0.04 * across) and np.allclose(left.off_line, -right.off_line)
    assert np.allclose(left.unit, right.unit) and np.isclose(np.linalg.norm(line.unit), 1)
    past = push_line(state, goal, np.array([*(cube[:2] + 0.05 * line.unit), 0.02]))
    assert past.is_past and not push_line(state, goal, np.array([*line.behind, 0.02])).is_past

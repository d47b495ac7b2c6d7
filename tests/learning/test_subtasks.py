"""A task is split into subtasks, which are data; the environment of one runs exactly again, and success is physical."""

import copy
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_task
from gymnasium.utils.env_checker import check_env

from bench.planted_policies import STILL, Scripted, ScriptedPolicy, hover_at_handle, pull
from pipeline.closed_loop.learned import commands_of
from pipeline.learning.decomposition import KIND, DecompositionAnswer, decompose, missing_goals, question_data
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play, success_rate
from pipeline.learning.pushing import push_line
from pipeline.learning.start_states import read_states, write_states
from pipeline.learning.subtask import (
    LearningError,
    WeightedTerm,
    from_row,
    read_subtasks,
    require_usable,
    to_row,
    write_subtasks,
)
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.learning.terms import REWARD_TERMS, term_from_json, term_manual
from pipeline.models import ModelError
from pipeline.models.prompt_templates import load_prompt
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import to_json
from pipeline.simulation.robots import robot_kind
from scripts.scripted_model_server.rule_answers import RuleAnswers


@pytest.fixture(scope="module")
def tasks(table, furniture):
    on_table = {
        "inside": kit.inside("red_cube", "white_bowl"),
        "on": kit.on("red_cube", "blue_cube"),
        "tower": kit.stacked(["blue_cube", "red_cube"]),
        "at": kit.at("red_cube", (0.2, 0.0)),
        "near": kit.near("red_cube", "blue_cube"),
    }
    made = {name: small_task.layouts(table, goal) for name, goal in on_table.items()}
    made["zone"] = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.2, 0.1), (0.16, 0.16)))
    parts = {"open": kit.opened("cabinet", "top_drawer"), "door": kit.opened("oven", "door")}
    made |= {name: small_task.layouts(furniture, goal) for name, goal in parts.items()}
    in_drawer = kit.inside_part("red_cube", "cabinet", "top_drawer"), kit.closed("cabinet", "top_drawer")
    return made | {"drawer": small_task.layouts(furniture, *in_drawer)}


@pytest.mark.parametrize("name", ["inside", "on", "tower", "at", "near", "zone", "open", "door", "drawer"])
def test_the_rules_split_a_task_into_a_chain_that_ends_with_its_goals_and_reads_back_as_written(tasks, name, tmp_path):
    made = tasks[name]
    found = small_task.subtasks(made)
    assert [one.start for one in found] == ["reset", *(one.name for one in found[:-1])]
    assert missing_goals(found, made.base.goals) == []
    require_usable(found, made.base.objects, list(made.base.zones))
    write_subtasks(tmp_path / "subtasks.json", found)
    assert read_subtasks(tmp_path / "subtasks.json") == found
    rows = json.loads((tmp_path / "subtasks.json").read_text())
    assert [set(row) for row in rows] == [{"name", "instruction", "start", "success", "reward", "source"}] * len(rows)
    assert all(set(term) == {"term", "args", "weight"} for row in rows for term in row["reward"])


def test_a_push_is_learned_as_a_push_a_later_object_keeps_the_earlier_one_and_a_row_is_not_split(tasks, table):
    names = [one.name for one in small_task.subtasks(tasks["zone"], "Push the red cube into the zone.")]
    assert names == ["reach_red_cube", "push_red_cube"]
    made = small_task.layouts(table, kit.inside("red_cube", "white_bowl"), kit.at("blue_cube", (0.2, 0.0)))
    assert set(small_task.subtasks(made)[-1].success) == set(made.base.goals)
    row = small_task.layouts(table, kit.in_row(["red_cube", "blue_cube", "white_bowl"]))
    with pytest.raises(ModelError, match="the rules cannot split"):
        decompose(small_task.task(), row, PlannerModel())
    lines = [line for line in term_manual().splitlines() if not line.startswith(" ")]
    assert {line.partition("(")[0].partition(":")[0] for line in lines} == set(REWARD_TERMS)


@pytest.mark.parametrize(
    ("number", "change", "reason"),
    [
        (0, lambda r: r.update(success=[{"goal": "Flying", "a": "red_cube"}]), "there is no goal of the kind 'Flying'"),
        (0, lambda r: r["reward"][0].update(term="joy"), "there is no reward term 'joy'; there are: approach, code"),
        (0, lambda r: r["reward"][0].update(args={"b": 1}), "the reward term hand_distance takes a, part"),
        (0, lambda r: r.update(name="Reach it!"), "name: String should match pattern"),
        (0, lambda r: r.update(start="pick_red_cube"), "it starts after 'pick_red_cube'; before it there are: none"),
        (1, lambda r: r.update(name="reach_red_cube"), "there are two subtasks 'reach_red_cube'"),
        (0, lambda r: r["success"][0].update(a="cup"), "there is no object 'cup'; there are: red_cube, blue_cube"),
        (0, lambda r: r["success"][0].update(part="lid"), "red_cube has no part 'lid'; it has: none that moves"),
        (0, lambda r: r.update(success=[{"goal": "InZone", "a": "red_cube", "zone": "z"}]), "there is no zone 'z'"),
    ],
)
def test_a_subtask_that_cannot_be_used_is_refused_in_one_line(bowl_task, bowl_subtasks, number, change, reason):
    rows = copy.deepcopy([to_row(one) for one in bowl_subtasks])
    change(rows[number])
    with pytest.raises(LearningError) as refused:
        require_usable([from_row(row) for row in rows], bowl_task.base.objects, list(bowl_task.base.zones))
    assert reason in str(refused.value) and "\n" not in str(refused.value)


def test_damaged_subtasks_and_end_states_are_refused_in_one_line(tmp_path):
    for text in ("[", "{}", "[]", '[{"name": "a"}]'):
        (tmp_path / "subtasks.json").write_text(text)
        with pytest.raises(LearningError, match=r"\A.*\Z"):
            read_subtasks(tmp_path / "subtasks.json")
    for content in (b"", b"PK", b"\x93NUMPY"):
        (tmp_path / "end_states.npz").write_bytes(content)
        with pytest.raises(LearningError, match="is damaged"):
            read_states(tmp_path / "end_states.npz")


class Answering:
    name = "test-model"

    def __init__(self, *rows):
        self.rows = rows

    def ask(self, question):
        assert question.kind == KIND
        return DecompositionAnswer(subtasks=list(self.rows))


def test_the_answers_of_a_model_that_can_be_used_are_its_subtasks(bowl_task, bowl_subtasks):
    assert {one.source for one in bowl_subtasks} == {"rules"}
    answer = RuleAnswers().answer(KIND, load_prompt(KIND).fill(question_data(small_task.task(), bowl_task)))
    for rows in ([to_row(one) for one in bowl_subtasks], json.loads(json.dumps(answer))["subtasks"]):
        found = decompose(small_task.task(), bowl_task, Answering(*rows))
        assert [one.name for one in found.subtasks] == [one.name for one in bowl_subtasks] and not found.dropped
        assert {one.source for one in found.subtasks} == {"test-model"}
    reach, pick, place = (to_row(one) for one in bowl_subtasks)
    pick["success"] = [{"goal": "Held", "a": "unicorn"}]
    found = decompose(small_task.task(), bowl_task, Answering(reach, pick, place))
    assert [one.name for one in found.subtasks] == ["reach_red_cube"]
    assert "there is no object 'unicorn'" in found.dropped[0]
    assert "it starts after 'pick_red_cube'" in found.dropped[1]
    assert found.dropped[2] == "no subtask ends with: red_cube inside white_bowl"
    with pytest.raises(LearningError, match="test-model answered no subtask that can be used: subtask 'x'"):
        decompose(small_task.task(), bowl_task, Answering({"name": "x"}))


def test_the_question_has_parts_and_limits_and_the_hand_pulls_that_drawer_open_which_its_target_measures(furniture):
    made = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"))
    data = question_data(small_task.task(), made)
    cabinet = next(asset for asset in data["assets"] if asset["name"] == "cabinet")
    drawer = next(part for part in cabinet["parts"] if part["name"] == "top_drawer")
    assert drawer["joint_type"] == "prismatic" and drawer["limit"] == [0.0, 0.15]
    prompt = load_prompt(KIND).fill(data)
    assert '{"goal": "Opened", "a": str, "part": str' in prompt and "joint_target(a, part" in prompt
    reach, subtask = small_task.subtasks(made)
    env = SubtaskEnv(made, subtask)
    env.reset(seed=0)
    number = [one.term.term for one in subtask.reward].index("joint_target")
    values = []
    joint = env.world.physics.parts["cabinet", "top_drawer"]
    for share in (0.0, 0.5, 1.0):
        env.world.data.qpos[joint.address] = share * 0.15
        values.append(env.world.potentials(env.world.pursue())[number] / subtask.reward[number].weight)
    assert np.allclose(values, [0.0, 0.5, 1.0], atol=0.01)
    env = SubtaskEnv(made, reach)
    (reached,) = play(env, Scripted(env, hover_at_handle), env.starts)
    assert reached.success
    env = SubtaskEnv(made, subtask, [reached.end])
    (opened,) = play(env, Scripted(env, partial(pull, share=0.9, lets_go=True)), [reached.end])
    assert opened.success


@pytest.fixture(scope="module")
def starts(bowl_task, bowl_subtasks):
    return small_task.settled(bowl_task, bowl_subtasks[0], range(4))


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
def test_gymnasium_finds_nothing_to_complain_about(bowl_task, bowl_subtasks, number, recwarn):
    env = SubtaskEnv(bowl_task, bowl_subtasks[number])
    check_env(env, skip_render_check=True)  # raises what is wrong, warns of what is doubtful
    doubts = [str(one.message) for one in recwarn if one.category is not ResourceWarning]  # of an earlier test
    assert doubts == []


def test_one_seed_gives_one_rollout_layouts_differ_and_commands_are_those_played(bowl_task, bowl_subtasks, starts):
    one, other = (SubtaskEnv(bowl_task, bowl_subtasks[0], starts) for _ in range(2))
    runs = [rolled(env, random_actions(1), seed=7) for env in (one, other)]
    assert all((a == b).all() for a, b in zip(*runs, strict=True))
    assert {one.reset(seed=seed)[1]["layout"] for seed in range(20)} == {0, 1, 2, 3}
    base = bowl_task.base.objects["red_cube"].position
    assert np.allclose(kit.Scene.load(bowl_task._scene.folder.parent)["red_cube"].position, base), "as photographed"
    places = {tuple(layout.objects["red_cube"].position.round(3)) for layout in bowl_task.get(range(4))}
    assert len(places) == 4 and [one.layout for one in starts] == [0, 1, 2, 3]
    env, actions = SubtaskEnv(bowl_task, bowl_subtasks[0], starts), random_actions(3, 10)
    env.reset(options={"start": 0})
    data = env.world.data
    qpos, got = [data.qpos.copy()], [data.ctrl.copy()]
    for action in actions:
        env.step(action)
        qpos.append(data.qpos.copy())
        got.append(data.ctrl.copy())
    again = SubtaskWorld(bowl_task, bowl_subtasks[0])
    again.begin(starts[0])
    episode: Any = SimpleNamespace(qpos=np.array(qpos), actions=actions)
    assert commands_of(again.control, [episode]) == pytest.approx(np.array(got))


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


@pytest.mark.parametrize("robot", ["floating", "arm"])
def test_a_hand_that_knows_each_pose_solves_each_subtask(bowl_task, arm_task, bowl_subtasks, starts, arm_starts, robot):
    task, states = (bowl_task, starts) if robot == "floating" else (arm_task, arm_starts)
    for subtask in bowl_subtasks:
        if robot == "arm" and subtask is bowl_subtasks[2]:
            goes_on_exactly(task, subtask, states[0])
        env = SubtaskEnv(task, subtask, states)
        episodes = list(play(env, ScriptedPolicy(env), states))
        assert success_rate(episodes) == 1, subtask.name
        states = [one.end for one in episodes]


def goes_on_exactly(task, place, held):
    """Two worlds that begin in a state with something held move alike, and hold it."""
    worlds = [SubtaskWorld(task, place) for _ in range(2)]
    for world in worlds:
        world.begin(held)
    assert worlds[0].control.held == "red_cube"
    actions = np.random.default_rng(2).uniform(-0.3, 0.3, (8, 5))
    actions[:, 4] = 1.0  # the vacuum stays on
    for action in actions:
        for world in worlds:
            world.step(action)
    assert (worlds[0].data.qpos == worlds[1].data.qpos).all() and worlds[0].control.held == "red_cube"


def test_no_episode_without_success_earns_more_than_the_weights(bowl_task, bowl_subtasks, starts):
    for subtask in bowl_subtasks:
        env = SubtaskEnv(bowl_task, subtask, starts)
        most = sum(one.weight for one in subtask.reward)
        assert most < env.rules.bonus
        for seed in range(3):
            env.reset(seed=seed)
            total, ended, cut_off, info = 0.0, False, False, {}
            rng = np.random.default_rng(seed)
            while not (ended or cut_off):
                _, reward, ended, cut_off, info = env.step(STILL if seed == 2 else rng.uniform(-1, 1, 5))
                total += reward
                weights = np.array([one.weight for one in subtask.reward])
                assert (info["terms"] >= 0).all() and (info["terms"] <= weights + 1e-9).all()
            assert info["success"] or total <= most + 1e-9
            assert seed != 2 or (not info["success"] and env._steps == env.rules.steps), "nothing done is no success"


ARGUMENTS = {
    "hand_distance": {"a": "red_cube"}, "goal_distance": {"goal": kit.inside("red_cube", "white_bowl")},
    "approach": {"goal": kit.inside("red_cube", "white_bowl")}, "held": {"a": "red_cube"}, "lifted": {"a": "red_cube"},
    "upright": {"a": "red_cube"}, "released": {"goal": kit.inside("red_cube", "white_bowl")}, "energy": {},
    "others_still": {"a": "red_cube", "others": ["blue_cube"]},
}  # fmt: skip


def test_each_term_is_highest_where_what_it_names_holds(bowl_task, bowl_subtasks, starts):
    assert set(ARGUMENTS) | {"joint_target"} == set(REWARD_TERMS) - {"code"}  # there once its module is imported
    rows = {name: {key: to_json(value) for key, value in args.items()} for name, args in ARGUMENTS.items()}
    terms = {name: term_from_json(name, args) for name, args in rows.items()}
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
    assert all(one["upright"] > 0.95 and one["others_still"] > 0.9 for one in values)
    assert placed["energy"] < 1


def test_a_push_observes_its_line_from_both_sides(table):
    """Mirror the hand at the line: its way back to the line turns round, and the line itself does not."""
    pushing, subtasks = small_task.pushing(table)
    env = SubtaskEnv(pushing, subtasks[1])
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


@pytest.fixture(scope="module")
def arm_task(bowl_task):
    """The same task for the arm, which acts by the floating gripper's actions."""
    return bowl_task.with_robot(robot_kind("arm-suction").make(True))


@pytest.fixture(scope="module")
def arm_starts(arm_task, bowl_subtasks):
    return small_task.settled(arm_task, bowl_subtasks[0], range(3))


@pytest.mark.parametrize("direction", np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_the_cup_goes_where_it_is_told_and_looks_down(arm_task, bowl_subtasks, arm_starts, direction):
    """Half of the fastest motion for half a second, from 30 cm above the table, then still for as long."""
    world = SubtaskWorld(arm_task, bowl_subtasks[0])
    world.begin(arm_starts[0])
    before = world.control.tip
    for action in [[*(0.5 * np.array(direction)), 0, -1]] * 5 + [STILL] * 5:
        world.step(np.array(action))
    assert world.control.tip - before == pytest.approx(2.5 * RATE.slide_m * np.array(direction), abs=0.006)
    assert world.data.site("arm/hand/pinch").xmat.reshape(3, 3)[:, 2] == pytest.approx([0, 0, -1], abs=0.02)
    for _ in range(60 * (direction[2] > 0)):
        world.step(np.array([0, 0, 1.0, 0, -1]))
    assert np.isfinite(world.data.qpos).all() and world.control.tip[2] < 1.3, "a place out of reach is not gone to"


def test_the_arm_sees_and_acts_as_the_gripper_and_its_cup_stays_solid(arm_task, bowl_task, bowl_subtasks, arm_starts):
    env = SubtaskEnv(arm_task, bowl_subtasks[0], arm_starts[:1])
    (reached,) = play(env, ScriptedPolicy(env), arm_starts[:1])
    pick = SubtaskEnv(arm_task, bowl_subtasks[1], [reached.end])
    for _ in range(2):
        (episode,) = play(pick, ScriptedPolicy(pick), [reached.end])
        assert episode.success
    for subtask in bowl_subtasks:
        arm, floating = SubtaskEnv(arm_task, subtask), SubtaskEnv(bowl_task, subtask)
        assert arm.observation_space == floating.observation_space and arm.action_space == floating.action_space
    control = SubtaskWorld(arm_task, bowl_subtasks[0]).control
    with pytest.raises(LearningError, match="demonstrations are of the floating gripper"):
        control.action(np.zeros(control.model.nu))
    with pytest.raises(LearningError, match="not on a GPU"):
        control.ramp(STILL)

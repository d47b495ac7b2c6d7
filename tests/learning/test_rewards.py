"""Rewards written as code measure, end and change nothing; planted shortcuts are told with a change that ends them."""

import json
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import small_task
import tabletop
from scipy.spatial.transform import Rotation

from bench.planted_policies import SHORTCUTS, SOUND, Planted, Scripted, expert
from pipeline.learning.decomposition import question_data
from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.edits import edited
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.judging.evaluation import ChainEpisode
from pipeline.learning.judging.generated_checks import find_refused, observed, run_checks
from pipeline.learning.judging.shortcuts import find_shortcut
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.reward_code import compiled
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError, from_row, require_usable, to_row
from pipeline.learning.terms import Code, MomentEnv
from pipeline.simulation import CheckResult, Program, kit
from pipeline.simulation.objects import KitError
from pipeline.simulation.sandbox.sandbox import Sandbox
from tests.simulation.test_attacks import ATTACKS


@pytest.fixture(scope="module")
def played(table, furniture):
    """Return what plays a planted policy: its subtask, the episodes, and the objects of its layouts."""
    bowl = small_task.layouts(table, kit.inside("red_cube", "white_bowl"))
    zone = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), 0.09))
    drawer = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"), scattered=("red_cube",))

    @cache
    def held() -> list[StartState]:
        _, episodes, _ = play_planted(Planted("pick", expert))
        return [one.end for one in episodes if one.success]

    def play_planted(planted: Planted):
        layouts = {"push": zone, "open": drawer}.get(planted.subtask, bowl)
        found = small_task.subtasks(layouts, "Push it." if planted.subtask == "push" else "Do it.")
        subtask = planted.change(next(one for one in found if one.name.startswith(planted.subtask)))
        starts = held() if planted.subtask == "place" else small_task.settled(layouts, subtask, range(1, 4))
        env = SubtaskEnv(layouts, subtask, starts)
        return subtask, list(play(env, Scripted(env, planted.script), starts)), layouts.base.objects

    return play_planted


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_planted_shortcut_is_found_with_its_moment_and_a_change_that_can_be_made(played, name):
    subtask, episodes, objects = played(planted := SHORTCUTS[name])
    found = find_shortcut(subtask, episodes, objects)
    assert found is not None, name
    longest = max(one.steps for one in episodes) * 0.1
    assert 0 <= found.time <= longest and f"{found.time:.1f} s" in found.text and found.text.count(". ") == 0
    assert not planted.term or f"'{planted.term}'" in found.text
    (changed,) = [subtask]
    for edit in found.edits:
        (changed,) = edited((changed,), subtask.name, edit)
    assert changed.reward != subtask.reward and changed.success == subtask.success


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_policy_is_not_accused(played, name):
    subtask, episodes, objects = played(SOUND[name])
    assert find_shortcut(subtask, episodes, objects) is None and find_shortcut(subtask, [], objects) is None
    assert name not in ("reaches", "picks", "places", "pushes", "opens") or all(one.success for one in episodes)


SIMULATION = """import kit

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube")
    sim.goal(kit.inside("red_cube", "white_bowl"))
    return sim
"""
CHECKS = """def check_solved(sim):
    run = sim.rollout()
    assert run.solved, run.why

def check_robot_grasps_an_object(sim):
    assert sim.rollout().grasps, "the robot picked nothing up"

def check_red_cube_ends_low(sim):
    end = sim.rollout().end("red_cube")
    assert end.bottom < {height}, f"red_cube ends {end.bottom * 100:.1f} cm above the table"

def check_blue_cube_stays(sim):
    moved = sim.rollout().moved("blue_cube")
    assert moved < 0.02, f"blue_cube moved by {moved * 100:.1f} cm"
"""


@pytest.fixture(scope="module")
def chain(table):
    """A chain's layouts, subtasks and episodes: the oracle stands in for the policies."""
    with Sandbox() as sandbox:
        program = Program(SIMULATION, CHECKS.replace("{height}", "0.1"))
        layouts = Layouts(kit.Scene.load(table), arranged_by(program, table, sandbox))
        subtasks = small_task.subtasks(layouts)
        starts, rules = small_task.settled(layouts, subtasks[0], [1, 2]), EpisodeRules()
        episodes = [tuple(oracle_episodes(layouts, subtasks, one, rules)) for one in starts]
        played = [ChainEpisode(one.layout, shown, True, 1.0) for one, shown in zip(starts, episodes, strict=True)]
        yield sandbox, table, program, layouts.base.objects, subtasks, played


def results(chain, program=None, played=None):
    sandbox, table, usual, objects, _, solved = chain
    return run_checks(played or solved, list(objects), program or usual, table, sandbox)


def test_sound_policies_pass_the_checks_with_what_they_held_as_grasps(chain):
    found = results(chain)
    assert [one.layout for one, _ in found] == [1, 2]
    for _, checks in found:
        assert {one.name for one in checks if one.passed} == {
            "check_solved", "check_robot_grasps_an_object", "check_red_cube_ends_low", "check_blue_cube_stays",
        }, checks  # fmt: skip
    assert find_refused(chain[4][-1], found, chain[3]) is None
    assert observed(chain[5][0], list(chain[3])).grasps[0][1] == "red_cube"
    last = chain[5][0].episodes[-1]
    shifts = np.zeros_like(last.shifts)
    shifts[3:, 0] = 0.1
    pushed = replace(last, holding=("",) * len(last.holding), shifts=shifts)
    ((time, name),) = observed(ChainEpisode(1, (pushed,), True, 1.0), list(chain[3])).grasps
    assert name == next(iter(chain[3])) and time == pytest.approx(0.3), "what is pushed counts as taken hold of"
    assert results(chain, Program(SIMULATION, "")) == ()
    assert results(chain, played=[replace(one, solved=False) for one in chain[5]]) == ()


def test_a_check_that_refuses_what_counts_as_solved_is_told_with_its_reason_and_a_change_for_it(chain):
    strict = Program(SIMULATION, CHECKS.replace("{height}", "0.001"))
    refused = find_refused(chain[4][-1], results(chain, strict), chain[3])
    assert refused and "the check check_red_cube_ends_low refuses it: red_cube ends " in refused.text
    assert refused.layout == 1 and refused.time > 0 and not refused.edits
    objects, subtasks = chain[3], chain[4]
    which = list(objects).index("blue_cube")

    def shifted(one: ChainEpisode) -> ChainEpisode:
        last = one.episodes[-1]
        shifts = last.shifts.copy()
        shifts[-1, which] = 0.3
        return replace(one, episodes=(*one.episodes[:-1], replace(last, shifts=shifts)))

    failed = CheckResult("check_blue_cube_stays", False, "blue_cube moved by 30.0 cm")
    checked = [(shifted(one), (failed,)) for one in chain[5]]
    refused = find_refused(subtasks[-1], checked, objects)
    assert refused and refused.kind == "refused"
    (changed,) = [subtasks[-1]]
    for edit in refused.edits:
        (changed,) = edited((changed,), changed.name, edit)
    assert any(one.term.term == "others_still" for one in changed.reward)
    rare = [(one, ()) for one in chain[5]] + checked[:1]
    assert find_refused(subtasks[-1], rare, objects) is None, "one of three is not systematic"


REACH = 'return -norm(env.get_robot_gripper_pose() - env.get_pose_by_link_name("red_cube", "base"))'
GEN2SIM = """
def compute_reward(env):
    # reward function
    door_handle_pose = env.get_pose_by_link_name("microwave", "handle_0")
    gripper_pose = env.get_robot_gripper_pose()
    distance_gripper_to_handle = torch.norm(door_handle_pose - gripper_pose, dim=-1)
    door_state = env.get_state_by_joint_name("microwave", "joint_0")
    cost = distance_gripper_to_handle - door_state
    reward = - cost

    # success condition
    target_door_state = env.get_limits_by_joint_name("microwave", "joint_0")["upper"]
    success = torch.abs(door_state - target_door_state) < 0.1

    return reward, success
"""
"""As printed (Katara et al. 2023, section 3.2)."""
REFUSED = {
    "import os": "statement", "while True:\n    pass": "statement", "def f():\n    return 1": "defines a function",
    "f = lambda: 1": "lambda", "return f'{env}'": "joinedstr", "return norm(*(1,))": "starred",
    "return ().__class__": "uses .__class__", "return env.state": "uses .state", "return np.load('x')": "calls np.load",
    "return open('x')": "calls open", "return getattr(env, 'state')": "calls getattr", "return norm(env)": "names a",
    "x = env.get_top\nreturn 1.0": "without calling", "n = 'red_cube'\nreturn env.get_top(n)": "text 'red_cube'",
    "return 9 ** 8 ** 8": "power", "x = 10.0\nreturn x ** x": "power", "x = 'a' * 5": "text 'a'",
    "x = '%99999999d' % 1": "text", "return 1e300": "number", "return _array": "name _array", "norm = 1": "norm",
    "x = env.get_robot_gripper_pose()\nreturn x[None]": "place", "x = (1, 2)\nx[0] = 3": "other than a name",
    "x = env.get_robot_gripper_pose()\nreturn x[9 ** 8]": "place", "return np.exp(1.0, out=env)": "passes out",
    "return np.sum(1.0, dtype=env)": "passes dtype", "return " + "-" * 2000 + "1.0": "too long",
    "return 1.0\n" * 2000: "more than", "return env.get_top('a', 'b')": "without 1 names", "return (": "cannot be read",
    "return env.get_axis('a', 'up')": "names the axis 'up'",
}  # fmt: skip
HARMLESS = ("x = (1.0, 2.0)\nx += x\nreturn sum(x)", "return 10.0 ** 8", "return " + "(" * 90 + "1.0" + ")" * 90)


def function(body: str) -> str:
    return "def compute_reward(env):\n" + textwrap.indent(body, "    ")


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_on_the_list_is_refused_before_it_runs_in_one_line(body):
    with pytest.raises(KitError, match=rf"\A.*({REFUSED[body]}).*\Z"):
        compiled(function(body))


def test_no_attack_on_the_sandbox_is_a_reward_and_what_is_harmless_runs():
    for program, _ in ATTACKS.values():
        with pytest.raises(KitError):
            compiled(program.simulation)
        with pytest.raises(KitError):
            compiled(function(program.simulation + "\n" + program.checks))
    for body in HARMLESS:
        assert np.isfinite(compiled(function(body)).run(SimpleNamespace())).all()
    for body in ("return log(-1.0)", "pass", "return 1.0 / 0.0", "return missing", "return (1.0, 2.0)[5]"):
        with pytest.raises(KitError, match=r"reward's code (fails|returned no finite number)"):
            compiled(function(body)).run(SimpleNamespace())


def test_the_reward_in_the_manual_is_taken():
    manual = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
    code = compiled(manual.partition("```python\n")[2].partition("```")[0])
    assert (code.summary, code.objects) == ("Stand the bottle up", ("bottle",))


def test_gen2sims_printed_reward_runs_as_it_is():
    pose, tip, joint = np.array([[0.1, 0.0, 0.3]]), np.array([[0.1, 0.4, 0.0]]), np.array([0.2])
    env = SimpleNamespace(
        get_pose_by_link_name=lambda a, link: pose, get_robot_gripper_pose=lambda: tip,
        get_state_by_joint_name=lambda a, part: joint,
        get_limits_by_joint_name=lambda a, part: {"lower": np.zeros(1), "upper": np.ones(1)},
    )  # fmt: skip
    code = compiled(GEN2SIM.strip())
    assert code.objects == ("microwave",)
    np.testing.assert_allclose(code.run(env), [-0.5 + 0.2])


def test_a_code_term_reads_back_is_edited_and_refused_where_the_world_lacks_its_object(bowl_task, bowl_subtasks):
    base, first = bowl_task.base, bowl_subtasks[0]
    row = to_row(first) | {"reward": [{"term": "code", "source": function(REACH), "weight": 2.0}]}
    subtask = from_row(row)
    assert to_row(subtask) == row and "red_cube" in subtask.objects
    require_usable([subtask], base.objects, [])
    other = function(REACH.replace("red_cube", "blue_cube"))
    (changed,) = edited([subtask], subtask.name, {"change": "code", "index": 0, "source": other})
    assert changed.reward[0].term == Code(other) and changed.reward[0].weight == 2.0
    (grown,) = edited([first], first.name, {"change": "code", "source": other})
    assert grown.reward[:-1] == first.reward and grown.reward[-1].term == Code(other)
    for source, message in ((function("import os"), "line 2: contains a statement"), ("", "is one function")):
        with pytest.raises(LearningError, match=message):
            edited([subtask], subtask.name, {"change": "code", "index": 0, "source": source})
        with pytest.raises(LearningError, match=r"takes source|is one function|contains a statement"):
            from_row(row | {"reward": [{"term": "code", "source": source}]})
    lacks = from_row(row | {"reward": [{"term": "code", "source": function('return env.get_top("cup")')}]})
    with pytest.raises(LearningError, match="there is no object 'cup'"):
        require_usable([lacks], base.objects, [])


def test_code_is_paid_like_any_term_and_cannot_change_what_it_measures(bowl_task, bowl_subtasks):
    taken = ("get_robot_gripper_pose()", "get_size('red_cube')", "get_axis('red_cube', 'z')")
    body = "".join(f"x = env.{one}\nx += 1000.0\n" for one in taken) + REACH
    row = to_row(bowl_subtasks[0]) | {"reward": [{"term": "code", "source": function(body), "weight": 1.0}]}
    env = SubtaskEnv(bowl_task, from_row(row))
    env.reset(seed=0)
    assert env.moment is not None
    measured = MomentEnv(env.moment.state, env.moment.start)
    tip, cube = measured.get_robot_gripper_pose(), env.moment.state["red_cube"]
    potentials, gaps = [], []
    for _ in range(12):
        target = env.moment.state["red_cube"].position - env.moment.state.hand.tip
        action = np.zeros(env.action_space.shape, np.float32)
        action[:3] = np.clip(target / 0.05, -1, 1)
        env.step(action)
        potentials.append(env.world.potentials(env.moment)[0])
        gaps.append(np.linalg.norm(env.moment.state["red_cube"].position - env.moment.state.hand.tip))
    assert measured.get_size("red_cube") == pytest.approx(np.array([cube.size]))
    assert measured.get_axis("red_cube", "z") == pytest.approx(cube.rotation[:, 2][None])
    assert (np.abs(tip) < 10).all() and potentials[0] > 0.5 and max(potentials) < 1
    assert np.argsort(potentials).tolist() == np.argsort(-np.array(gaps)).tolist()


HANDLE = 'return -norm(env.get_robot_gripper_pose() - env.get_pose_by_link_name("red_cube", "handle"))'


@pytest.fixture(scope="module")
def handled(tmp_path_factory):
    """The bowl task, whose red cube has a handle, on layouts that turn and move the cube."""
    folder = tabletop.write(tmp_path_factory.mktemp("handled"), objects=small_task.FEW)
    data = json.loads((folder / "scene.json").read_text())
    data["placements"][0]["affordances"] = {"handle": [0.025, 0.01, 0.0]}
    (folder / "scene.json").write_text(json.dumps(data))
    return small_task.layouts(folder, kit.inside("red_cube", "white_bowl"))


def test_a_reward_reads_the_pose_of_a_handle_which_moves_with_its_object_in_every_world(handled):
    row = to_row(small_task.subtasks(handled)[0]) | {
        "success": [{"goal": "HandNear", "a": "red_cube", "part": "handle"}]
    }
    row |= {"reward": [{"term": "code", "source": function(HANDLE)},
                       {"term": "hand_distance", "args": {"a": "red_cube", "part": "handle"}}]}  # fmt: skip
    subtask = from_row(row)
    require_usable([subtask], handled.base.objects, [])
    env = SubtaskEnv(handled, subtask, small_task.settled(handled, subtask, range(3)))
    places = []
    for start in range(3):
        env.reset(options={"start": start})
        physics = env.world.physics
        before = MomentEnv(env.moment.state, env.moment.state).get_pose_by_link_name("red_cube", "handle")
        first = physics.addresses["red_cube"]
        physics.data.qpos[first : first + 7] = [0.1 * start, 0.0, 0.2, *Rotation.random(rng=start).as_quat()]
        mujoco.mj_forward(physics.model, physics.data)
        moment = env.world.pursue()
        body = physics.data.body("red_cube")
        measured = MomentEnv(moment.state, env.moment.state)
        (now,) = measured.get_pose_by_link_name("red_cube", "handle")
        assert now == pytest.approx(body.xmat.reshape(3, 3) @ [0.025, 0.01, 0.0] + body.xpos)
        assert measured.get_start_pose_by_link_name("red_cube", "handle") == pytest.approx(before)
        gap = np.linalg.norm(now - moment.state.hand.tip)
        assert compiled(function(HANDLE)).run(measured) == pytest.approx([-gap])
        assert subtask.success[0].miss(moment.state) == pytest.approx(max(0.0, gap - 0.02))
        seen = env._observer.observe(moment)
        assert np.isfinite(seen).all() and seen.shape == env.observation_space.shape
        places.append(before)
    assert np.ptp(places, axis=0).max() > 0.02, "the layouts differ"
    assert list(MomentEnv(moment.state, moment.state).get_pose_by_link_name("red_cube", "base").shape) == [1, 3]
    assets = {one["name"]: one for one in question_data(small_task.task(), handled)["assets"]}
    assert list(assets["red_cube"]["affordances"]) == ["handle"] and "affordances" not in assets["white_bowl"]


@pytest.mark.parametrize("term", [
    {"term": "code", "source": function('return env.get_state_by_joint_name("red_cube", "handle")')},
    {"term": "code", "source": function('return env.get_pose_by_link_name("blue_cube", "handle")[:, 2]')},
    {"term": "joint_target", "args": {"a": "red_cube", "part": "handle"}},
    {"term": "hand_distance", "args": {"a": "red_cube", "part": "lid"}},
])  # fmt: skip
def test_a_handle_is_no_joint_and_only_on_the_object_that_has_it(handled, term):
    row = to_row(small_task.subtasks(handled)[0]) | {"reward": [term]}
    with pytest.raises(LearningError, match=r"_cube has no part '(handle|lid)'; it has: (handle|none that moves)"):
        require_usable([from_row(row)], handled.base.objects, [])

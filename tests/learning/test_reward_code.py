"""A reward that is written as code measures, ends and changes nothing; it leads to success and is never success."""

import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.learning.edits import edited
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.reward_code import compiled
from pipeline.learning.subtask import LearningError, from_row, require_usable, to_row
from pipeline.learning.terms import Code, MomentEnv
from pipeline.simulation.objects import KitError
from tests.simulation.test_attacks import ATTACKS

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
    "import os": "statement", "while True:\n    pass": "statement", "for i in (1, 2):\n    pass": "statement",
    "x: env.tip = 1": "statement", "del env": "statement", "raise env": "statement", "global env": "statement",
    "try:\n    return 1.0\nexcept: return 2.0": "statement", "with env:\n    return 1.0": "statement",
    "def f():\n    return 1": "defines a function", "class A:\n    pass": "statement", "f = lambda: 1": "lambda",
    "return (x := 1.0)": "namedexpr", "return sum([1.0 for x in (1, 2)])": "listcomp", "await env": "await",
    "return f'{env}'": "joinedstr", "return norm(*(1,))": "starred", "return {}": "dict", "return ...": "Ellipsis",
    "return ().__class__": "uses .__class__", "return env.state": "uses .state", "return np.load('x')": "calls np.load",
    "return open('x')": "calls open", "return getattr(env, 'state')": "calls getattr", "return norm(env)": "names a",
    "x = env.get_top\nreturn 1.0": "without calling", "n = 'red_cube'\nreturn env.get_top(n)": "text 'red_cube'",
    "return 9 ** 8 ** 8": "power", "x = 10.0\nreturn x ** x": "power", "x = 'a' * 5": "text 'a'",
    "x = '%99999999d' % 1": "text", "return 1e300": "number", "return _array": "name _array", "norm = 1": "norm",
    "x = env.get_robot_gripper_pose()\nreturn x[None]": "place", "x = (1, 2)\nx[0] = 3": "other than a name",
    "x = env.get_robot_gripper_pose()\nreturn x[9 ** 8]": "place", "return np.exp(1.0, out=env)": "passes out",
    "return np.sum(1.0, dtype=env)": "passes dtype", "return " + "-" * 2000 + "1.0": "too long",
    "return 1.0\n" * 2000: "more than", "return env.get_top('a', 'b')": "without 1 names", "return (": "cannot be read",
}  # fmt: skip
HARMLESS = ("x = (1.0, 2.0)\nx += x\nreturn sum(x)", "return 10.0 ** 8", "return " + "(" * 90 + "1.0" + ")" * 90)


def function(body: str) -> str:
    return "def compute_reward(env):\n" + textwrap.indent(body, "    ")


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_on_the_list_is_refused_before_it_runs_in_one_line(body):
    with pytest.raises(KitError, match=REFUSED[body]) as refused:
        compiled(function(body))
    assert "\n" not in str(refused.value)


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


def test_a_code_term_is_written_by_the_contract_read_back_edited_and_refused_where_the_world_lacks_it(
    bowl_task, bowl_subtasks
):
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
    body = f"x = env.get_robot_gripper_pose()\nx += 1000.0\n{REACH}"
    row = to_row(bowl_subtasks[0]) | {"reward": [{"term": "code", "source": function(body), "weight": 1.0}]}
    env = SubtaskEnv(bowl_task, from_row(row))
    env.reset(seed=0)
    assert env.moment is not None
    tip = MomentEnv(env.moment.state, env.moment.start).get_robot_gripper_pose()
    potentials, gaps = [], []
    for _ in range(12):
        target = env.moment.state["red_cube"].position - env.moment.state.hand.tip
        action = np.zeros(env.action_space.shape, np.float32)
        action[:3] = np.clip(target / 0.05, -1, 1)
        env.step(action)
        potentials.append(env.world.potentials(env.moment)[0])
        gaps.append(np.linalg.norm(env.moment.state["red_cube"].position - env.moment.state.hand.tip))
    assert (np.abs(tip) < 10).all() and potentials[0] > 0.5 and max(potentials) < 1
    assert np.argsort(potentials).tolist() == np.argsort(-np.array(gaps)).tolist()

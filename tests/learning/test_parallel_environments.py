"""Environments side by side behave as each would alone: in processes exactly, on a GPU up to single precision."""

from dataclasses import replace
from multiprocessing import active_children

import mujoco
import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')
from bench.planted_policies import STILL, ScriptedPolicy
from pipeline.learning import training
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.learning_files import SubtaskFolder, read_curve
from pipeline.learning.parallel_worlds import OF_DATA, OF_MODEL, BatchedEnvs, WarpPhysics, is_gpu_there, new_worlds
from pipeline.learning.policy import read_parameters
from pipeline.learning.subtask_world import RATE
from pipeline.learning.training import TrainingOptions, TrainingStarts, train

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
FEW = TrainingOptions(steps=64, environments=2)
COUNT = 3


class OneByOne:
    """MuJoCo's own physics, one world after the other."""

    def __init__(self, model):
        self.model, self.data = model, mujoco.MjData(model)
        self.breaks = None
        """The world whose physics becomes unstable."""

    def advance(self, worlds, commands):
        for index in range(worlds.count):
            mujoco.mj_resetData(self.model, self.data)
            for name in (*OF_DATA, *OF_MODEL):
                getattr(self.data if name in OF_DATA else self.model, name)[:] = worlds.fields[name][index]
            for command in commands[:, index]:
                self.data.ctrl[:] = command
                mujoco.mj_step(self.model, self.data, nstep=RATE.steps // RATE.ramp)
            for name in ("qpos", "qvel", "act", "qacc_warmstart"):
                worlds.fields[name][index] = np.nan if index == self.breaks else getattr(self.data, name)


@pytest.fixture(scope="module")
def starts(bowl_task, bowl_subtasks):
    return small_task.settled(bowl_task, bowl_subtasks[0], range(COUNT))


def random_actions(steps):
    """Return normalised actions (steps, COUNT, 5)."""
    return np.random.default_rng(3).uniform(-1, 1, (steps, COUNT, 5)).astype(np.float32)


def batched(bowl_task, subtask, starts, physics=None, worlds=None):
    worlds = worlds or new_worlds(bowl_task, len(starts))
    physics = physics or OneByOne(bowl_task.world().model)
    envs = BatchedEnvs(bowl_task, subtask, starts, EpisodeRules(), worlds, physics)
    for env, start in zip(envs.envs, starts, strict=True):
        env.unwrapped.starts = (start,)
    return envs


def test_worlds_in_a_running_world_do_not_touch_each_other_nor_does_one_that_blew_up(bowl_task, bowl_subtasks, starts):
    """Each of three worlds moves exactly as it does alone, also after another one was reset."""
    together = batched(bowl_task, bowl_subtasks[0], starts)
    each = [batched(bowl_task, bowl_subtasks[0], [start]) for start in starts]
    assert (together.reset() == np.concatenate([one.reset() for one in each])).all()
    begun_anew = 0
    for action in random_actions(70):
        seen, rewards, done, _ = together.step(action)
        for index, one in enumerate(each):
            own_seen, own_rewards, own_done, _ = one.step(action[index : index + 1])
            assert (seen[index] == own_seen[0]).all()
            assert (rewards[index], done[index]) == (own_rewards[0], own_done[0])
        begun_anew += done.sum()
    assert begun_anew >= COUNT
    physics = OneByOne(bowl_task.world().model)
    envs = batched(bowl_task, bowl_subtasks[0], starts, physics)
    envs.reset()
    physics.breaks = 1
    seen, _, done, infos = envs.step(np.zeros((COUNT, 5), np.float32))
    assert done.tolist() == [False, True, False] and not infos[1]["success"]
    physics.breaks = None
    seen, _, done, _ = envs.step(np.zeros((COUNT, 5), np.float32))
    assert np.isfinite(seen).all() and not done.any()


def test_a_batched_world_does_what_an_environment_of_its_own_does(bowl_task, bowl_subtasks, starts):
    """Up to 2 mm: MuJoCo's positions in a running world are one time step old."""
    together = batched(bowl_task, bowl_subtasks[0], starts)
    envs = [SubtaskEnv(bowl_task, bowl_subtasks[0], [start]) for start in starts]
    assert together.reset() == pytest.approx(np.array([env.reset()[0] for env in envs]), abs=2e-3)
    for action in random_actions(15):
        seen, rewards, done, infos = together.step(action)
        for index, env in enumerate(envs):
            observation, reward, *_, info = env.step(action[index])
            assert seen[index] == pytest.approx(observation, abs=0.02)
            assert rewards[index] == pytest.approx(reward, abs=0.02)
            assert infos[index]["success"] == info["success"] and not done[index]


def test_what_one_world_holds_no_other_does(bowl_task, bowl_subtasks, starts):
    """Two hands pick up, the third stands still."""
    envs = batched(bowl_task, bowl_subtasks[1], starts)
    envs.reset()
    policies = [ScriptedPolicy(env.unwrapped) for env in envs.envs]
    held = np.zeros((60, COUNT), bool)
    for step in range(60):
        envs.step(np.array([*(policy.act(None) for policy in policies[:2]), STILL], np.float32))
        held[step] = envs._worlds.holding >= 0
        if held[:, :2].any(axis=0).all():
            break
    assert held[:, :2].any(axis=0).all() and not held[:, 2].any()


@pytest.mark.parametrize(
    ("processors", "has_gpu", "processes", "on_gpu"),
    [(1, False, 1, False), (2, False, 2, False), (2, True, 2, True), (4, True, 4, False), (64, True, 8, False)],
)
def test_a_gpu_is_used_where_there_are_few_processors(monkeypatch, processors, has_gpu, processes, on_gpu):
    monkeypatch.setattr(training.os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(training, "is_gpu_there", lambda: has_gpu)
    chosen = training.on_this_machine(TrainingOptions(seed=4))
    assert (chosen.processes, chosen.on_gpu, chosen.seed) == (processes, on_gpu, 4)


def test_processes_learn_what_one_learns_and_leave_none_behind(bowl_task, bowl_subtasks, starts, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROLLOUT", 16)
    monkeypatch.setattr(training, "SEGMENT", 1)
    where, subtask, before = TrainingStarts(starts[:2], starts[2:]), bowl_subtasks[0], set(active_children())
    folders = [SubtaskFolder(tmp_path / name) for name in ("one", "two")]
    for folder, processes in zip(folders, (1, 2), strict=True):
        steps = train(subtask, bowl_task, where, folder, replace(FEW, processes=processes))
        next(steps)
        assert len(set(active_children()) - before) == (0 if processes == 1 else 2)
        assert list(steps)[-1].finished and not set(active_children()) - before
    one, two = ({k: v.numpy() for k, v in read_parameters(f.checkpoint(64))["policy"].items()} for f in folders)
    assert all((one[name] == two[name]).all() for name in one)
    keys = ("steps", "success", "return", "terms")
    curves = [[[row[key] for key in keys] for row in read_curve(folder.curve)] for folder in folders]
    assert curves[0] == curves[1]
    steps = train(subtask, bowl_task, where, SubtaskFolder(tmp_path / "stopped"), replace(FEW, processes=2))
    next(steps)
    steps.close()
    assert not set(active_children()) - before, "no process is left behind"
    monkeypatch.setattr(training, "GPU_ENVIRONMENTS", 4)
    monkeypatch.setattr(training, "WarpPhysics", lambda model, count, steps: OneByOne(bowl_task.world().model))
    folder = SubtaskFolder(tmp_path / "together")
    list(train(subtask, bowl_task, where, folder, replace(FEW, on_gpu=True)))
    assert [row["steps"] for row in read_curve(folder.curve)] == [32, 64] and folder.policy.is_file()


@pytest.mark.soak
@pytest.mark.skipif(not is_gpu_there(), reason="no GPU or no MuJoCo Warp on this machine")
def test_a_gpu_moves_worlds_as_mujoco_does(bowl_task, bowl_subtasks, starts):
    """Hands stay within a millimetre over a second of random motion, resting objects within a millimetre, too."""
    worlds = [new_worlds(bowl_task, COUNT) for _ in range(2)]
    model = worlds[0].control.model
    kinds = [OneByOne(bowl_task.world().model), WarpPhysics(model, COUNT, RATE.steps // RATE.ramp)]
    for one, physics in zip(worlds, kinds, strict=True):
        envs = batched(bowl_task, bowl_subtasks[0], starts, physics, one)
        envs.reset()
        for action in np.random.default_rng(5).uniform(-0.5, 0.5, (10, COUNT, 5)):
            envs.step(action.astype(np.float32))
    assert worlds[0].fields["qpos"] == pytest.approx(worlds[1].fields["qpos"], abs=1e-3)

"""Environments side by side behave as each would alone; policies are trained on variants of the twin."""

import json
from dataclasses import replace
from multiprocessing import active_children

import mujoco
import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from planted_policies import STILL, ScriptedPolicy

from pipeline.learning import training
from pipeline.learning.chain import ChainOptions, TaskLearner
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.judging.evaluation import evaluate_variants, write_report
from pipeline.learning.learning_files import SubtaskFolder, read_curve
from pipeline.learning.parallel import choice
from pipeline.learning.parallel.warp_physics import WarpPhysics, is_gpu_there
from pipeline.learning.parallel.worlds import OF_DATA, OF_MODEL, BatchedEnvs, new_worlds
from pipeline.learning.policy import read_parameters
from pipeline.learning.start_states import StartState, read_states, write_states
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.learning.training import TrainingOptions, TrainingStarts, train
from pipeline.learning.variants import TRAINED, UNSEEN, VariantMaker
from pipeline.simulation import Program, kit
from pipeline.simulation.recipe import recipe

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
FEW = TrainingOptions(steps=64, environments=2)
COUNT = 3


class OneByOne:
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
    world = SubtaskWorld(bowl_task, bowl_subtasks[0])
    return [world.settled(layout) for layout in bowl_task.get(range(COUNT))]


def random_actions(steps):
    return np.random.default_rng(3).uniform(-1, 1, (steps, COUNT, 5)).astype(np.float32)


def batched(bowl_task, subtask, starts, physics=None):
    worlds = new_worlds(bowl_task, len(starts))
    physics = physics or OneByOne(bowl_task.world().model)
    envs = BatchedEnvs(bowl_task, subtask, starts, EpisodeRules(), worlds, physics)
    for env, start in zip(envs.envs, starts, strict=True):
        env.unwrapped.starts = (start,)
    return envs


def test_worlds_that_share_a_running_world_do_not_touch_one_another(bowl_task, bowl_subtasks, starts):
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


def test_a_batched_world_does_what_an_environment_of_its_own_does(bowl_task, bowl_subtasks, starts):
    """Up to 2 mm: MuJoCo's positions in a running world are one time step old."""
    envs = [SubtaskEnv(bowl_task, bowl_subtasks[0], [start]) for start in starts]
    together = batched(bowl_task, bowl_subtasks[0], starts)
    assert together.reset() == pytest.approx(np.array([env.reset()[0] for env in envs]), abs=2e-3)
    for action in random_actions(15):
        seen, rewards, done, infos = together.step(action)
        for index, env in enumerate(envs):
            observation, reward, *_, info = env.step(action[index])
            assert seen[index] == pytest.approx(observation, abs=0.02)
            assert rewards[index] == pytest.approx(reward, abs=0.02)
            assert infos[index]["success"] == info["success"] and not done[index]


def test_what_one_world_holds_no_other_does(bowl_task, bowl_subtasks, starts):
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


def test_a_world_whose_physics_blew_up_is_lost_and_the_others_go_on(bowl_task, bowl_subtasks, starts):
    physics = OneByOne(bowl_task.world().model)
    envs = batched(bowl_task, bowl_subtasks[0], starts, physics)
    envs.reset()
    physics.breaks = 1
    seen, _, done, infos = envs.step(np.zeros((COUNT, 5), np.float32))
    assert done.tolist() == [False, True, False] and not infos[1]["success"]
    physics.breaks = None
    seen, _, done, _ = envs.step(np.zeros((COUNT, 5), np.float32))
    assert np.isfinite(seen).all() and not done.any()


@pytest.mark.parametrize(
    ("processors", "has_gpu", "processes", "on_gpu"),
    [(1, False, 1, False), (2, False, 2, False), (2, True, 2, True), (4, True, 4, False), (64, True, 8, False)],
)
def test_a_gpu_is_used_where_there_are_few_processors(monkeypatch, processors, has_gpu, processes, on_gpu):
    monkeypatch.setattr(choice.os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(choice, "is_gpu_there", lambda: has_gpu)
    chosen = choice.on_this_machine(TrainingOptions(seed=4))
    assert (chosen.processes, chosen.on_gpu, chosen.seed) == (processes, on_gpu, 4)


def test_a_policy_learns_in_worlds_that_are_advanced_together(bowl_task, bowl_subtasks, starts, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROLLOUT", 16)
    monkeypatch.setattr(training, "SEGMENT", 1)
    monkeypatch.setattr(training, "GPU_ENVIRONMENTS", 4)
    monkeypatch.setattr(training, "WarpPhysics", lambda model, count, steps: OneByOne(bowl_task.world().model))
    folder, where = SubtaskFolder(tmp_path), TrainingStarts(starts[:2], starts[2:])
    list(train(bowl_subtasks[0], bowl_task, where, folder, replace(FEW, on_gpu=True)))
    assert [row["steps"] for row in read_curve(folder.curve)] == [32, 64] and folder.policy.is_file()


def test_processes_learn_exactly_what_one_process_learns(bowl_task, bowl_subtasks, starts, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROLLOUT", 16)
    monkeypatch.setattr(training, "SEGMENT", 1)
    where, subtask = TrainingStarts(starts[:2], starts[2:]), bowl_subtasks[0]
    folders = [SubtaskFolder(tmp_path / name) for name in ("one", "two")]
    for folder, processes in zip(folders, (1, 2), strict=True):
        assert list(train(subtask, bowl_task, where, folder, replace(FEW, processes=processes)))[-1].finished
    one, two = ({k: v.numpy() for k, v in read_parameters(f.checkpoint(64))["policy"].items()} for f in folders)
    assert all((one[name] == two[name]).all() for name in one)
    keys = ("steps", "success", "return", "terms")
    curves = [[[row[key] for key in keys] for row in read_curve(folder.curve)] for folder in folders]
    assert curves[0] == curves[1]


def test_training_leaves_no_process_behind(bowl_task, bowl_subtasks, starts, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "ROLLOUT", 16)
    where, before = TrainingStarts(starts[:2], starts[2:]), set(active_children())
    steps = train(bowl_subtasks[0], bowl_task, where, SubtaskFolder(tmp_path), replace(FEW, processes=2))
    next(steps)
    assert len(set(active_children()) - before) == 2
    steps.close()
    assert not set(active_children()) - before


@pytest.mark.soak
@pytest.mark.skipif(not is_gpu_there(), reason="no GPU or no MuJoCo Warp on this machine")
def test_a_gpu_moves_worlds_as_mujoco_does(bowl_task, bowl_subtasks, starts):
    worlds = [new_worlds(bowl_task, COUNT) for _ in range(2)]
    model = worlds[0].control.model
    kinds = [OneByOne(bowl_task.world().model), WarpPhysics(model, COUNT, RATE.steps // RATE.ramp)]
    for one, physics in zip(worlds, kinds, strict=True):
        envs = BatchedEnvs(bowl_task, bowl_subtasks[0], starts, EpisodeRules(), one, physics)
        for env, start in zip(envs.envs, starts, strict=True):
            env.unwrapped.starts = (start,)
        envs.reset()
        for action in np.random.default_rng(5).uniform(-0.5, 0.5, (10, COUNT, 5)):
            envs.step(action.astype(np.float32))
    assert worlds[0].fields["qpos"] == pytest.approx(worlds[1].fields["qpos"], abs=1e-3)


class InThisProcess:
    def arrange(self, program, project_dir, seeds):
        built = []
        for seed in seeds:
            sim = kit.Simulation(kit.Scene.load(project_dir), seed)
            sim.scatter("red_cube")
            sim.goal(kit.on("red_cube", "blue_cube"))
            built.append(recipe(sim))
        return built, ""


@pytest.fixture(scope="module")
def maker(furniture):
    return VariantMaker(furniture, Program("", ""), InThisProcess(), ("red_cube",))


@pytest.fixture(scope="module")
def task(furniture):
    return small_task.layouts(furniture, kit.on("red_cube", "blue_cube"))


@pytest.fixture(scope="module")
def subtasks(task):
    return small_task.subtasks(task)


def cube(variant):
    model = variant.layouts.world().model
    return variant.layouts.base.objects["red_cube"].size, model.body_mass[model.body("red_cube").id]


def test_variants_differ_in_size_and_mass_and_come_back_the_same(maker, task, subtasks):
    usual = task.base.objects["red_cube"].size
    first, second = maker.make(task, subtasks, TRAINED, 2)
    assert not np.allclose(cube(first)[0], usual) and not np.allclose(cube(first)[0], cube(second)[0])
    assert np.all(np.abs(cube(first)[0] / usual - 1) < 0.11) and cube(first)[1] != cube(second)[1]
    (again,) = maker.make(task, subtasks, TRAINED, 1)
    assert np.array_equal(cube(again)[0], cube(first)[0]) and cube(again)[1] == cube(first)[1]
    (unseen,) = maker.make(task, subtasks, UNSEEN, 1)
    assert not np.allclose(cube(unseen)[0], cube(first)[0]) and maker.make(task, subtasks, TRAINED, 0) == ()


def test_every_variant_is_trained_on_and_others_are_measured(maker, task, subtasks, tmp_path, short_trainings):
    reach = subtasks[:1]
    learner = TaskLearner(tmp_path, task, reach, maker.make(task, reach, TRAINED, 1))
    starts = learner.starts(reach[0])
    assert {one.variant for one in starts.training} == {one.variant for one in starts.validation} == {0, 1}
    envs = starts.environments(reach[0], task, starts.training, training.EpisodeRules())
    observed = [env.reset(seed=0)[0] for env in envs.values()]
    assert observed[0].shape == observed[1].shape and list(envs) == [0, 1]
    list(learner.learn(ChainOptions(TrainingOptions(steps=32, environments=2))))
    varied = evaluate_variants(learner, maker.make(task, reach, UNSEEN, 2), 4)
    assert len(varied) == 4
    report = write_report(learner, [], [], 2, varied)
    assert report["variants"] == {"success": sum(one.solved for one in varied) / 4, "layouts": 4}
    assert json.loads(learner.report_file.read_text()) == report


def test_end_states_keep_their_variant_and_older_files_are_of_the_twin(tmp_path):
    states = [StartState(3, np.ones(4), variant=2), StartState(4, np.zeros(4))]
    write_states(tmp_path / "end.npz", states)
    assert [one.variant for one in read_states(tmp_path / "end.npz")] == [2, 0]
    with np.load(tmp_path / "end.npz") as file:
        np.savez(tmp_path / "old.npz", **{name: file[name] for name in file.files if name != "variants"})
    assert [one.variant for one in read_states(tmp_path / "old.npz")] == [0, 0]

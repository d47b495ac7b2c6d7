"""Policies are trained on variants of the twin, and measured on others: each a world of its own."""

import json

import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from pipeline.learning import training
from pipeline.learning.chain import ChainOptions, TaskLearner
from pipeline.learning.judging.evaluation import evaluate_variants, write_report
from pipeline.learning.start_states import StartState, read_states, write_states
from pipeline.learning.training import TrainingOptions
from pipeline.learning.variants import TRAINED, UNSEEN, VariantMaker
from pipeline.simulation import Program, kit
from pipeline.simulation.recipe import recipe

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")


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

"""Training is a generator that can be stopped, killed and resumed, on variants, across seams and from skills."""

import json
import shutil
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

import torch

from pipeline.closed_loop.learned import require_policies
from pipeline.learning import chain, demonstrations, training
from pipeline.learning.chain import ChainOptions, SubtaskLearned, TaskLearner
from pipeline.learning.cloning import Imitated
from pipeline.learning.demonstrations import correct, demonstrate_subtask, doubled_steps, oracle_episodes
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import finish
from pipeline.learning.judging import evaluation, seams
from pipeline.learning.judging.evaluation import evaluate_variants, write_report
from pipeline.learning.judging.seams import Seam, SeamTuned, tune_seams
from pipeline.learning.learning_files import SubtaskFolder, TrainingRecord, read_curve
from pipeline.learning.policy import LearnedPolicy, read_parameters
from pipeline.learning.start_states import StartState, read_states, write_states
from pipeline.learning.subtask import WHOLE, LearningError, from_row, to_row
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.training import TrainingOptions, TrainingStarts, train
from pipeline.learning.variants import TRAINED, UNSEEN, VariantMaker
from pipeline.simulation import Program, kit
from pipeline.skills.skill import nearest_skill, read_skills, skill_objects
from pipeline.skills.starting import fitting_skills, keep_skills, labelled, learn_from_skills
from pipeline.store import write_json

pytestmark = [
    pytest.mark.filterwarnings("ignore:You have specified a mini-batch size"),
    pytest.mark.usefixtures("short_trainings"),
]
FEW = TrainingOptions(steps=32, environments=2)
REACH = ChainOptions(FEW, ("reach_red_cube",))


@pytest.fixture(scope="module")
def starts(bowl_task, bowl_subtasks):
    states = small_task.settled(bowl_task, bowl_subtasks[0], range(3))
    return TrainingStarts(states[:2], states[2:])


def weights(path):
    return {name: value.numpy() for name, value in read_parameters(path)["policy"].items()}


def same(one, other):
    return all((one[name] == other[name]).all() for name in one)


def test_a_training_that_was_killed_goes_on_as_if_it_had_not_been(bowl_task, bowl_subtasks, starts, tmp_path):
    reach, through, killed = bowl_subtasks[0], SubtaskFolder(tmp_path / "a"), SubtaskFolder(tmp_path / "b")
    three = replace(FEW, steps=96)
    assert list(train(reach, bowl_task, starts, through, three))[-1].finished
    steps = train(reach, bowl_task, starts, killed, three)
    next(one for one in steps if one.success is not None)
    next(steps)  # in the middle of the second segment
    steps.close()
    assert killed.training().steps == 32
    assert list(train(reach, bowl_task, starts, killed, three))[-1].finished
    assert same(weights(through.checkpoint(96)), weights(killed.checkpoint(96)))
    keys = ("steps", "success", "return", "terms")
    curves = [[{key: one[key] for key in keys} for one in read_curve(folder.curve)] for folder in (through, killed)]
    assert curves[0] == curves[1] and [one["steps"] for one in curves[0]] == [32, 64, 96]


@pytest.mark.parametrize("changed", [{"key": "../../x"}, {"steps": 10**400}, {"steps": [1]}, {"best": "good"}])
def test_a_record_of_a_training_that_no_training_wrote_counts_as_none(changed, tmp_path):
    folder = SubtaskFolder(tmp_path)
    write_json(tmp_path / "training.json", asdict(TrainingRecord("key", 32, success=0.5)) | changed)
    assert folder.training() == TrainingRecord("")
    folder.curve.write_text('{"steps": 0, "success": 1, "cloned": []}\n{"steps": 1}\n7\n{"steps": 2, "success": 0}\n')
    assert [one["steps"] for one in read_curve(folder.curve)] == [2] and folder.imitated() == 0


def test_an_edited_reward_is_learned_beside_the_former_one(bowl_task, bowl_subtasks, starts, tmp_path):
    reach, folder = bowl_subtasks[0], SubtaskFolder(tmp_path / "0_reach")
    edited = replace(reach, reward=tuple(replace(one, weight=one.weight / 2) for one in reach.reward))

    def learned(subtask):
        """Return the progress of training it, and then what its folder holds."""
        progress = list(train(subtask, bowl_task, starts, folder, FEW))
        return progress, folder.policy.read_bytes(), read_curve(folder.curve)

    _, policy, curve = learned(reach)
    _, other_policy, other_curve = learned(edited)
    assert policy != other_policy
    again, *files = learned(reach)
    assert len(again) == 1 and again[0].finished and files == [policy, curve]
    again, *files = learned(edited)
    assert len(again) == 1 and files == [other_policy, other_curve]
    with pytest.raises(LearningError, match=r"0_reach/policy\.zip was learned for other objects or goals"):
        LearnedPolicy.read(folder.policy, SubtaskEnv(bowl_task, bowl_subtasks[2], starts.training))


def test_the_oracle_goes_on_from_where_a_policy_has_got_to_also_by_longer_steps(bowl_task, bowl_subtasks, monkeypatch):
    reach, pick, place = (SubtaskWorld(bowl_task, one) for one in bowl_subtasks)
    env = SubtaskEnv(bowl_task, pick.subtask, (reach.settled(bowl_task.base),), doubled_steps(EpisodeRules()), pick)
    begun = env.starts
    held = finish(env, _Shown(next(demonstrate_subtask(env, env.starts, np.random.default_rng(0)))), env.reset()[0])
    assert held.success and pick.control.held == "red_cube"
    placing = SubtaskEnv(bowl_task, place.subtask, (held.end,), doubled_steps(EpisodeRules()), place)
    random = np.random.default_rng(0)
    (shown,) = demonstrate_subtask(placing, [held.end], random)
    assert shown.actions[0][4] == 1, "what is held is not let go first"
    (taken_over,) = correct(placing, SimpleNamespace(act=lambda _: np.array([0, 0, 0, 0, 1.0])), [held.end], random)
    placed = finish(placing, _Shown(taken_over), placing.reset()[0])
    assert placed.success
    (lifted,) = demonstrate_subtask(env, [placed.end], random)
    assert finish(env, _Shown(lifted), env.reset()[0]).success, "what is where it belongs is lifted all the same"
    env.starts = begun
    monkeypatch.setattr("pipeline.learning.demonstrations.HIGHER_M", 0.08)  # a policy's hand moves 5 cm a step
    assert len(list(demonstrate_subtask(env, env.starts, np.random.default_rng(0)))) == 1


def test_of_several_objects_each_is_carried_higher_than_where_it_was_grasped_itself():
    heights = [0.3, 0.1, 0.2, 0.3, 0.3, 0.25, 0.35, 0.1, 0.3]  # one lies low; one stands high, and is put down low
    suction = [0, 1, 1, 1, 0, 1, 1, 1, 0]
    path = np.zeros((9, 5))
    path[:, 2], path[:, 4] = heights, suction
    raised = np.round(demonstrations.carried_higher(path)[:, 2] - heights, 6)
    assert raised.tolist() == [0, 0, 0.02, 0.02, 0, 0, 0.02, 0, 0]


def test_the_oracle_does_not_go_up_first_from_just_above_an_object(bowl_task, bowl_subtasks, monkeypatch):
    """A policy does not remember that it has been up already, and would go up again and again."""

    plan = demonstrations.oracle_path

    def with_detour(*arguments):
        path = plan(*arguments)
        up = np.tile(path[0] * [1, 1, 1, 1, 0], (20, 1))
        up[:, 2] += 0.12 * np.sin(np.linspace(0, np.pi, 20))
        return np.concatenate([up, path])

    reach, pick, _ = (SubtaskWorld(bowl_task, one) for one in bowl_subtasks)
    env = SubtaskEnv(bowl_task, reach.subtask, (reach.settled(bowl_task.base),), doubled_steps(EpisodeRules()), reach)
    (reached,) = demonstrate_subtask(env, env.starts, np.random.default_rng(0))
    finish(env, _Shown(reached), env.reset()[0])
    env.step(np.array([0.0, 0.0, 0.8, 0.0, -1.0]))
    picking = SubtaskEnv(bowl_task, pick.subtask, (above := reach.snapshot(),), doubled_steps(EpisodeRules()), pick)
    monkeypatch.setattr(demonstrations, "oracle_path", with_detour)
    (picked,) = demonstrate_subtask(picking, [above], np.random.default_rng(0))
    is_up = picked.actions[:, 2] > 0
    assert not is_up[0] and np.count_nonzero(np.diff(is_up)) == 1, "down, then up with it"


class _Shown:
    def __init__(self, shown):
        self._left = list(shown.actions)

    def act(self, observation, explore=False):
        return self._left.pop(0) if self._left else np.array([0, 0, 0, 0, -1.0])


def test_imitating_goes_on_until_starts_that_were_not_shown_succeed(bowl_task, bowl_subtasks, tmp_path, monkeypatch):
    options = ChainOptions(FEW, ("reach_red_cube",), demonstrations=2)
    monkeypatch.setattr(training._Learner, "evaluate", lambda _: [])
    monkeypatch.setattr(training, "success_rate", lambda _: 1.0)
    monkeypatch.setattr(training, "_summary", lambda _: (1.0, 0.0, ()))
    for name, succeeds, steps in (("there", True, [0]), ("not there", False, [0, 32])):
        learner = TaskLearner(tmp_path / name, bowl_task, bowl_subtasks)
        monkeypatch.setattr(training._Learner, "unshown_success", lambda _, succeeds=succeeds: float(succeeds))
        list(learner.learn(options))
        assert [one["steps"] for one in read_curve(learner.folder(bowl_subtasks[0]).curve)] == steps


@pytest.mark.parametrize(
    ("validation", "unshown", "used", "kept"),
    [
        ((1.0,), (1.0,), 1, 0),
        ((0.95, 1.0), (1.0, 1.0), 2, 1),
        ((1.0, 1.0, 1.0), (0.95, 0.9, 1.0), 3, 2),
        ((0.95, 0.95, 0.95, 0.95), (0.95, 0.95, 0.95, 0.95), 4, 3),
        ((1.0, 0.9, 0.9, 0.9, 0.8), (0.95, 0.95, 0.9, 0.9, 0.9), 5, 0),
    ],
)
def test_the_best_imitation_is_kept(bowl_task, bowl_subtasks, starts, monkeypatch, validation, unshown, used, kept):
    learner = training._Learner(bowl_subtasks[0], bowl_task, starts, FEW)
    rounds = iter(zip(validation, unshown, strict=True))
    now = [0.0, 0.0]
    fitted: list[int] = []

    def imitate(policy, *_):
        for number in range(5):
            torch.nn.init.constant_(policy.log_std, number)  # the weights of that round
            now[:] = next(rounds, now)
            fitted.append(number)
            yield Imitated(number + 1, True, number)

    monkeypatch.setattr(training, "imitate", imitate)
    monkeypatch.setattr(training._Learner, "evaluate", lambda _: now[:1])
    monkeypatch.setattr(training._Learner, "unshown_success", lambda _: now[1])
    monkeypatch.setattr(training, "success_rate", sum)
    monkeypatch.setattr(training, "CLONED_STD", 1.0)
    list(learner.imitate(until=float("inf")))
    assert (len(fitted), learner.shown) == (used, kept + 1)


def test_one_policy_beside_subtasks_that_only_imitated_imitates_too(bowl_task, bowl_subtasks, tmp_path, monkeypatch):
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks[:1])
    monkeypatch.setattr(training._Learner, "unshown_success", lambda _: 1.0)
    list(learner.learn(ChainOptions(replace(FEW, target=0.0), demonstrations=2)))
    assert learner.folder(bowl_subtasks[0]).training().steps == 0
    list(learner.learn(ChainOptions(FEW, (WHOLE,), demonstrations=2)))
    (point,) = read_curve(learner.folder(learner.whole).curve)
    assert point["steps"] == 0 and point["cloned"] >= 2
    assert learner.folder(learner.whole).policy.is_file()


@pytest.mark.parametrize("content", [b"", b"not a zip", None, "bomb"])
def test_an_unreadable_policy_is_one_line_and_runs_no_code(bowl_task, bowl_subtasks, starts, tmp_path, content):
    path = tmp_path / "0_reach" / "policy.zip"
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "bomb":
        small_task.write_bomb(path)
    with pytest.raises(LearningError) as refused:
        LearnedPolicy.read(path, SubtaskEnv(bowl_task, bowl_subtasks[0], starts.training))
    assert "\n" not in str(refused.value) and "learn" in str(refused.value)


def test_a_subtask_and_the_whole_task_are_measured_on_the_same_layouts(bowl_task, bowl_subtasks, tmp_path):
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks[:1])
    *_, last = learner.learn(ChainOptions(FEW))
    assert isinstance(last, SubtaskLearned) and last.subtask == "reach_red_cube"
    results = list(evaluation.evaluate(learner, 2))
    report = evaluation.write_report(learner, results, [], 2)
    folder = learner.folder(learner.subtasks[0]).path
    assert {file.name for file in folder.iterdir()} >= {
        "policy.zip", "curve.jsonl", "evaluation.json", "end_states.npz"
    }  # fmt: skip
    for line in (folder / "curve.jsonl").read_text().splitlines():
        assert {"steps", "seconds", "success", "return"} <= set(json.loads(line))
    assert report == json.loads(learner.report_file.read_text())
    (row,) = report["subtasks"]
    assert set(row) == {"name", "success", "layouts", "steps", "seconds", "shortcut"} and row["layouts"] == 2
    assert set(report) == {"subtasks", "chain", "whole"} and report["chain"]["layouts"] == 2
    seen = {one.layout for one in learner.settled(range(3))} | {50_000, 50_001}
    assert not seen & {one.layout for one in results}
    *_, last = learner.learn(ChainOptions(replace(FEW, steps=9999), ("whole",)))
    assert last.subtask == "whole" and last.steps == FEW.steps and last.finished, "as many steps as its subtasks"
    assert learner.whole.success == bowl_task.base.stages[0][1] and learner.whole.needs_rest
    episodes = evaluation.evaluate_whole(learner, 2)
    assert [one.layout for one in episodes] == [one.layout for one in results]
    report = evaluation.write_report(learner, results, episodes, 2)
    assert report["whole"] == {"success": 0.0, "layouts": 2}


def test_the_end_states_that_a_policy_explores_are_the_same_after_an_interruption(
    bowl_task, bowl_subtasks, tmp_path, monkeypatch
):
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks[:1])
    list(learner.learn(ChainOptions(FEW)))
    reach, kept = learner.subtasks[0], []

    def played(envs, policy, starts, explore=False):
        for one in starts:
            yield SimpleNamespace(success=True, end=replace(one, state=one.state + explore * float(torch.rand(1))))

    monkeypatch.setattr(chain, "play_across", played)
    monkeypatch.setattr(chain, "EXPLORED_ROUNDS", 2)
    for _ in range(2):
        torch.rand(3)  # as a training does that was not interrupted
        learner.keep_end_states(reach, learner.starts(reach))
        kept.append(np.array([one.state for one in read_states(learner.folder(reach).end_states)]))
    assert np.array_equal(*kept)


def test_a_subtask_that_never_starts_is_refused_and_end_states_keep_their_layouts(bowl_task, bowl_subtasks, tmp_path):
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks)
    with pytest.raises(LearningError, match="0_reach_red_cube has no end states yet; learn that subtask first"):
        list(learner.learn(ChainOptions(FEW, ("pick_red_cube",))))
    write_states(learner.folder(bowl_subtasks[0]).end_states, [])
    with pytest.raises(LearningError, match="reach_red_cube never ended well enough for pick_red_cube to begin there"):
        list(learner.learn(ChainOptions(FEW, ("pick_red_cube",))))
    with pytest.raises(LearningError, match="there is no subtask 'fly'; there are: reach_red_cube, pick_red_cube"):
        list(learner.learn(ChainOptions(FEW, ("fly",))))
    with pytest.raises(LearningError, match="the start states are of another scene"):
        SubtaskWorld(bowl_task, bowl_subtasks[1]).begin(StartState(0, np.zeros(5)))
    begun, file = learner.starts(bowl_subtasks[0]), learner.folder(bowl_subtasks[0]).end_states
    write_states(file, [*begun.training, *begun.validation])
    later = learner.starts(bowl_subtasks[1])
    assert {one.layout for one in later.training} == {0, 1, 2} and len(read_states(file)) == 5
    assert {one.layout for one in later.validation} == {50_000, 50_001}
    write_states(file, [StartState(3, np.ones(4), variant=2), StartState(4, np.zeros(4))])
    assert [one.variant for one in read_states(file)] == [2, 0]
    with np.load(file) as kept:
        np.savez(tmp_path / "old.npz", **{name: kept[name] for name in kept.files if name != "variants"})
    assert [one.variant for one in read_states(tmp_path / "old.npz")] == [0, 0]


def test_a_step_that_the_oracle_plans_needs_no_training_and_the_chain_runs_over_both(
    bowl_task, bowl_subtasks, tmp_path, monkeypatch
):
    planned: list[str] = []

    def path(layouts: Any, subtask: Any, start: StartState) -> np.ndarray:
        planned.append(subtask.name)
        return find(layouts, subtask, start)

    find = demonstrations.oracle_path
    monkeypatch.setattr(demonstrations, "oracle_path", path)
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks)
    learner.plan({one.name for one in bowl_subtasks})
    ended = [one for one in learner.learn(ChainOptions(FEW)) if isinstance(one, SubtaskLearned)]
    assert set(planned) == {bowl_subtasks[0].name}, "steps that are planned in a row take one plan a layout"
    assert [(one.subtask, one.way) for one in ended] == [(one.name, "plan") for one in bowl_subtasks]
    assert not list(tmp_path.rglob("policy.zip")) and learner.not_learned() == []
    results = list(evaluation.evaluate(learner, 3))
    assert [one.solved for one in results] == [True] * 3
    report = evaluation.write_report(learner, results, [], 3)
    assert report["chain"]["success"] == 1 and {row["way"] for row in report["subtasks"]} == {"plan"}
    with pytest.raises(LearningError, match="reach_red_cube, pick_red_cube, place_red_cube: planned by the"):
        require_policies(learner.subtasks)
    learner.plan({bowl_subtasks[0].name, bowl_subtasks[2].name})
    assert learner.not_learned() == [bowl_subtasks[1].name] and "way" not in to_row(learner.subtasks[1])
    at_rest = SimpleNamespace(act=lambda observation, explore=False: np.zeros(5))
    mixed = evaluation.Chain(learner, lambda one, env: learner.acting(one, env) if one.way == "plan" else at_rest)
    (start,) = learner.settled(range(1))
    assert [one.success for one in mixed.play(start).episodes] == [True, False], "the policy acts, and does nothing"
    require_policies(bowl_subtasks)
    assert [from_row(to_row(one)) for one in learner.subtasks] == list(learner.subtasks)


@pytest.mark.parametrize("seconds", [float("inf"), 0])
def test_what_stays_below_its_target_in_its_time_is_planned_where_the_oracle_does_better(
    seconds, bowl_task, bowl_subtasks, tmp_path
):
    learner, options = (
        TaskLearner(tmp_path, bowl_task, bowl_subtasks[:2]),
        ChainOptions(FEW, (), seconds, plans_rest=True),
    )
    ended = [one for one in learner.learn(options) if isinstance(one, SubtaskLearned)]
    assert [(one.way, one.success) for one in ended] == [("plan", 1.0)] * 2
    assert all(one.by_policy < 0.95 for one in ended if one.by_policy is not None)
    assert [one.way for one in learner.subtasks] == ["plan"] * 2 and learner.not_learned() == []
    assert learner.folder(learner.subtasks[0]).policy.is_file() == (seconds > 0), "what was learned is kept"
    key = learner.folder(learner.subtasks[0]).training().key
    learner.plan(())
    assert not seconds or key == training.training_key(learner.subtasks[0], learner.starts(learner.subtasks[0]), FEW)


@pytest.mark.parametrize("policy, oracle, way", [(0.5, 0.4, "learn"), (0.5, 0.5, "plan"), (0.5, 0.6, "plan"),
                                                 (0.0, 0.0, "learn"), (0.97, 1.0, "learn")])  # fmt: skip
def test_a_step_below_its_target_is_planned_where_the_oracle_does_as_well_for_a_policys_share_is_its_best(
    policy, oracle, way, bowl_task, bowl_subtasks, tmp_path, monkeypatch
):
    learner = TaskLearner(tmp_path, bowl_task, bowl_subtasks[:1])
    monkeypatch.setattr(chain, "train", lambda *_: iter(()))
    monkeypatch.setattr(chain, "success_rate", lambda _: oracle)
    monkeypatch.setattr(chain.SubtaskFolder, "training", lambda _: SimpleNamespace(best=policy))
    monkeypatch.setattr(learner, "_playing", lambda *_: lambda _: iter(()))
    monkeypatch.setattr(learner, "keep_end_states", lambda one, *_: SubtaskLearned(one.name, oracle, 1, one.way))
    (ended,) = [one for one in learner.learn(ChainOptions(FEW, plans_rest=True)) if isinstance(one, SubtaskLearned)]
    assert ended.way == way == learner.subtasks[0].way and ended.by_policy == (policy if way == "plan" else None)


def test_a_seam_with_a_clear_drop_is_trained_across_once(bowl_task, bowl_subtasks, tmp_path, monkeypatch):
    reach, pick = bowl_subtasks[:2]
    learned = TaskLearner(tmp_path, bowl_task, (reach, pick))
    list(learned.learn(ChainOptions(FEW, from_reset=True)))
    record = learned.folder(pick).path / "training.json"
    write_json(record, json.loads(record.read_text()) | {"best": 1.0})  # it succeeded everywhere in training
    assert list(tune_seams(learned, FEW)) == [], "reach never ends well: there is no seam to judge"
    starts = tuple(StartState(0, np.zeros(1)) for _ in range(40))
    assert Seam(pick, starts, 20).drops_from(1.0) and not Seam(pick, starts, 38).drops_from(1.0)
    assert not Seam(pick, starts, 20).drops_from(0.5)
    assert not Seam(pick, starts[:5], 0).drops_from(1.0), "too few to say"
    begins = small_task.settled(learned.layouts, reach, range(60_000, 60_003))
    ends = [next(oracle_episodes(learned.layouts, [reach], one, EpisodeRules())).end for one in begins]
    chain.write_states(learned.folder(reach).end_states, [*ends, *ends])
    monkeypatch.setattr(learned, "starts", lambda subtask: chain.TrainingStarts(ends, ends))
    monkeypatch.setattr(seams, "played_seams", lambda learner: (Seam(pick, tuple(ends) * 4, 0),))
    kept = learned.folder(pick).policy.read_bytes()
    *_, tuned = tune_seams(learned, FEW)
    assert isinstance(tuned, SeamTuned) and tuned.subtask == "pick_red_cube" and tuned.steps == 32
    assert 0 <= tuned.before <= tuned.after <= 1 and tuned.layouts == 4
    curve = read_curve(learned.folder(pick).seam.curve)
    assert [one["steps"] for one in curve] == [0, 32], "the first point is the policy as it was"
    assert (learned.folder(pick).policy.read_bytes() == kept) == (tuned.after <= tuned.before)
    found = evaluation.report(learned, [], [], 2, {})["subtasks"]
    assert "tuned" not in found[0]
    assert found[1]["tuned"] == {"before": tuned.before, "after": tuned.after, "layouts": 4, "steps": 32}
    again = [one for one in tune_seams(learned, FEW) if isinstance(one, SeamTuned)]
    assert again == [tuned] and len(read_curve(learned.folder(pick).seam.curve)) == 2
    write_json(record, {"key": "learned again"})
    assert "tuned" not in evaluation.report(learned, [], [], 2, {})["subtasks"][1]


def cube(variant):
    model = variant.layouts.world().model
    body = model.body("red_cube").id
    return variant.layouts.base.objects["red_cube"].size, model.body_mass[body]


def test_variants_differ_come_back_the_same_and_are_all_trained_on_while_others_are_measured(furniture, tmp_path):
    task = small_task.layouts(furniture, goal := kit.on("red_cube", "blue_cube"))
    subtasks = small_task.subtasks(task)
    here = SimpleNamespace(arrange=lambda _, dir, seeds: (small_task.recipes(kit.Scene.load(dir), seeds, goal), ""))
    maker = VariantMaker(furniture, Program("", ""), here, ("red_cube",))
    usual = task.base.objects["red_cube"].size
    first, second = maker.make(task, subtasks, TRAINED, 2)
    assert not np.allclose(cube(first)[0], usual) and not np.allclose(cube(first)[0], cube(second)[0])
    assert np.all(np.abs(cube(first)[0] / usual - 1) < 0.11) and cube(first)[1] != cube(second)[1]
    (again,) = maker.make(task, subtasks, TRAINED, 1)
    assert np.array_equal(cube(again)[0], cube(first)[0]) and cube(again)[1] == cube(first)[1]
    (unseen,) = maker.make(task, subtasks, UNSEEN, 1)
    assert not np.allclose(cube(unseen)[0], cube(first)[0])
    reach = subtasks[:1]
    learner = TaskLearner(tmp_path, task, reach, maker.make(task, reach, TRAINED, 1))
    starts = learner.starts(reach[0])
    assert {one.variant for one in starts.training} == {one.variant for one in starts.validation} == {0, 1}
    envs = starts.environments(reach[0], task, starts.training, EpisodeRules())
    observed = [env.reset(seed=0)[0] for env in envs.values()]
    assert observed[0].shape == observed[1].shape and list(envs) == [0, 1]
    list(learner.learn(ChainOptions(FEW)))
    varied = evaluate_variants(learner, maker.make(task, reach, UNSEEN, 2), 4)
    report = write_report(learner, [], [], 2, varied)
    assert report["variants"] == {"success": sum(one.solved for one in varied) / 4, "layouts": 4}
    assert json.loads(learner.report_file.read_text()) == report


@pytest.fixture(scope="module")
def first(tmp_path_factory, bowl_task, bowl_subtasks):
    """A learner whose first subtask was trained, and the folder of its skills, as a good evaluation keeps them."""
    folder = tmp_path_factory.mktemp("skills")
    learner = TaskLearner(folder / "first", bowl_task, bowl_subtasks)
    with pytest.MonkeyPatch.context() as patch:
        small_task.shorten_trainings(patch)
        list(learner.learn(REACH))
    row = {"name": "reach_red_cube", "success": 0.97, "layouts": 30, "steps": 32}
    poor = {"name": "pick_red_cube", "success": 0.5, "layouts": 30, "steps": 32}
    kept = keep_skills(learner, {"subtasks": [row, poor]}, "first", folder / "skills")
    assert [one.subtask for one in kept] == ["reach_red_cube"]
    return learner, folder / "skills"


@pytest.fixture
def learned(first, tmp_path):
    """The same, with a copy of the skills that may be damaged."""
    return first[0], Path(shutil.copytree(first[1], tmp_path / "skills"))


def test_a_skill_fits_the_same_subtask_of_other_objects_the_most_alike_first(learned, table, bowl_task, bowl_subtasks):
    (skill,) = read_skills(learned[1])
    onto = small_task.layouts(table, kit.on("blue_cube", "red_cube"), scattered=("blue_cube",))
    reach, pick, *_ = small_task.subtasks(onto)
    assert nearest_skill(skill_objects(reach, onto), [skill]) == skill
    assert nearest_skill(skill_objects(pick, onto), [skill]) is None
    worse, better = replace(skill, success=0.8), replace(skill, success=0.99)
    assert nearest_skill(skill_objects(reach, onto), [worse, better, skill]) == better
    needed = skill_objects(bowl_subtasks[0], bowl_task)
    larger = replace(skill, sizes=tuple((x + 0.05, y, z) for x, y, z in skill.sizes))
    another = replace(skill, categories=("hammer",) * len(skill.categories))
    assert nearest_skill(needed, [another, larger, skill]) == skill
    assert nearest_skill(needed, [another, larger]) == larger


def test_a_training_begins_with_the_skill_which_holds_tensors_alone(learned, tmp_path, bowl_task, bowl_subtasks):
    first, folder = learned
    learner = TaskLearner(tmp_path / "second", bowl_task, bowl_subtasks)
    lines = []
    next(learn_from_skills(learner, REACH, read_skills(folder), lines.append))
    kept = learner.folder(bowl_subtasks[0])
    assert same(weights(first.folder(bowl_subtasks[0]).policy), weights(kept.policy))
    assert lines[0].startswith("reach_red_cube: starts from the skill reach_red_cube of first, success ")
    list(learn_from_skills(learner, REACH, read_skills(folder), lines.append))
    assert len(lines) == 1  # begun already: it goes on
    assert [one.get("skill") for one in read_curve(kept.curve)] == ["reach_red_cube of first", None]
    row = {"name": "reach_red_cube", "success": 1.0, "layouts": 30, "steps": 32}
    assert labelled(learner, {"subtasks": [row]})["subtasks"][0]["skill"] == "reach_red_cube of first"
    assert labelled(first, {"subtasks": [row]})["subtasks"][0]["skill"] is None
    (skill,) = read_skills(learned[1])
    with zipfile.ZipFile(skill.policy) as archive:
        assert sorted(archive.namelist()) == ["policy.optimizer.pth", "policy.pth"]
    (file,) = learned[1].glob("*/skill.json")
    file.write_text('{"schema": 1, "subtask": 3}')
    assert read_skills(learned[1]) == read_skills(None) == () and fitting_skills(learned[0], ()) == {}

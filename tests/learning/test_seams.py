"""A policy that fails where the former one really ends is trained on from there, and the report says so."""

import json
import shutil

import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from pipeline.learning import chain, seams
from pipeline.learning.chain import ChainOptions, TaskLearner
from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.environment import EpisodeRules
from pipeline.learning.judging import evaluation
from pipeline.learning.learning_files import read_curve
from pipeline.learning.seams import Seam, SeamTuned, tune_seams
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.training import TrainingOptions
from pipeline.store import write_json

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
FEW = TrainingOptions(steps=32, environments=2)


@pytest.fixture(scope="module")
def trained(bowl_task, bowl_subtasks, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        small_task.shorten_trainings(patch)
        learner = TaskLearner(tmp_path_factory.mktemp("trained"), bowl_task, bowl_subtasks[:2])
        list(learner.learn(ChainOptions(FEW, from_reset=True)))
    record = learner.folder(learner.subtasks[1]).path / "training.json"
    write_json(record, json.loads(record.read_text()) | {"best": 1.0})
    return learner.project_dir


@pytest.fixture
def learned(trained, bowl_task, bowl_subtasks, tmp_path, short_trainings):
    return TaskLearner(shutil.copytree(trained, tmp_path / "learned"), bowl_task, bowl_subtasks[:2])


def test_a_seam_with_a_drop_is_trained_across_once_and_others_are_left_alone(learned, bowl_subtasks, monkeypatch):
    assert list(tune_seams(learned, FEW)) == [], "reach never ends well: there is no seam to judge"
    starts = tuple(StartState(0, np.zeros(1)) for _ in range(40))
    assert Seam(bowl_subtasks[1], starts, 20).drops_from(1.0)
    assert not Seam(bowl_subtasks[1], starts, 38).drops_from(1.0)
    assert not Seam(bowl_subtasks[1], starts, 20).drops_from(0.5)
    assert not Seam(bowl_subtasks[1], starts[:5], 0).drops_from(1.0), "too few to say"
    reach, pick = learned.subtasks
    world = SubtaskWorld(learned.layouts, reach)
    layouts = learned.layouts.get(range(60_000, 60_003))
    ends = [next(oracle_episodes(learned.layouts, [reach], world.settled(one), EpisodeRules())).end for one in layouts]
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
    write_json(learned.folder(pick).path / "training.json", {"key": "learned again"})
    assert "tuned" not in evaluation.report(learned, [], [], 2, {})["subtasks"][1]

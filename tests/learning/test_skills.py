"""Skills: solved policies are kept as tensors, fit subtasks of the same roles, and a start from one says so."""

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from pipeline.learning.chain import ChainOptions, TaskLearner
from pipeline.learning.learning_files import read_curve
from pipeline.learning.policy import read_parameters
from pipeline.learning.subtask import LearningError
from pipeline.learning.training import TrainingOptions
from pipeline.simulation import kit
from pipeline.skills import starting
from pipeline.skills.skill import nearest_skill, read_skills, skill_objects
from pipeline.skills.starting import FormerPolicy, fitting_skills, keep_skills, labelled, learn_from_skills

pytestmark = [
    pytest.mark.filterwarnings("ignore:You have specified a mini-batch size"),
    pytest.mark.usefixtures("short_trainings"),
]
FEW = ChainOptions(TrainingOptions(steps=32, environments=2), ("reach_red_cube",))


@pytest.fixture(scope="module")
def first(tmp_path_factory, bowl_task, bowl_subtasks):
    """A learner whose first subtask was trained, and the folder of its skills, as a good evaluation keeps them."""
    folder = tmp_path_factory.mktemp("skills")
    learner = TaskLearner(folder / "first", bowl_task, bowl_subtasks)
    with pytest.MonkeyPatch.context() as patch:
        small_task.shorten_trainings(patch)
        list(learner.learn(FEW))
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


def test_a_training_begins_with_the_skill_and_says_so(learned, tmp_path, bowl_task, bowl_subtasks):
    first, folder = learned
    learner = TaskLearner(tmp_path / "second", bowl_task, bowl_subtasks)
    lines = []
    for _ in learn_from_skills(learner, FEW, read_skills(folder), lines.append):
        break
    kept = learner.folder(bowl_subtasks[0])
    now, before = (read_parameters(one.policy)["policy"] for one in (kept, first.folder(bowl_subtasks[0])))
    assert all((now[name] == value).all() for name, value in before.items())
    assert lines[0].startswith("reach_red_cube: starts from the skill reach_red_cube of first, success ")
    for _ in learn_from_skills(learner, FEW, read_skills(folder), lines.append):
        pass
    assert len(lines) == 1  # begun already: it goes on
    assert [one.get("skill") for one in read_curve(kept.curve)] == ["reach_red_cube of first", None]
    row = {"name": "reach_red_cube", "success": 1.0, "layouts": 30, "steps": 32}
    assert labelled(learner, {"subtasks": [row]})["subtasks"][0]["skill"] == "reach_red_cube of first"
    assert labelled(first, {"subtasks": [row]})["subtasks"][0]["skill"] is None


def test_a_skill_holds_tensors_alone_nothing_is_unpickled_and_damaged_ones_are_left_out(
    learned, bowl_task, bowl_subtasks, tmp_path
):
    (skill,) = read_skills(learned[1])
    with zipfile.ZipFile(skill.policy) as archive:
        assert sorted(archive.namelist()) == ["policy.optimizer.pth", "policy.pth"]
    small_task.write_bomb(skill.policy)
    learner = TaskLearner(tmp_path / "third", bowl_task, bowl_subtasks)
    with pytest.raises(LearningError, match="cannot be read as a policy"):
        starting.start_from(learner, bowl_subtasks[0], FormerPolicy(skill.policy, skill.title), FEW.training)
    (file,) = learned[1].glob("*/skill.json")
    file.write_text('{"schema": 1, "subtask": 3}')
    assert read_skills(learned[1]) == read_skills(None) == () and fitting_skills(learned[0], ()) == {}

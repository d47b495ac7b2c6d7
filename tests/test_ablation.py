"""The same tasks in every mode: what the router is worth, with and without crashed runs."""

import csv
import json

import pytest
import tabletop
from PIL import Image

from pipeline.evaluation import Trial, ablate, summary, write_ablation
from pipeline.evaluation.ablation import AblationError, markdown
from pipeline.models import ModelError
from pipeline.models.rules import RulesModel
from pipeline.simulation import CheckResult, Report


def trial(mode: str, reward: float, crashed: bool = False) -> Trial:
    return Trial("table", "task", "stack", mode, reward, crashed, reward > 0.99, 1, 0, 2.0, "because")


TRIALS = [trial("none", 0.5), trial("none", 0.7, crashed=True), trial("route", 1.0), trial("route", 1.0)]


def test_crashed_runs_are_left_out_of_one_figure_and_count_nothing_in_the_other():
    none, route = summary(TRIALS)
    assert (none["reward_without_crashed"], none["reward_with_crashed"]) == (0.5, 0.25)
    assert (none["crashed"], none["tasks"], none["done"]) == (1, 2, 0.0)
    assert (route["reward_without_crashed"], route["reward_with_crashed"], route["done"]) == (1.0, 1.0, 1.0)


def test_what_was_measured_is_written_as_a_table_and_a_picture(tmp_path):
    rows = write_ablation(TRIALS, tmp_path / "out", "rules")
    assert len(list(csv.DictReader((tmp_path / "out" / "ablation.csv").open()))) == len(TRIALS)
    assert json.loads((tmp_path / "out" / "ablation.json").read_text())["summary"] == rows
    assert "| route | 2 | 100% | 0 | 1.00 | 1.00 |" in markdown(rows)
    with Image.open(tmp_path / "out" / "ablation.png") as picture:
        assert picture.size == (900, 520) and len(picture.getcolors(100_000)) > 3


class Sandbox:
    """Every rollout half succeeds, and the checks say so."""

    def run(self, program, project_dir, **_):
        return Report((CheckResult("check_it", False, "half"),), (0.5,), evidence={"goals": []}), None


def test_every_mode_starts_from_the_same_program(tmp_path):
    project = tabletop.write(tmp_path)
    trials = list(ablate([project], RulesModel(), Sandbox(), count=1, most=3))
    assert [t.mode for t in trials] == ["none", "repair", "route"]
    assert len({t.task for t in trials}) == 1 and {t.reward for t in trials} == {0.5}
    assert trials[0].of_simulation == trials[0].of_checks == 0 and not any(t.done for t in trials)


def test_a_model_that_cannot_write_is_a_crashed_trial_in_every_mode(tmp_path):
    class Mute(RulesModel):
        def ask(self, question):
            if question.kind == "write_program":
                raise ModelError("no words")
            return super().ask(question)

    trials = list(ablate([tabletop.write(tmp_path)], Mute(), Sandbox(), count=1))
    assert [(t.crashed, t.reward, t.why) for t in trials] == [(True, 0.0, "no words")] * 3


def test_no_scene_at_all_is_said():
    with pytest.raises(AblationError, match="no scene to measure on"):
        list(ablate([], RulesModel(), Sandbox()))

"""The ablation of the router: the same tasks in every mode, with and without crashed runs."""

import csv
import json

import pytest
import tabletop

from pipeline.evaluation import AblationTrial, ablate, summary, write_ablation
from pipeline.evaluation.ablation import AblationError, markdown
from pipeline.evaluation.chart import bar_chart
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.simulation import CheckResult, Report


def trial(mode: str, reward: float, crashed: bool = False) -> AblationTrial:
    return AblationTrial("table", "task", "stack", mode, reward, crashed, reward > 0.99, 1, 0, 2.0, "because")


TRIALS = [trial("none", 0.5), trial("none", 0.7, crashed=True), trial("route", 1.0), trial("route", 1.0)]


def test_crashed_runs_are_left_out_of_one_score_and_count_as_zero_in_the_other():
    none, route = summary(TRIALS)
    assert (none["reward_without_crashed"], none["reward_with_crashed"]) == (0.5, 0.25)
    assert (none["crashed"], none["tasks"], none["done"]) == (1, 2, 0.0)
    assert (route["reward_without_crashed"], route["reward_with_crashed"], route["done"]) == (1.0, 1.0, 1.0)


def test_the_results_are_written_as_tables_and_an_interactive_chart(tmp_path):
    rows = write_ablation(TRIALS, tmp_path / "out", "rules")
    assert len(list(csv.DictReader((tmp_path / "out" / "ablation.csv").open()))) == len(TRIALS)
    assert json.loads((tmp_path / "out" / "ablation.json").read_text())["summary"] == rows
    assert "| route | 2 | 100% | 0 | 1.00 | 1.00 |" in markdown(rows)
    chart = (tmp_path / "out" / "ablation.html").read_text()
    assert "Plotly.newPlot" in chart and "<script src=" not in chart, "it needs no network"
    assert "crashed runs left out" in chart and "crashed runs count 0" in chart
    figure = bar_chart({"none": (0.5, 0.25), "route": (1.0, 1.0)}, ("left out", "count 0"), "title")
    assert [tuple(bar.y) for bar in figure.data] == [(0.5, 1.0), (0.25, 1.0)]
    assert [bar.name for bar in figure.data] == ["left out", "count 0"]


class HalfSolvingSandbox:
    """Every rollout has a reward of one half and a failed check."""

    def run(self, program, project_dir, **_):
        return Report((CheckResult("check_it", False, "half"),), (0.5,), evidence={"goals": []}), None


def test_every_mode_starts_from_the_same_program(tmp_path):
    project = tabletop.write(tmp_path)
    trials = list(ablate([project], PlannerModel(), HalfSolvingSandbox(), count=1, max_rounds=3))
    assert [t.mode for t in trials] == ["none", "repair", "route"]
    assert len({t.task for t in trials}) == 1 and {t.reward for t in trials} == {0.5}
    assert trials[0].of_simulation == trials[0].of_checks == 0 and not any(t.done for t in trials)


def test_a_failing_model_is_a_crashed_trial_in_every_mode(tmp_path):
    class SilentModel(PlannerModel):
        def ask(self, question):
            if question.kind == "write_program":
                raise ModelError("no words")
            return super().ask(question)

    trials = list(ablate([tabletop.write(tmp_path)], SilentModel(), HalfSolvingSandbox(), count=1))
    assert [(t.crashed, t.reward, t.why) for t in trials] == [(True, 0.0, "no words")] * 3


def test_an_ablation_without_scenes_is_refused():
    with pytest.raises(AblationError, match="no scene to run the ablation on"):
        list(ablate([], PlannerModel(), HalfSolvingSandbox()))

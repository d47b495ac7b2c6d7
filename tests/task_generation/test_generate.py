import itertools
import json
from dataclasses import replace

import pytest

import pipeline.task_generation.generate as generate_module
from pipeline.planner import PlannerModel
from pipeline.scene.scene_files import read_scene
from pipeline.simulation.program import Program
from pipeline.task_generation.candidates import SceneFacts, candidates
from pipeline.task_generation.curriculum import Outcome, lesson, next_level
from pipeline.task_generation.demands import Demands
from pipeline.task_generation.generate import GenerationInputs, GenerationOptions, generate, run_id
from pipeline.task_generation.starts import StartMaker
from pipeline.task_generation.task_files import TaskGenerationError, read_tried, tried_file
from pipeline.task_generation.task_set import report
from pipeline.task_generation.task_set_report import report_html
from pipeline.task_generation.validity import Validity


@pytest.fixture
def inputs(table, library, sandbox, tmp_path):
    for name in ("scene.json", "scene"):
        (tmp_path / name).symlink_to(table / name)
    return GenerationInputs(tmp_path, library, PlannerModel(), sandbox, SceneFacts({}, {}, {}))


@pytest.fixture
def measured(monkeypatch):
    seen = []

    def measure(task, folder, sandbox, robot):
        seen.append(task.instruction)
        return Validity("", 8, 8 - len(task.instruction) % 3, 0, 4.0, 2.0, Program("", ""))

    monkeypatch.setattr("pipeline.task_generation.generate.measure_validity", measure)
    return seen


def run(inputs, count, level=None, stopped=lambda: False):
    return [step.tried for step in generate(inputs, GenerationOptions(count, level), stopped) if step.tried]


def test_a_stopped_run_goes_on_where_it_was(inputs, measured, tmp_path):
    whole = [one.key for one in run(inputs, 6)]
    tried_file(inputs.project_dir).unlink()
    steps = iter([False] * 3 + [True] * 99)
    first = [one.key for one in run(inputs, 6, stopped=lambda: next(steps))]
    assert 0 < len(first) < len(whole)
    assert [*first, *[one.key for one in run(inputs, 6)]] == whole and not run(inputs, 6)


def test_tasks_also_use_objects_that_were_brought(inputs, measured):
    kept = [one for one in run(inputs, 8) if one.state == "kept"]
    assert any(set(one.task.objects) & set(one.brought) for one in kept)
    assert all(not set(one.task.objects) & set(one.distractors) for one in kept)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_task_of_a_level_demands_that_level(inputs, measured, level):
    assert {one.level for one in run(inputs, 4, level)} == {level}


def test_a_damaged_last_line_is_forgotten_and_another_one_is_named(inputs, measured):
    run(inputs, 2)
    path = tried_file(inputs.project_dir)
    lines = path.read_text()
    path.write_text(lines + '{"schema": 1, "ru')
    assert len(read_tried(inputs.project_dir)) == 2
    path.write_text("nonsense\n" + lines)
    with pytest.raises(TaskGenerationError, match="remove it to generate tasks from the beginning"):
        read_tried(inputs.project_dir)


def test_the_same_start_is_made_again_and_sequences_undo_nothing(table, library, tmp_path):
    scene = read_scene(table)
    one, other = (StartMaker(table, scene, library, 3, tmp_path / name).make(3, 2) for name in ("a", "b"))
    assert one.brought and len(one.distractors) >= 2
    assert (one.brought, one.distractors) == (other.brought, other.distractors)
    assert (one.folder / "scene" / "scene.xml").read_bytes() == (other.folder / "scene" / "scene.xml").read_bytes()
    start = StartMaker(table, read_scene(table), library, 0, tmp_path).make(1, 0)
    found = candidates(start, PlannerModel(), SceneFacts({}, {}, {}))
    steps = [one for one in found if one.demands and one.demands.steps > 1]
    assert steps and all(one.task.instruction.startswith("First ") for one in steps)
    assert len({one.key for one in found}) == len(found)


def test_the_level_rises_while_tasks_succeed_and_falls_where_they_fail():
    easy, hard = Outcome("stack", 1, True, 1.0), Outcome("stack", 2, False, 0.0)
    assert next_level([]) == 1 and next_level([easy] * 4) == 2 and next_level([easy] * 4 + [hard] * 4) == 1
    assert "stack: 8 tried, 4 kept, mean success 50%" in lesson([easy] * 4 + [hard] * 4)


@pytest.mark.parametrize(
    ("demands", "level"),
    [(Demands(1, 1, 0.06, 2), 1), (Demands(1, 1, 0.005, 6), 2), (Demands(3, 1, 0.06, 2), 2),
     (Demands(2, 2, 0.06, 0), 3), (Demands(5, 1, 0.06, 0), 3), (Demands(2, 1, 0.005, 6), 3)],
)  # fmt: skip
def test_levels_come_from_length_precision_and_clutter(demands, level):
    assert demands.level == level


def test_the_report_holds_the_set_and_what_was_dropped_and_shows_no_markup_of_a_task(inputs, measured):
    tried = run(inputs, 5)
    made = report(inputs.project_dir, tried, GenerationOptions(5), ("red_cube", "blue_cube"), 1.0)
    data = json.loads(json.dumps(made))
    found = data["set"]
    assert found["kept"] == len(data["tasks"]) == 5 and 1 <= found["vendi_score"] <= 5
    assert 0 < found["mean_distance"] <= 1 and found["coverage"]["objects"]["of"] == 2
    data["tasks"][0]["instruction"] = "<img src=x onerror=alert(1)>"
    page = report_html(data)
    assert "<img src=x" not in page and 'src="http' not in page


def test_what_is_too_hard_or_learned_at_once_is_dropped_and_the_next_proposals_are_told(inputs, measured, monkeypatch):
    worth = pytest.importorskip("pipeline.task_generation.worth", reason='needs the extra "learn"')
    told, ask = [], generate_module.candidates
    shares = itertools.cycle([0.05, 0.5, 0.95, None])
    monkeypatch.setattr(worth, "learn_briefly", lambda *_: worth.Learned(next(shares), "", 20, 3.0))
    monkeypatch.setattr(generate_module, "candidates", lambda *given: told.append(given[3]) or ask(*given))
    options = GenerationOptions(2, demonstrations=6)
    tried = [step.tried for step in generate(inputs, options) if step.tried]
    reasons = {one.worth: one.reason for one in tried if one.state != "repeated"}
    assert reasons[0.05] == "too hard to learn: 5% of layouts after 6 demonstrations"
    assert reasons[0.95] == "learned at once: 95% of layouts after 6 demonstrations"
    assert reasons[0.5] == reasons[None] == ""
    data = report(inputs.project_dir, tried, options, (), 1.0)
    worth, chosen = data["worth"], [one for one in data["tasks"] if one["worth"] == 0.5]
    assert worth["measured"] == worth["too_hard"] + worth["learned_at_once"] + len(chosen)
    assert "imitate 6 demonstrations" in report_html(data) and told[0] == ""
    assert any("mean success" in one and "Wanted next" in one for one in told[1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [(GenerationOptions(0), "the number of tasks is 0"), (GenerationOptions(3, 9), "there is no level 9"),
     (GenerationOptions(3, seed=-1), "the seed is -1"), (GenerationOptions(3, demonstrations=-5), "-5 demonstrations")],
)  # fmt: skip
def test_options_out_of_range_are_refused_in_one_line(inputs, options, message):
    with pytest.raises(TaskGenerationError, match=message):
        list(generate(inputs, options))


def test_another_level_seed_or_budget_is_another_run(inputs):
    options = [
        GenerationOptions(1),
        GenerationOptions(1, 2),
        GenerationOptions(1, seed=1),
        GenerationOptions(1, None, 0, 9),
    ]
    assert len({run_id(inputs, one) for one in options}) == 4
    assert run_id(inputs, options[0]) == run_id(inputs, GenerationOptions(50))


class Asked:
    name = "asked"

    def __init__(self):
        self.told = []

    def ask(self, question):
        self.told.append(question.data["scene"].get("earlier_proposals"))
        return question.answer_type.model_validate({"tasks": []})


def test_a_language_model_is_told_how_the_tasks_before_succeeded_and_which_level_is_wanted(inputs, measured):
    model = Asked()
    run(replace(inputs, model=model), 6)
    assert model.told[0] is None
    told = model.told[-1]
    assert told[-1].startswith("Wanted next: level ")
    assert all(" tried, " in line and "mean success" in line for line in told[:-1])

"""A language model in use proposes and writes generated tasks; what it does not answer is said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tabletop import CAMERA

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.models import ModelError, Question, StageCancelled
from pipeline.planner import PlannerModel
from pipeline.router import RouteContext, write_program
from pipeline.router.route import ProgramAnswer
from pipeline.scene import Scene
from pipeline.scene.scene_files import write_scene
from pipeline.simulation import kit
from pipeline.task_generation.bring import bring
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.generate import GenerationInputs, GenerationOptions, generate, run_id
from pipeline.task_generation.programs import ProgramWriter
from pipeline.task_generation.task_files import read_tried
from pipeline.task_generation.task_set import report
from pipeline.task_generation.task_set_report import report_html
from pipeline.tasks import Task, TaskAnswer, TasksAnswer

BATHE = TaskAnswer(
    name="bathe", instruction="Give the red cube\u2028 a bath.", objects=["red_cube", "teal_bowl"],
    goals=["red_cube enjoys its bath in teal_bowl"], kind="bathe",
)  # fmt: skip
UNICORN = TaskAnswer(name="ride", instruction="Ride the unicorn.", objects=["unicorn"], goals=["unicorn is ridden"])


class SeerModel:
    """A language model that proposes two tasks: one that the rules cannot read, one about a missing object."""

    name, has_language, has_vision = "seer", True, False

    def __init__(self, twin: Path, broken: bool = False, fails: dict[str, ModelError] | None = None):
        bathe = Task("bathe", "Bathe it.", ("red_cube", "teal_bowl"), ("red_cube is inside teal_bowl",))
        self.program = write_program(bathe, kit.Scene.load(twin), PlannerModel())
        if broken:
            self.program = replace(self.program, simulation=self.program.simulation.replace("build", "make"))
        self.fails, self.asked = fails or {}, []

    def ask(self, question: Question):
        self.asked.append(question)
        if error := self.fails.get(question.kind):
            raise error
        if question.kind == "propose_tasks":
            return TasksAnswer(tasks=[BATHE, UNICORN])
        if question.kind == "write_program" and question.data["task"]["kind"] == "bathe":
            return ProgramAnswer(simulation=self.program.simulation, checks=self.program.checks)
        return PlannerModel().ask(question)


@pytest.fixture(scope="module")
def twin(tmp_path_factory) -> Path:
    outline = np.array([[-0.4, -0.3], [0.4, -0.3], [0.4, 0.3], [-0.4, 0.3]])
    library, folder = Library.open([BUILTIN_LIBRARY]), tmp_path_factory.mktemp("written") / "twin"
    folder.mkdir()
    assets = [library[id] for id in ("red_cube", "blue_cube", "teal_bowl")]
    write_scene(bring(Scene(CAMERA, outline, (150, 130, 110), ()), assets).scene, folder)
    return folder


def run(twin, tmp_path, sandbox, model, count=1, told=None):
    for name in ("scene.json", "scene"):
        (tmp_path / name).symlink_to(twin / name)
    context = RouteContext(notes=told or {})
    writer = ProgramWriter(model, lambda _: context)
    inputs = GenerationInputs(tmp_path, None, model, sandbox, SceneFacts({}, {}, {}), writer=writer)
    return list(generate(inputs, GenerationOptions(count, 1)))


def of(steps, name):
    return next(step.tried for step in steps if step.tried and step.tried.task.name == name)


def test_the_model_writes_the_program_of_a_task_whose_goals_the_rules_cannot_read(twin, tmp_path, sandbox):
    model = SeerModel(twin)
    steps = run(twin, tmp_path, sandbox, model, told={"red_cube": "a cube that loves water"})
    bathed = of(steps, "bathe")
    assert (bathed.state, bathed.rounds, bathed.program.source) == ("kept", 1, "model seer")
    assert "enjoys its bath" in bathed.task.goals[0] and not bathed.task.planned and bathed.level is None
    assert 2 * bathed.solved >= bathed.layouts == 8
    asked = next(one for one in model.asked if one.kind == "write_program" and one.data["task"]["kind"] == "bathe")
    assert "loves water" in str(asked.data["scene"])
    (read,) = [one for one in read_tried(tmp_path) if one.task.name == "bathe"]
    assert read.program == bathed.program and read.program.source == "model seer"
    made = report(tmp_path, [read], GenerationOptions(1, 1), ("red_cube",), 1.0)
    assert made["tasks"][0]["program"]["simulation"] == model.program.simulation and made["tasks"][0]["rounds"] == 1
    page = report_html(made)
    assert "by model seer, in 1 round" in page and "level not known" in page and "Level None" not in page


def test_a_proposal_about_what_is_not_there_is_kept_with_its_reason(twin, tmp_path, sandbox):
    ridden = of(run(twin, tmp_path, sandbox, SeerModel(twin), count=3), "ride")
    assert (ridden.state, ridden.reason, ridden.program) == ("unusable", "there is no unicorn here", None)
    data = report(tmp_path, [ridden], GenerationOptions(1), (), 1.0)
    assert [one["reason"] for one in data["rejected"]] == [ridden.reason] and not data["curriculum"]


def test_a_program_that_never_passes_is_no_task_and_its_rounds_are_counted(twin, tmp_path, sandbox):
    bathed = of(run(twin, tmp_path, sandbox, SeerModel(twin, broken=True)), "bathe")
    assert bathed.state == "rejected" and 1 <= bathed.rounds <= 4 and bathed.layouts == 0
    assert bathed.reason.startswith("no program of seer passed in ") and bathed.program is not None


def test_where_the_model_gives_no_answer_the_rules_write_what_they_can_read_and_it_is_said(twin, tmp_path, sandbox):
    model = SeerModel(twin, fails={"write_program": ModelError("the server is away")})
    steps = run(twin, tmp_path, sandbox, model)
    told = [step.message for step in steps if step.is_notice]
    away = "seer did not answer: the server is away; "
    assert sorted(told) == [f"{away}left out: {BATHE.instruction}", f"{away}the rules write what they can"]
    kept = [step.tried for step in steps if step.tried and step.tried.state == "kept"]
    assert kept and {one.program.source for one in kept} == {"rules"} and not any(one.rounds for one in kept)
    assert all(step.tried is None or step.tried.task.name != "bathe" for step in steps)


def test_where_the_model_proposes_nothing_the_rules_propose_and_it_is_said_once(twin, tmp_path, sandbox):
    steps = run(twin, tmp_path, sandbox, SeerModel(twin, fails={"propose_tasks": ModelError("no answer")}), count=2)
    told = [step.message for step in steps if step.is_notice]
    assert told == ["seer proposed nothing: no answer; the rules propose alone"]
    assert sum(bool(step.tried and step.tried.state == "kept") for step in steps) == 2


@pytest.mark.parametrize("kind", ["propose_tasks", "write_program"])
def test_a_stop_within_a_question_ends_the_run_and_keeps_what_was_measured(kind, twin, tmp_path, sandbox):
    steps = run(twin, tmp_path, sandbox, SeerModel(twin, fails={kind: StageCancelled("stopped")}))
    assert not any(step.is_notice for step in steps)
    assert [one.key for one in read_tried(tmp_path)] == [step.tried.key for step in steps if step.tried]


def test_a_model_that_is_away_is_asked_three_times_in_a_row_and_no_more(twin, tmp_path, sandbox):
    model = SeerModel(twin, fails={"write_program": ModelError("the server is away")})
    steps = run(twin, tmp_path, sandbox, model, count=5)
    assert sum(one.kind == "write_program" for one in model.asked) == 3
    assert sum(bool(step.tried and step.tried.state == "kept") for step in steps) == 5


def test_another_writer_is_another_run(twin, tmp_path, sandbox):
    inputs = GenerationInputs(twin, None, PlannerModel(), sandbox, SceneFacts({}, {}, {}))
    written = replace(inputs, writer=ProgramWriter(SeerModel(twin)))
    assert run_id(inputs, GenerationOptions(1)) != run_id(written, GenerationOptions(1))

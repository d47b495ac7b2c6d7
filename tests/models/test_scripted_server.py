"""The whole loop against the scripted server: what a model is asked, what it sees, and how its answers are labelled."""

import json
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.faults.obedient_model import obedient_answers
from pipeline.assets import Library
from pipeline.frame import load
from pipeline.matching import LibraryFeatures
from pipeline.models import ModelError, ModelSettings
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.model import PICTURED_KINDS
from pipeline.models.prompt_templates import load_prompt
from pipeline.project import Project
from pipeline.router import judging
from pipeline.router.solved_programs import SolvedProgram, keep_solved, kit_version
from pipeline.run import Services, run_stages
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.program import RULES
from pipeline.simulation.robots.oracle.oracle import TIME_LIMIT, TIME_PER_GOAL
from pipeline.simulation.sandbox.protocol import Limits
from pipeline.tasks import Task
from scripts.scripted_model_server.answer_file import FileAnswer
from scripts.scripted_model_server.server import ScriptedServer
from tests.simulation.attack_programs import CANARY

SCENE = Path(__file__).parents[2] / "sample_scenes" / "blocks"
WORDS = "put the blue cube on the red cube"
GHOST = {"name": "ride", "instruction": "Ride.", "objects": ["pink_elephant"], "goals": [], "kind": "", "difficulty": 9}
BROKEN = {
    "simulation": 'import kit\n\n\ndef build(scene, seed):\n    """Put the blue cube on the red cube."""\n'
    '    sim = kit.Simulation(scene, seed)\n    sim.goal(kit.onn("blue_cube", "red_cube"))\n    return sim\n',
    "checks": 'import kit\n\n\ndef check_it(sim):\n    assert sim.rollout().rewards > 0.99, "not solved"\n',
}
EARLIER = Task("on", "Put the green box on the white plate.", (), ("green_box rests on white_plate",), "put_on")
CODE_QUESTIONS = {"write_program", "route", "repair_simulation", "repair_checks"}


def run_loop(folder: Path, sandbox, answers: list[FileAnswer], text: str | None = WORDS) -> SimpleNamespace:
    """Have every stage up to the rounds answered over HTTP."""
    folder.mkdir(exist_ok=True)
    default = Library.open()
    library = replace(default, assets=[one for one in default.assets if one.category in ("cube", "ball", "mug")])
    keep_solved(SolvedProgram("other", (), EARLIER, "s", "c", "scripted-0", 1.0, kit_version()), folder / "solved")
    with ScriptedServer(answers, folder / "log.jsonl") as server:
        model = OpenAIModel(ModelSettings("openai", server.model, base_url=server.url), CANARY)
        project = Project.create(folder / "one", load(SCENE))
        features = LibraryFeatures.compute(library)
        folders = {"workspace": folder, "cards_folder": folder / "cards"}
        services = Services(DepthSegmenter(), model, library, sandbox, lambda: features, **folders)
        with pytest.MonkeyPatch.context() as patch:  # one layout and two mutations are enough here
            patch.setattr(judging, "SEEDS", (0,))
            patch.setattr(judging, "MUTATION_KINDS", ("nothing", "inverted"))
            messages = [step.message for step in run_stages(project, services, "rounds", text)]
        model.close()
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return SimpleNamespace(project=project, requests=server.requests, log=log, messages=messages)


@pytest.fixture(scope="module")
def loop(tmp_path_factory, sandbox):
    """The first program is broken on both sides."""
    answers = [FileAnswer("propose_tasks", {"tasks": [GHOST]}), FileAnswer("write_program", BROKEN)]
    return run_loop(tmp_path_factory.mktemp("scripted"), sandbox, answers)


def test_a_broken_program_is_repaired_on_both_sides_and_all_results_carry_the_scripted_models_name(loop):
    project, rounds = loop.project, loop.project.rounds()
    assert rounds[-1].route == "done" and rounds[-1].report.reward[0] > 0.99
    assert {"fix_simulation", "fix_checks"} <= {one.route for one in rounds}
    assert {one.kind for one in loop.requests} >= CODE_QUESTIONS
    assert "proposal left out: ride: there is no pink_elephant here" in loop.messages
    assert project.task().instruction == WORDS and project.made_with("rounds") == "scripted-rules, route"
    assert {one.source for one in (*rounds, *project.descriptions())} == {"scripted-rules"}
    assert all(one.program.source != RULES for one in rounds)
    assert len(loop.log) == len(loop.requests)
    assert {(one["kind"], one["answered_by"]) for one in loop.log} >= {
        ("write_program", "file"), ("propose_tasks", "file"), ("route", "rules"), ("understand_task", "rules"),
    }  # fmt: skip
    assert not [one for one in loop.log if one["answered_by"] == "error"]


def test_every_question_about_a_program_has_the_picture_and_the_description_of_every_object_and_its_asset(loop):
    described = {one.segment_id: one.caption for one in loop.project.descriptions()}
    library = Library.open()
    placed = loop.project.scene().placements
    asked = [one for one in loop.requests if one.kind in CODE_QUESTIONS]
    assert len(asked) >= 5 and any(one.asset_id for one in placed)
    for request in asked:
        assert len(request.pictures) == 1 and request.pictures[0]["width"] >= 640
        for placement in placed:
            assert f"(mark {placement.segment_id}) {described[placement.segment_id]}" in request.prompt
            standing = library[placement.asset_id].caption if placement.asset_id else placement.overruled
            assert standing in request.prompt
        has_example = EARLIER.instruction in request.prompt
        assert has_example == (request.kind == "write_program"), "a solved program of another scene"


MOST_CHARACTERS = {"route": 9_000, "write_program": 12_000, "repair_simulation": 16_000, "repair_checks": 16_000}


def test_questions_about_programs_are_short_and_state_the_limits_that_hold(loop):
    for one in loop.requests:
        assert len(one.prompt) <= MOST_CHARACTERS.get(one.kind, 10**6) + 2_000 * (one.kind == "write_program"), one.kind
        assert not re.search(r"\d\.\d{7}", one.prompt), "no number is known to so many digits"
    (first,) = [one.prompt for one in loop.requests if one.kind == "write_program"][:1]
    assert f"{Limits().seconds:g} s of processor time" in first
    assert f"{TIME_LIMIT:g} simulated seconds, or {TIME_PER_GOAL:g} for each goal" in first


@pytest.mark.parametrize("pictures_for", ["all", "none", "write_program, route"])
def test_pictures_go_along_with_the_kinds_that_the_settings_name(pictures_for):
    settings = ModelSettings(pictures_for=pictures_for)
    expected = {"all": set(PICTURED_KINDS), "none": set()}.get(pictures_for, {"write_program", "route"})
    assert settings.picture_kinds == expected
    with pytest.raises(ModelError, match="No picture can go along with choose_match, fly"):
        ModelSettings(pictures_for="fly choose_match")


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")
def test_a_model_that_obeys_words_in_a_picture_reaches_nothing_decides_nothing_and_solves_nothing(
    tmp_path, sandbox, monkeypatch
):
    monkeypatch.setattr(judging, "guard", lambda program: ())  # which would refuse such a program, and is no protection
    (secret := tmp_path / "secret").write_text(CANARY)
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        answers = obedient_answers(str(secret), f"//127.0.0.1:{elsewhere.getsockname()[1]}")
        obeyed = run_loop(tmp_path / "work", sandbox, answers, None)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    project, files = obeyed.project, [path for path in tmp_path.rglob("*") if path.is_file() and path != secret]
    assert all(one.route != "done" and "tried to open" in one.report.violation for one in project.rounds())
    assert project.rounds() and not project.solution() and not project.decisions
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in files)
    assert {one.relative_to(tmp_path / "work").parts[0] for one in files} == {"cards", "log.jsonl", "one", "solved"}
    assert all(re.fullmatch(r"\w+", one.name) and "\x1b" not in one.caption for one in project.descriptions())
    for one in obeyed.requests:
        assert load_prompt(one.kind).read(one.prompt) is not None and "\x1b" not in one.prompt, one.kind
    assert any("Obey" in one.prompt for one in obeyed.requests if one.kind == "write_program")

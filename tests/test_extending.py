"""The examples of docs/extending.md, installed and run as a reader would; a new kind of goal is one file."""

import importlib
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
from kit_programs import arranged, failures

from pipeline.frame import load
from pipeline.planner import PlannerModel, program_source
from pipeline.planner.goal_forms import GoalForm, Hole, goal_forms
from pipeline.router import write_program
from pipeline.router.intent_check import find_contradiction
from pipeline.simulation import goals, kit
from pipeline.simulation.goals.sentences import read_sentences, sentences
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs
from pipeline.simulation.mutations import roll_out_mutated
from pipeline.simulation.recipe import from_json, to_json
from pipeline.simulation.sandbox.guard import guard
from pipeline.tasks import understand_instruction
from studio.pages.page_shell import Shell

ROOT = Path(__file__).resolve().parents[1]
DOC = ROOT / "docs" / "extending.md"
BLOCKS = ROOT / "sample_scenes" / "blocks"
EXAMPLE = re.compile(r"^```\w+ (my_lab/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def install(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    site = folder / "site"
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    words += ["--disable-pip-version-check", "--target", site, folder / "my_lab"]
    subprocess.run(words, check=True, capture_output=True)
    return site


def grs(site: Path, *arguments: object) -> str:
    """Run a command with a plug-in installed; return what it printed, its errors last."""
    command, env = [sys.executable, "-m", "studio", *map(str, arguments)], os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files: dict[str, str] = {}
    for name, code in EXAMPLE.findall(DOC.read_text()):
        files[name] = f"{files[name]}\n\n{code}" if name in files else code
    return install(tmp_path_factory.mktemp("my_lab"), files)


@pytest.fixture(scope="module")
def project(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame, folder = load(BLOCKS), tmp_path_factory.mktemp("frame")
    for name, values in (("colour", frame.rgb), ("metres", frame.depth), ("k", frame.intrinsics.matrix)):
        np.save(folder / f"{name}.npy", values)
    out = tmp_path_factory.mktemp("project") / "blocks"
    grs(site, "run", folder, "--out", out, "--segmenter", "vivid", "--matcher", "by_size", "--until", "scene")
    return out


def test_installed_plug_ins_make_the_project_and_write_their_format(project, site, tmp_path):
    record = json.loads((project / "project.json").read_text())
    assert record["stages"]["scene"] == "done" and "vivid" in json.dumps(record)
    matches = json.loads((project / "matches.json").read_text())
    assert matches and {match["source"] for match in matches} == {"by_size"}
    grs(site, "export", project, "--format", "csv", "--out", tmp_path / "poses.csv")
    names = {placement["name"] for placement in json.loads((project / "scene.json").read_text())["placements"]}
    rows = (tmp_path / "poses.csv").read_text().splitlines()
    assert rows[0] == "name,asset,x,y,z" and {row.split(",")[0] for row in rows[1:]} == names
    grs(site, "export", project, "--format", "heights", "--out", tmp_path / "heights.html")
    assert all(f"<td>{name}</td>" in (tmp_path / "heights.html").read_text() for name in names)


def test_an_installed_image_to_3d_service_is_chosen_by_its_name(site):
    code = (
        "import numpy as np; from pipeline.assets.image_to_3d import ObjectView, service_from_environment as service\n"
        "view = ObjectView(np.zeros((9, 9, 3), np.uint8), np.eye(9, dtype=bool), np.ones((9, 9)), np.eye(3))\n"
        "print(service().name, service().make(view)[0][:4])"
    )
    env = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "GRS_IMAGE_TO_3D": "blocks"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=env)
    assert done.stdout == "blocks b'glTF'\n", done.stderr


def test_an_installed_robot_is_offered_beside_the_built_in_ones(site):
    names = [line.split()[0] for line in grs(site, "robot", "list").splitlines()]
    assert names[0] == "gripper" and {"arm", "arm-suction", "droid", "lab-gripper"} <= set(names)


def test_a_broken_plug_in_is_named_once_and_left_out(tmp_path):
    declared = (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "my-lab"\nversion = "1"\n'
        '[project.entry-points."grs_studio.frame_formats"]\nbroken = "my_lab:missing"\n'
    )
    broken = install(tmp_path, {"my_lab/pyproject.toml": declared, "my_lab/my_lab/__init__.py": ""})
    printed = grs(broken, "run", BLOCKS, "--out", tmp_path / "out", "--until", "frame")
    assert printed.count("broken") == 1 and "left out" in printed
    assert (tmp_path / "out" / "frame" / "rgb.png").is_file()


def test_the_documented_page_shows_and_saves_its_notes(tmp_path):
    notes = types.ModuleType("notes")
    shown = re.search(r"^```python studio/pages/notes\.py\n(.*?)^```$", DOC.read_text(), re.M | re.S)
    exec(compile(shown[1], "notes.py", "exec"), notes.__dict__)
    session = SimpleNamespace(project=SimpleNamespace(folder=tmp_path))
    assert notes.read(None) == "" == notes.read(session)
    notes.write(session, "The mug is chipped.")
    assert notes.read(session) == "The mug is chipped."
    shell = Shell(SimpleNamespace())  # type: ignore[arg-type]
    with gr.Blocks() as page:
        notes.build(shell)
        shell.connect()
    assert "Save notes" in str(page.get_config_file()) and "click" in [event for _, event in shell.actions]


PLANNER = PlannerModel()
GOAL = PlannedGoal("higher_than", ("red_cube", "blue_cube"))


@pytest.fixture(scope="module")
def scene(table, tmp_path_factory):
    """The table of simple objects, with the kind of goal that docs/extending.md shows added to the package."""
    path, folder = list(goals.__path__), tmp_path_factory.mktemp("goal_kinds")
    shown = re.search(r"^```python pipeline/simulation/goals/(\w+\.py)\n(.*?)^```$", DOC.read_text(), re.M | re.S)
    (folder / shown[1]).write_text(shown[2])
    goals.__path__ = [*path, str(folder)]
    goal_specs.cache_clear()
    importlib.reload(kit)
    try:
        yield kit.Scene.load(table)
    finally:
        goals.__path__ = path
        goal_specs.cache_clear()
        del kit.higher_than, sys.modules["pipeline.simulation.goals.higher_than"]
        importlib.reload(kit)


def test_its_sentence_instruction_function_and_program_mean_it_and_the_oracle_solves_it_but_not_inverted(scene):
    task = understand_instruction("Put the red cube higher than the blue cube.", scene, PLANNER)
    program = write_program(task, scene, PLANNER)
    assert GoalForm("higher_than", "put … higher than …", (Hole("objects", 0), Hole("object", 1))) in goal_forms()
    assert sentences([GOAL]) == ("red_cube is higher than blue_cube",)
    assert read_sentences(sentences([GOAL])) == (GOAL,)
    assert task.goals == ("red_cube is higher than blue_cube",) and task.kind == "higher_than"
    assert 'kit.higher_than("red_cube", "blue_cube")' in (kit.__doc__ or "")
    assert kit.higher_than("red_cube", "blue_cube").name == "red_cube higher than blue_cube"
    assert guard(program) == ()
    assert program_source.planned_goals(program.simulation) == (GOAL,)
    ((_, (goal,)),) = arranged(program.simulation, scene).stages
    assert from_json(to_json(goal)) == goal
    assert find_contradiction(task, scene, {"goals": [to_json(goal)]}) == ""
    other = to_json(kit.left_of("red_cube", "blue_cube"))
    assert find_contradiction(task, scene, {"goals": [other]}).startswith("the task asks that red_cube is higher")
    sim = arranged(program.simulation, scene)
    run = sim.rollout()
    assert run.solved, run.why
    assert not failures(program.checks, sim)
    assert roll_out_mutated(sim, "inverted")["applies"]
    assert "check_red_cube_ends_higher_than_blue_cube" in failures(program.checks, sim)

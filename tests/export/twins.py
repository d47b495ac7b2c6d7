"""A twin with joints, textures and several shapes, the same with a solved task, and what loads its exports."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import cabinet
import drawn_scene as make
import numpy as np
import trimesh
from PIL import Image

from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene.scene_files import write_scene
from pipeline.simulation import CheckResult, Program, Report
from pipeline.solving import Solution, solve, write_solution
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json

ROOT = Path(__file__).resolve().parents[2]
SOAK = ROOT / "build" / "soak"
LEROBOT, VLA_EVAL = (SOAK / name / "bin" / "python" for name in ("lerobot", "vla_eval"))
"""The Pythons that have other people's software (`scripts/setup --soak`)."""
DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```python (\S+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTED = {name: (out, code) for name, out, code in EXAMPLE.findall(DOC)}
"""The name of an export and the code that loads it, by format."""


def textured_box(folder: Path) -> Path:
    image = Image.new("RGB", (8, 8), (210, 40, 30))
    image.paste((30, 60, 200), (0, 0, 8, 4))
    mesh = trimesh.creation.box((0.1, 0.06, 0.12))
    mesh.unmerge_vertices()
    uv = np.tile(np.array([[0, 0], [1, 0], [1, 1]], float), (len(mesh.faces), 1))
    mesh.visual = trimesh.visual.TextureVisuals(uv=uv, image=image)
    mesh.export(folder / "textured.obj")
    return folder / "textured.obj"


def write(folder: Path) -> Path:
    """Write a project up to its scene: a cabinet, an oven, cubes, a can, a ball and a textured box that is fixed."""
    made = folder.parent / f"{folder.name}_meshes"
    made.mkdir(parents=True)
    scene = cabinet.scene(made)
    ball = make.placement(make.ball(made), "ball", (0.2, -0.1), number=6, rgb=(240, 150, 20))
    box = make.placement(textured_box(made), "picture", (-0.05, -0.1), yaw=0.5, number=7, fixed=True)
    scene = replace(scene, placements=(*scene.placements, ball, box))
    frame, _, segments = make.photograph(scene)
    project = Project.create(folder, frame)
    project.save_segments(segments)
    write_scene(scene, folder)
    project.close()
    return folder


PROGRAM = """import kit


def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube", "blue_cube")
    sim.goal(kit.on("red_cube", "blue_cube"))
    sim.goal(kit.opened("cabinet", "top_drawer"))
    return sim
"""
SEEDS = (0, 3)


def write_solved(folder: Path, task: Task, program: Program) -> None:
    """Write a task, and a round whose program passed."""
    write_json(folder / "task.json", task_to_json(task))
    report = Report((CheckResult("a", True, ""),), (1.0,))
    write_round(Round(0, None, program, report, "done", "", 0.0), folder)


def solve_twin(unsolved: Path, folder: Path, sandbox) -> Path:
    """Copy a project that has a twin, and solve a task there; return its folder."""
    shutil.copytree(unsolved, folder)
    task = Task("stack_and_open", "Put the red cube on the blue one, then open the drawer.", ("red_cube",), ("on",))
    program = Program(PROGRAM, "")
    write_solved(folder, task, program)
    for step in solve(program, folder, sandbox, SEEDS):
        if isinstance(step, Solution):
            assert all(step.success), step.reasons
            files = write_solution(step, folder)
            next(files)  # everything but the video
            files.close()  # type: ignore[attr-defined]
    return folder

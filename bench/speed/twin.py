"""Time from frame to make_twin, from an edit_mask mask to the updated twin, and of a sandboxed run."""

import contextlib
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cv2
import mujoco
import numpy as np
from tabletop import write

from bench.measurement import Measurement, clock, ms
from bench.speed.perception import SCENE
from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import Services, run_stages
from pipeline.segmentation import encode_rle
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.services.open_services import open_services
from studio.services.settings import Settings

BASELINE = "MuJoCo compiles the finished scene.xml and steps it for 1 s of simulated time"


@cache
def services() -> Services:
    """Return the default services with the library's features loaded."""
    services = open_services(Settings())
    services.features()
    return services


@contextlib.contextmanager
def make_twin() -> Iterator[tuple[Project, float]]:
    """Yield a project of the sample scene with its twin, and the seconds that took."""
    folder = Path(tempfile.mkdtemp())
    try:
        services()
        project = Project.create(folder / "twin", load(SCENE))
        (seconds,) = clock(lambda: run_to_scene(project))
        yield project, seconds
    finally:
        shutil.rmtree(folder)


def run_to_scene(project: Project) -> None:
    """Run all stages up to the twin, and compile it."""
    for _ in run_stages(project, services(), "scene"):
        pass
    mujoco.MjModel.from_xml_path(str(project.folder / "scene" / "scene.xml"))


def frame_to_twin() -> list[Measurement]:
    cpu_seconds = time.process_time()
    with make_twin() as (project, seconds):
        cpu_seconds = time.process_time() - cpu_seconds
        baseline = clock(lambda: run_bare_physics(project), 3)
        note = f"{stage_seconds(project)}; {cpu_seconds:.1f} s of CPU time; the library's features were loaded"
    what = "frame to settled twin, 9 objects, 1280x720"
    return [Measurement(what, seconds, "s", 10, baseline=ms(baseline) / 1000, baseline_is=BASELINE, note=note)]


def edit_to_twin() -> list[Measurement]:
    """Shrink a mask a little, three times: its object is described, matched and placed again."""
    with make_twin() as (project, _):
        times, cpu_seconds = [], time.process_time()
        for grow in (1, 2, 3):
            segment = (project.segments() or ())[1]
            mask = cv2.erode(segment.mask.astype(np.uint8), np.ones((1 + 2 * grow,) * 2)) > 0
            times += clock(lambda n=segment.id, mask=mask: edit_mask(project, n, mask))
        cpu_seconds = (time.process_time() - cpu_seconds) / len(times)
        baseline, note = (
            clock(lambda: run_bare_physics(project), 3),
            f"{stage_seconds(project)}; {cpu_seconds:.1f} s of CPU time",
        )
    what = "one mask edited to updated twin"
    return [
        Measurement(what, ms(times) / 1000, "s", 1.5, baseline=ms(baseline) / 1000, baseline_is=BASELINE, note=note)
    ]


def stage_seconds(project: Project) -> str:
    """Return the seconds of each stage's last run, as text."""
    seconds = json.loads((project.folder / "project.json").read_text())["seconds"]
    return ", ".join(
        f"{name} {seconds[name]:.1f}"
        for name in ("frame", "segments", "descriptions", "matches", "scene")
        if name in seconds
    )


def edit_mask(project: Project, number: int, mask: np.ndarray) -> None:
    project.decide("mask", id=number, mask=encode_rle(mask), clicks=[])
    run_to_scene(project)


def run_bare_physics(project: Project) -> None:
    model = mujoco.MjModel.from_xml_path(str(project.folder / "scene" / "scene.xml"))
    mujoco.mj_step(model, mujoco.MjData(model), nstep=round(1 / model.opt.timestep))


SIMULATION = """import kit

def build(scene, seed):
    \"\"\"Put the red cube on the blue one.\"\"\"
    sim = kit.Simulation(scene, seed)
    sim.goal(kit.on("red_cube", "blue_cube"))
    return sim
"""
CHECKS = """def check_oracle_solves_it(sim):
    assert sim.rollout().reward > 0.99
"""


def sandboxed_run() -> list[Measurement]:
    """Run the same program with its checks in the sandbox and in this process, alternately."""
    with tempfile.TemporaryDirectory() as folder, Sandbox() as sandbox:
        table, program = write(Path(folder)), Program(SIMULATION, CHECKS)
        report, _ = sandbox.run(program, table)  # starts the server
        assert report.clean, report
        pairs = [(*clock(lambda: sandbox.run(program, table)), *clock(lambda: run_in_process(table))) for _ in range(7)]
    overhead, inside = statistics.median(a - b for a, b in pairs), statistics.median(b for _, b in pairs)
    note = f"median difference of {len(pairs)} pairs; the run itself takes {inside * 1000:.0f} ms"
    return [Measurement("a sandboxed run, beyond the same run in process", overhead * 1000, budget=100, note=note)]


def run_in_process(table: Path) -> None:
    names: dict = {"kit": kit}
    for source in (SIMULATION, CHECKS):
        exec(compile(source.replace("import kit", ""), "program", "exec"), names)
    sim = names["build"](kit.Scene.load(table), 0)
    names["check_oracle_solves_it"](sim)

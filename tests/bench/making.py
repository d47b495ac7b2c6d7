"""How fast a frame becomes a twin, and a program a report."""

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

from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import Services, advance
from pipeline.segmentation import rle
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox import Sandbox
from studio.services import Settings, open_services
from tests.bench.reading import Reading, clock, ms
from tests.bench.seeing import SCENE
from tests.tabletop import write

BARE = "MuJoCo compiles the finished scene.xml and steps it for 1 s of simulated time"


@cache
def services() -> Services:
    """The embedded stand-ins, with what is known of the library's looks already at hand."""
    found = open_services(Settings())
    found.features()
    return found


@contextlib.contextmanager
def twin() -> Iterator[tuple[Project, float]]:
    """A project of the sample scene worked out up to its twin, and the seconds that took."""
    folder = Path(tempfile.mkdtemp())
    try:
        services()
        project = Project.create(folder / "twin", load(SCENE))
        (seconds,) = clock(lambda: up_to_date(project))
        yield project, seconds
    finally:
        shutil.rmtree(folder)


def up_to_date(project: Project) -> None:
    """To a settled, compiled twin."""
    for _ in advance(project, services(), "scene"):
        pass
    mujoco.MjModel.from_xml_path(str(project.folder / "scene" / "scene.xml"))


def frame_to_twin() -> list[Reading]:
    used = time.process_time()
    with twin() as (project, seconds):
        used = time.process_time() - used
        bare = clock(lambda: bare_physics(project), 3)
        note = f"{stages(project)}; {used:.1f} s of processor; the library's looks were known"
    what = "frame to settled twin, 9 objects, 1280x720"
    return [Reading(what, seconds, "s", 10, bare=ms(bare) / 1000, bare_is=BARE, note=note)]


def edit_to_twin() -> list[Reading]:
    """A mask drawn a little smaller, three times: its object is described, matched and placed again."""
    with twin() as (project, _):
        times, used = [], time.process_time()
        for grow in (1, 2, 3):
            segment = (project.segments() or ())[1]
            mask = cv2.erode(segment.mask.astype(np.uint8), np.ones((1 + 2 * grow,) * 2)) > 0
            times += clock(lambda n=segment.id, mask=mask: edited(project, n, mask))
        used = (time.process_time() - used) / len(times)
        bare, note = clock(lambda: bare_physics(project), 3), f"{stages(project)}; {used:.1f} s of processor"
    what = "one mask edited to updated twin"
    return [Reading(what, ms(times) / 1000, "s", 1.5, bare=ms(bare) / 1000, bare_is=BARE, note=note)]


def stages(project: Project) -> str:
    """What each stage took when it last ran."""
    took = json.loads((project.folder / "project.json").read_text())["seconds"]
    return ", ".join(
        f"{name} {took[name]:.1f}" for name in ("frame", "segments", "descriptions", "matches", "scene") if name in took
    )


def edited(project: Project, number: int, mask: np.ndarray) -> None:
    project.decide("mask", id=number, mask=rle(mask), clicks=[])
    up_to_date(project)


def bare_physics(project: Project) -> None:
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


def sandboxed_run() -> list[Reading]:
    """The same program, rolled out and checked in the sandbox and in this process, turn by turn."""
    with tempfile.TemporaryDirectory() as folder, Sandbox() as sandbox:
        table, program = write(Path(folder)), Program(SIMULATION, CHECKS)
        report, _ = sandbox.run(program, table)  # starts the server
        assert report.clean, report
        pairs = [(*clock(lambda: sandbox.run(program, table)), *clock(lambda: in_process(table))) for _ in range(7)]
    beyond, inside = statistics.median(a - b for a, b in pairs), statistics.median(b for _, b in pairs)
    note = f"median difference of {len(pairs)} pairs; the run itself takes {inside * 1000:.0f} ms"
    return [Reading("a sandboxed run, beyond the same run in process", beyond * 1000, budget=100, note=note)]


def in_process(table: Path) -> None:
    names: dict = {"kit": kit}
    for source in (SIMULATION, CHECKS):
        exec(compile(source.replace("import kit", ""), "program", "exec"), names)
    sim = names["build"](kit.Scene.load(table), 0)
    names["check_oracle_solves_it"](sim)

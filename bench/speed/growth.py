"""How the time from a photograph to its twin grows with the number of objects: `grs-studio run --until scene`."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench import ROOT
from bench.measurement import Measurement, NotMeasured
from bench.twin_drawing import asset_placement, photograph_scene, random_recipe
from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.geometry import Pose, rotation_about_z
from pipeline.project import Project
from pipeline.scene.placement import Scene
from sample_scenes import make_scenes as studio

WANTED = {3: 2.0, 8: 3.5, 15: 6.0, 30: 11.0}
"""Seconds from the frame to the twin, by the number of objects."""
PITCH = 0.19
"""Distance between neighbours in metres."""
SEED = 40


def growth() -> list[Measurement]:
    """Draw tables of 3, 8, 15 and 30 assets of the library side by side, and run the command on each."""
    rows: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        for count, budget in WANTED.items():
            frame = Path(folder) / f"frame_{count}"
            _draw(count, frame)
            opened, _, _ = _run(frame, "frame", Path(folder) / f"opened_{count}")
            both, _, _ = _run(frame, "scene", Path(folder) / f"both_{count}")
            out = Path(folder) / f"one_{count}"
            one, processor, megabytes = _run(frame, "scene", out, one_core=True)
            found = len(Project.open(out).segments() or ())
            note = (
                f"{found} found; one process {one - opened:.1f} s; the whole command with one: {processor:.1f} s of "
                f"processor, {megabytes:.0f} MB"
            )
            what = f"frame to twin, {count} objects, 1280x720"
            rows.append(Measurement(what, both - opened, "s", budget, note=note))
    return rows


def _draw(count: int, folder: Path) -> None:
    rng = np.random.default_rng([SEED, count])
    library = Library.open([BUILTIN_LIBRARY])
    small = sorted(a.id for a in library if max(a.size[:2]) < PITCH - 0.03 and a.model is None)
    columns = int(np.ceil(np.sqrt(1.6 * count)))
    rows = -(-count // columns)
    # The whole table is in the picture
    recipe = replace(
        random_recipe("apart", rng), half=(PITCH * columns / 2 + 0.1, PITCH * rows / 2 + 0.1), elevation=50.0,
        azimuth=0.0, distance=0.45 + 0.21 * columns, wall=None,
    )  # fmt: skip
    placements = []
    for number, id in enumerate(rng.choice(small, count, replace=False)):
        row, column = divmod(number, columns)
        asset = library[str(id)]
        at = [PITCH * (column - (columns - 1) / 2), PITCH * (row - (rows - 1) / 2), asset.size[2] / 2 + 0.001]
        pose = Pose.from_rotation(np.array(at), rotation_about_z(float(rng.uniform(0, 2 * np.pi))))
        placements.append(asset_placement(asset, number + 1, pose))
    x, y = recipe.half
    table = np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999
    scene = Scene(
        studio.camera_pose(recipe), table, (150, 130, 110), tuple(placements), studio.camera_intrinsics(recipe)
    )
    photograph_scene(scene, recipe, rng, folder)


def _run(frame: Path, until: str, out: Path, one_core: bool = False) -> tuple[float, float, float]:
    """Return the command's seconds, and the processor seconds and MB of its own process."""
    command = [sys.executable, "-m", "studio", "run", str(frame), "--out", str(out), "--until", until]
    environment = os.environ | ({"GRS_ONE_CORE": "1"} if one_core else {})
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise NotMeasured(f"{' '.join(command)} failed")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

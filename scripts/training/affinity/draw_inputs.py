"""Draws tables in several processes and writes the affinity network's input for each view, without the frames.

    python -m scripts.training.affinity.draw_inputs FOLDER FIRST LAST [--workers N --seconds S --tables SHARE]

Seeds FIRST ... LAST - 1 are populated scenes of varied_tables or, for a share of the seeds, training_tables. Files that
exist are left out, so that a run can be continued; a scene that fails is left out, too.
"""

import argparse
import json
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from pipeline.frame import Intrinsics
from pipeline.segmentation.coco import decode_rle
from scripts.training import make_clutter, training_tables
from scripts.training.affinity.frames import AffinityFrame, affinity_frame, is_ground_right
from scripts.training.depth_sensors import DepthSensor
from scripts.training.print_augmentation import augment_prints
from scripts.training.varied_scenes import VariedScene
from scripts.training.varied_tables import SIZE, VIEWS, Conditions, View, make_scene, photograph_view

MAX_SCENE_SECONDS = 60
"""After which a scene is given up."""
CLUTTER = ("heap", "touch", "stack")
"""Layouts of make_clutter that need no asset by name."""
WRONG_GROUNDS = 0.2
"""Share of the frames that are kept of those whose ground was not found."""


def varied_inputs(seed: int) -> Iterator[AffinityFrame | None]:
    """Yield the inputs of the views of a populated scene."""
    made: list[AffinityFrame | None] = []

    def save(view: View, scene: VariedScene, folder: Path, sensor: DepthSensor | None) -> None:
        rgb, depth, labels = photograph_view(view, scene, sensor)
        k = Intrinsics(*SIZE, view.focal, view.focal, SIZE[0] / 2, SIZE[1] / 2)
        made.append(affinity_frame(rgb, np.round(depth * 1000) / 1000, k, labels, view.surfaces))

    make_scene(seed, Path(), Conditions(populated=True), VIEWS, save)
    yield from made


def table_inputs(seed: int) -> Iterator[AffinityFrame | None]:
    """Yield the input of a table of `training_tables`, or of `make_clutter` now and then, plain and printed."""
    random = np.random.default_rng([7, seed])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layouts = (
            training_tables.LAYOUTS if random.random() < 0.8 else {name: make_clutter.LAYOUTS[name] for name in CLUTTER}
        )
        kind = str(random.choice(list(layouts)))
        make_clutter.LAYOUTS[kind] = layouts[kind]
        (folder / "library").mkdir()
        library = training_tables.random_library(random, folder / "library")
        make_clutter.make_frame(kind, seed, folder / "frame", library)
        rgb, depth, k, masks = read_clutter(folder / "frame")
        labels = np.zeros(depth.shape, np.uint8)
        for number, mask in enumerate(masks, 1):
            labels[mask] = number
        yield affinity_frame(rgb, depth, k, labels, None)
        yield affinity_frame(augment_prints(rgb, labels, random), depth, k, labels, None)


def read_clutter(folder: Path) -> tuple[np.ndarray, np.ndarray, Intrinsics, list[np.ndarray]]:
    """Return colour, depth in metres, camera and masks of a frame that `make_clutter` wrote."""
    rgb, depth = (cv2.imread(str(folder / f"{name}.png"), cv2.IMREAD_UNCHANGED) for name in ("rgb", "depth"))
    camera = json.loads((folder / "camera.json").read_text())
    k = Intrinsics(**{name: camera[name] for name in ("width", "height", "fx", "fy", "cx", "cy")})
    objects = json.loads((folder / "expected.json").read_text())["objects"]
    return rgb[..., ::-1].copy(), depth * camera["depth_scale"], k, [decode_rle(one["mask"]) for one in objects]


def draw(seed: int, folder: Path, tables: float) -> None:
    """Write the inputs of one seed."""
    random = np.random.default_rng([8, seed])
    is_table = random.random() < tables
    for number, frame in enumerate((table_inputs if is_table else varied_inputs)(seed)):
        if frame is not None and (is_ground_right(frame) or random.random() < WRONG_GROUNDS):
            frame.write(folder / f"{seed:07d}_{number}.npz")


def _work(worker: int, arguments: argparse.Namespace, start: float) -> None:
    cv2.setNumThreads(1)
    signal.signal(signal.SIGALRM, _give_up)
    drawn = 0
    for seed in range(arguments.first + worker, arguments.last, arguments.workers):
        if time.time() > start + arguments.seconds:
            break
        if any(arguments.folder.glob(f"{seed:07d}_*.npz")):
            continue
        signal.alarm(MAX_SCENE_SECONDS)
        try:
            draw(seed, arguments.folder, arguments.tables)
            drawn += 1
        except Exception as error:  # one scene of thousands must not end the run
            print(f"seed {seed} left out: {error!r}"[:200], flush=True)
            if worker == 0 and drawn == 0:
                traceback.print_exc()
        finally:
            signal.alarm(0)
    print(f"worker {worker}: {drawn} scenes in {time.time() - start:.0f} s", flush=True)


def _give_up(*_: object) -> None:
    raise TimeoutError("took too long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--tables", type=float, default=0.3, help="share of the seeds that are training_tables")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    processes = [
        get_context("spawn").Process(target=_work, args=(number, arguments, time.time()))
        for number in range(arguments.workers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()

"""Rendered tables on which nothing was fitted, for `python -m bench.masks --drawn`.

Each ground is combined with each layout once, in turn with depth cameras and camera elevations (varied_tables.py).
Seeds FIRST_SEED and above are used for this only: train, choose and look at others.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.mask_scores import FOUND_IOU
from bench.mask_sources import group_values, interval_text
from scripts.training.depth_sensors import SENSORS
from scripts.training.varied_scenes import GROUNDS
from scripts.training.varied_tables import LAYOUTS, Conditions, make_scene

if TYPE_CHECKING:
    from bench.masks import FrameMaskScores

FIRST_SEED = 640_000
ELEVATIONS = {"low": 1 / 6, "middle": 1 / 2, "high": 5 / 6}
"""Of the camera, as a share of the range that the ground allows."""
KINDS = ("ground", "layout", "depth camera", "elevation")
"""What the name of a frame's folder says, in this order, then the seed and the view."""


def scene_conditions(number: int) -> dict[str, str]:
    """Return ground, layout, depth camera and elevation of a scene; numbers 0 to 39 hold each ground with each layout.

    Depth cameras and elevations are shifted by one from row to row, so that each meets each ground and layout.
    """
    ground, layout = list(GROUNDS)[number % len(GROUNDS)], LAYOUTS[number % len(LAYOUTS)]
    sensor = SENSORS[(number + number // len(LAYOUTS)) % len(SENSORS)].__name__.replace("_", "-")
    elevation = list(ELEVATIONS)[(number + number // len(ELEVATIONS)) % len(ELEVATIONS)]
    return dict(zip(KINDS, (ground, layout, sensor, elevation), strict=True))


def draw(folder: Path, count: int = len(GROUNDS) * len(LAYOUTS)) -> list[Path]:
    """Write `count` frames, one of each scene, unless they are there; return their folders. Needs OpenGL."""
    new = folder / "new"
    for number in range(count):
        kinds, seed = scene_conditions(number), FIRST_SEED + number
        if any(folder.glob(f"*_{seed}_0/camera.json")):
            continue
        sensor = {one.__name__.replace("_", "-"): one for one in SENSORS}[kinds["depth camera"]]
        conditions = Conditions(kinds["ground"], kinds["layout"], sensor, ELEVATIONS[kinds["elevation"]])
        with contextlib.suppress(ValueError):  # a shape too flat for MuJoCo's hulls
            make_scene(seed, new, conditions, views=1)
            for path in new.glob("*"):
                path.rename(folder / "_".join([*kinds.values(), str(seed), "0"]))
            new.rmdir()
    return sorted(path.parent for path in folder.glob("*/camera.json"))


def frame_kinds(name: str) -> dict[str, str]:
    """Return what the name of a frame's folder says, by KINDS."""
    return dict(zip(KINDS, name.split("_"), strict=False))


def kind_table(scored: "Sequence[FrameMaskScores]") -> list[str]:
    """Return the lines of a Markdown table with a row for each kind; intervals by bootstrap over scenes."""
    lines = ["| kind | frames | objects | IoU | found | IoU after 1 / 3 / 5 clicks |", "| --- " * 6 + "|"]
    rows = [("all", "", list(scored))]
    for kind in KINDS:
        for value in dict.fromkeys(frame_kinds(one.labelled.name)[kind] for one in scored):
            rows.append((kind, value, [one for one in scored if frame_kinds(one.labelled.name)[kind] == value]))
    for kind, value, own in rows:
        ious = group_values([(one.labelled.name, one.automatic.iou) for one in own])
        every = np.concatenate(ious) if ious else np.zeros(0)
        found = [[float(iou >= FOUND_IOU) for iou in group] for group in ious]
        clicks = np.mean([[c.iou[i] for i in (0, 2, 4)] for one in own for c in one.all_clicks], 0)
        lines.append(
            f"| {kind} {value} | {len(own)} | {len(every)} | {every.mean():.3f} ({_interval(ious)}) "
            f"| {np.mean(every >= FOUND_IOU):.3f} ({_interval(found)}) "
            f"| {' / '.join(f'{one:.2f}' for one in clicks)} |"
        )
    return lines


def _interval(groups: Sequence[Sequence[float]]) -> str:
    return interval_text(groups).partition(" (")[0] or "too few scenes"

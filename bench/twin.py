"""`make eval-twin`: compare twins of random tables, made by the whole pipeline offline, with the truth.

    python -m bench.twin [--each 3] [--kinds KIND ...] [--set held-out|development] [--first SEED]
                               [--masks own|true] [--library PATH ...] [--out DIR]

`--each` scenes of every kind (apart, stacked, lying, touching, crowded, hidden) are drawn. The development set's seeds
start at 0, the held-out ones at 100, or at `--first`. Masks, matches and shapes are the pipeline's own. With `--masks
true` the segmenter returns the true masks. With `--library` scenes are drawn from, and matched with, the assets in
these folders.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from bench import ROOT
from bench.measurement import grouped_interval
from bench.twin_drawing import KINDS, draw_table
from bench.twin_scoring import ObjectScore, SceneScore, score
from pipeline.errors import StudioError
from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import Services, run_stages
from pipeline.scene import rendering
from pipeline.segmentation import ScriptedSegmenter
from studio.services.open_services import open_services
from studio.services.settings import Settings

FIRST_SEEDS = {"development": 0, "held-out": 100}
MAX_WORST_SCENES = 6
"""Number of scenes in the picture of the worst cases."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=3, help="scenes of every kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--masks", choices=("own", "true"), default="own")
    parser.add_argument("--library", type=Path, nargs="+", default=())
    parser.add_argument("--set", choices=sorted(FIRST_SEEDS), default="held-out")
    parser.add_argument("--first", type=int, help="first seed, instead of the set's")
    parser.add_argument("--out", type=Path, help="keep the frames and projects here; by default they are removed")
    arguments = parser.parse_args()
    folder = arguments.out or Path(tempfile.mkdtemp())
    services = open_services(Settings(library=tuple(arguments.library)))
    try:
        scores: dict[str, SceneScore] = {}
        first = FIRST_SEEDS[arguments.set] if arguments.first is None else arguments.first
        for seed in range(first, first + arguments.each):
            for kind in arguments.kinds:
                scores[f"{kind}_{seed}"] = measure(kind, seed, folder, services, arguments.masks == "true")
        features = services.features()
        printed = {id for id, has_print in zip(features.ids, features.has_print, strict=True) if has_print}
        tables = [*summary_table(list(scores.values()), printed), "", *strata_table(scores), "",
                  *misplaced_table(scores)]  # fmt: skip
        print("\n".join(["", *tables]))
        picture = worst_scenes(scores, folder)
        (ROOT / "build").mkdir(exist_ok=True)
        cv2.imwrite(str(ROOT / "build" / "twin.png"), picture[..., ::-1])
        print("\nWorst cases (photograph, twin): build/twin.png")
    finally:
        if arguments.out is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def measure(kind: str, seed: int, folder: Path, services: Services, use_true_masks: bool = False) -> SceneScore:
    """Draw one scene unless it exists, make its twin, and compare it with the truth."""
    name = f"{kind}_{seed}"
    frame, project = folder / "frames" / name, folder / "projects" / name
    if not (frame / "truth" / "truth.json").exists():
        frame.mkdir(parents=True, exist_ok=True)
        draw_table(kind, seed, services.library, frame)
    shutil.rmtree(project, ignore_errors=True)
    project.parent.mkdir(parents=True, exist_ok=True)
    services = replace(services, segmenter=true_masks_segmenter(frame / "truth")) if use_true_masks else services
    began = time.perf_counter()
    for _ in run_stages(Project.create(project, load(frame)), services, "scene"):
        pass
    seconds = time.perf_counter() - began
    scene_score = score(project, frame / "truth", name)
    good = sum(o.good for o in scene_score.objects)
    print(f"{name:16} {good} of {len(scene_score.objects)} within 10 mm, 10 deg, 10 %  {seconds:5.1f} s", flush=True)
    return scene_score


def true_masks_segmenter(truth: Path) -> ScriptedSegmenter:
    """Return a segmenter that finds the true mask of each object."""
    labels = np.asarray(Image.open(truth / "masks.png"))
    objects = json.loads((truth / "truth.json").read_text())["objects"]
    return ScriptedSegmenter([labels == o["id"] for o in objects])


def summary_table(scores: Sequence[SceneScore], printed: Collection[str] = ()) -> list[str]:
    """Return a Markdown table of all scores, as in docs/results/twin.md. `printed` are ids of assets with a print."""
    objects = [o for scene in scores for o in scene.objects]
    found = [o for o in objects if o.found]
    placements = sum(scene.placements for scene in scores)
    right = [[o.placed_asset == o.true_asset for o in s.objects if o.true_asset] for s in scores]
    rows = [
        ("centre, median / p90 mm", _median_and_p90([o.centre for o in found]), "4 / 12"),
        ("orientation up to symmetry, median / p90 deg", _median_and_p90([o.rotation for o in found]), "2.5 / 15"),
        ("size, median / p90 %", _median_and_p90([o.size for o in found]), "4 / 10"),
        ("3D box IoU, median", f"{np.median([o.box_iou for o in found]):.2f}", "0.82"),
        ("within 10 mm, 10 deg and 10 %, share of all", _share([[o.good for o in s.objects] for s in scores]), "0.75"),
        ("found / not invented / mask IoU", f"{len(found) / len(objects):.2f} / {len(found) / placements:.2f} / "
         f"{np.mean([o.mask_iou for o in objects]):.2f}", "0.95 / 0.95 / 0.88"),
        ("right asset, of those that the library has", _share(right), "0.85"),
        ("print faces the right way: within 30 deg / over 90 deg wrong", _print_shares(found, printed), ""),
        ("table plane, median deg / mm", f"{np.median([s.table_rotation for s in scores]):.3f} / "
         f"{np.median([s.table_height for s in scores]):.2f}", "0.2 / 0.7"),
        ("drift in 2 s p90 / penetration p90, mm", f"{np.quantile([s.drift for s in scores], 0.9):.2f} / "
         f"{np.quantile([s.penetration for s in scores], 0.9):.2f}", "0.5 / 0.5"),
    ]  # fmt: skip
    head = f"| {len(scores)} scenes, {len(objects)} objects | measured | to reach |"
    return [head, "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]


def _share(scenes: Sequence[Sequence[bool]]) -> str:
    """Return the share over all objects with its 95 % interval, by bootstrap over scenes."""
    groups = [[float(one) for one in scene] for scene in scenes if scene]
    low, high = grouped_interval(groups)
    return f"{np.mean(np.concatenate(groups)):.2f} ({low:.2f} to {high:.2f})"


def _print_shares(objects: Sequence[ObjectScore], printed: Collection[str]) -> str:
    """Return how many of the printed objects that have their true asset face the right way, and how many do not."""
    turns = np.array([o.turn for o in objects if o.placed_asset == o.true_asset and o.placed_asset in printed])
    return f"{(turns < 30).sum()} / {(turns > 90).sum()} of {len(turns)}"


def strata_table(scores: dict[str, SceneScore]) -> list[str]:
    """Return a Markdown table of the scores by kind of object."""
    objects = [o for scene in scores.values() for o in scene.objects]
    lines = [
        "| objects | n | found | within | centre mm | size % | size within 15 % |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in sorted({s for o in objects for s in o.strata}):
        stratum = [o for o in objects if name in o.strata]
        found = [o for o in stratum if o.found]
        lines.append(
            f"| {name} | {len(stratum)} | {len(found) / len(stratum):.2f} | {np.mean([o.good for o in stratum]):.2f} | "
            f"{_median_and_p90([o.centre for o in found])} | {_median_and_p90([o.size for o in found])} | "
            f"{np.mean([o.found and o.size < 15 for o in stratum]):.2f} |"
        )
    return lines


def misplaced_table(scores: dict[str, SceneScore]) -> list[str]:
    """Return a Markdown table of the objects that are misplaced or have the wrong asset."""
    lines = [
        "| scene | object | asset: true, placed | mm | deg | % | mask |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for scene, name in ((scores[name], name) for name in sorted(scores)):
        lines += [
            f"| {name} | {o.name} ({', '.join(o.strata)}) | {o.true_asset}, {o.placed_asset} | {o.centre:.0f} | "
            f"{o.rotation:.0f} | {o.size:.0f} | {o.mask_iou:.2f} |"
            for o in scene.objects
            if not o.good or (o.true_asset and o.placed_asset != o.true_asset)
        ]
    return lines


def _median_and_p90(values: Sequence[float]) -> str:
    return f"{np.median(values):.1f} / {np.quantile(values, 0.9):.1f}" if len(values) else ""


def worst_scenes(scores: dict[str, SceneScore], folder: Path) -> np.ndarray:
    """Return the scenes with most misplaced objects, photograph beside twin, of shape (H, W, 3), uint8."""
    order = sorted(scores, key=lambda name: np.mean([o.good for o in scores[name].objects]))[:MAX_WORST_SCENES]
    return np.vstack([_side_by_side(name, scores[name].objects, folder) for name in order])


def _side_by_side(name: str, objects: Sequence[ObjectScore], folder: Path) -> np.ndarray:
    photograph = np.asarray(Image.open(folder / "frames" / name / "rgb.png").convert("RGB")).copy()
    height, width = photograph.shape[:2]
    try:
        twin = rendering.render_twin(folder / "projects" / name / "scene", (width, height)).rgb
    except StudioError:  # no OpenGL here
        twin = np.zeros_like(photograph)
    misplaced = ", ".join(o.name for o in objects if not o.good)
    cv2.putText(
        photograph, f"{name}: {misplaced}", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA
    )
    return np.hstack([photograph, twin])


if __name__ == "__main__":
    sys.exit(main())

"""`make eval-twin`: tables of known truth, drawn, worked out by the whole pipeline offline, and compared.

    python -m tests.bench.twin [--each 3] [--kinds KIND ...] [--set held-out|development] [--masks own|true]
                               [--library PATH ...] [--out DIR]

`--each` scenes of every kind (apart, stacked, lying, touching, crowded). Development's seeds start at 0, those held out
at 100. Nothing is given: masks, matches and shapes are the pipeline's own. With `--masks true` the drawn masks are what
the segmenter finds; with `--library` scenes are drawn from, and matched with, the assets in these folders.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from pipeline.errors import StudioError
from pipeline.frame import load
from pipeline.project import Project
from pipeline.run import Services, advance
from pipeline.scene import rendering
from pipeline.segmentation import ScriptedSegmenter
from studio.services import Settings, open_services
from tests.bench.twin_drawing import KINDS, draw
from tests.bench.twin_scoring import Scored, Thing, score

ROOT = Path(__file__).resolve().parents[2]
FIRST = {"development": 0, "held-out": 100}
WORST = 6
"""Scenes in the picture of worst cases."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=3, help="scenes of every kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--masks", choices=("own", "true"), default="own")
    parser.add_argument("--library", type=Path, nargs="+", default=())
    parser.add_argument("--set", choices=sorted(FIRST), default="held-out")
    parser.add_argument("--out", type=Path, help="keep the frames and projects here; a folder of ours that is removed")
    arguments = parser.parse_args()
    folder = arguments.out or Path(tempfile.mkdtemp())
    services = open_services(Settings(library=tuple(arguments.library)))
    try:
        scored: dict[str, Scored] = {}
        for seed in range(FIRST[arguments.set], FIRST[arguments.set] + arguments.each):
            for kind in arguments.kinds:
                scored[f"{kind}_{seed}"] = measure(kind, seed, folder, services, arguments.masks == "true")
        print("\n".join(["", *table(list(scored.values())), "", *by_stratum(scored), "", *amiss(scored)]))
        picture = worst(scored, folder)
        (ROOT / "build").mkdir(exist_ok=True)
        cv2.imwrite(str(ROOT / "build" / "twin.png"), picture[..., ::-1])
        print("\nWorst cases (photograph, twin): build/twin.png")
    finally:
        if arguments.out is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def measure(kind: str, seed: int, folder: Path, services: Services, told: bool = False) -> Scored:
    """One scene drawn where it is not there yet, worked out, compared; its masks are the true ones where `told`."""
    name = f"{kind}_{seed}"
    frame, project = folder / "frames" / name, folder / "projects" / name
    if not (frame / "truth" / "truth.json").exists():
        frame.mkdir(parents=True, exist_ok=True)
        draw(kind, seed, services.library, frame)
    shutil.rmtree(project, ignore_errors=True)
    project.parent.mkdir(parents=True, exist_ok=True)
    services = replace(services, segmenter=drawn_masks(frame / "truth")) if told else services
    began = time.perf_counter()
    for _ in advance(Project.create(project, load(frame)), services, "scene"):
        pass
    seconds = time.perf_counter() - began
    scored = score(project, frame / "truth", name)
    good = sum(thing.good for thing in scored.things)
    print(f"{name:16} {good} of {len(scored.things)} within 10 mm, 10 deg, 10 %  {seconds:5.1f} s", flush=True)
    return scored


def drawn_masks(truth: Path) -> ScriptedSegmenter:
    """Finds what was drawn: each object that counts, with its own mask."""
    labels = np.asarray(Image.open(truth / "masks.png"))
    objects = json.loads((truth / "truth.json").read_text())["objects"]
    return ScriptedSegmenter([labels == one["id"] for one in objects])


def table(scored: Sequence[Scored]) -> list[str]:
    """Markdown, as docs/twin.md shows it."""
    things = [thing for scene in scored for thing in scene.things]
    found = [thing for thing in things if thing.found]
    placements, known = sum(scene.placements for scene in scored), [t for t in things if t.asset_true]
    right = [thing.asset_given == thing.asset_true for thing in known]
    rows = [
        ("centre, median / p90 mm", _spread([t.centre for t in found]), "4 / 12"),
        ("orientation up to symmetry, median / p90 deg", _spread([t.turn for t in found]), "2.5 / 15"),
        ("size, median / p90 %", _spread([t.size for t in found]), "4 / 10"),
        ("3D box IoU, median", f"{np.median([t.overlap for t in found]):.2f}", "0.82"),
        ("within 10 mm, 10 deg and 10 %, share of all", f"{np.mean([t.good for t in things]):.2f}", "0.75"),
        ("found / not invented / mask IoU", f"{len(found) / len(things):.2f} / {len(found) / placements:.2f} / "
         f"{np.mean([t.mask_iou for t in things]):.2f}", "0.95 / 0.95 / 0.88"),
        ("right asset, of those that the library has", f"{np.mean(right):.2f}", "0.85"),
        ("table plane, median deg / mm", f"{np.median([s.table_turn for s in scored]):.3f} / "
         f"{np.median([s.table_height for s in scored]):.2f}", "0.2 / 0.7"),
        ("drift in 2 s p90 / penetration p90, mm", f"{np.quantile([s.drift for s in scored], 0.9):.2f} / "
         f"{np.quantile([s.sinking for s in scored], 0.9):.2f}", "0.5 / 0.5"),
    ]  # fmt: skip
    head = f"| {len(scored)} scenes, {len(things)} objects | measured | to reach |"
    return [head, "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]


def by_stratum(scored: dict[str, Scored]) -> list[str]:
    """How each kind of object fares."""
    things = [thing for scene in scored.values() for thing in scene.things]
    lines = ["| objects | n | found | within | centre mm | size % |", "| --- | --- | --- | --- | --- | --- |"]
    for name in sorted({s for thing in things for s in thing.strata}):
        mine = [thing for thing in things if name in thing.strata]
        seen = [thing for thing in mine if thing.found]
        lines.append(
            f"| {name} | {len(mine)} | {len(seen) / len(mine):.2f} | {np.mean([t.good for t in mine]):.2f} | "
            f"{_spread([t.centre for t in seen])} | {_spread([t.size for t in seen])} |"
        )
    return lines


def amiss(scored: dict[str, Scored]) -> list[str]:
    """What is not where it should be, one line each."""
    lines = [
        "| amiss | what | asset: true, given | mm | deg | % | mask |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for scene, name in ((scored[name], name) for name in sorted(scored)):
        lines += [
            f"| {name} | {t.name} ({', '.join(t.strata)}) | {t.asset_true}, {t.asset_given} | {t.centre:.0f} | "
            f"{t.turn:.0f} | {t.size:.0f} | {t.mask_iou:.2f} |"
            for t in scene.things
            if not t.good or (t.asset_true and t.asset_given != t.asset_true)
        ]
    return lines


def _spread(values: Sequence[float]) -> str:
    return f"{np.median(values):.1f} / {np.quantile(values, 0.9):.1f}" if len(values) else ""


def worst(scored: dict[str, Scored], folder: Path) -> np.ndarray:
    """The scenes with most objects amiss, photograph beside twin, of shape (H, W, 3), uint8."""
    order = sorted(scored, key=lambda name: np.mean([t.good for t in scored[name].things]))[:WORST]
    return np.vstack([_side_by_side(name, scored[name].things, folder) for name in order])


def _side_by_side(name: str, things: Sequence[Thing], folder: Path) -> np.ndarray:
    photograph = np.asarray(Image.open(folder / "frames" / name / "rgb.png").convert("RGB")).copy()
    height, width = photograph.shape[:2]
    try:
        twin = rendering.render(folder / "projects" / name / "scene", (width, height)).rgb
    except StudioError:  # no OpenGL here
        twin = np.zeros_like(photograph)
    amiss = ", ".join(thing.name for thing in things if not thing.good)
    cv2.putText(photograph, f"{name}: {amiss}", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return np.hstack([photograph, twin])


if __name__ == "__main__":
    sys.exit(main())

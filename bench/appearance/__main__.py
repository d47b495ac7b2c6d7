"""`make eval-appearance`: how alike photograph and twin look, and the estimated light against known lights.

    python -m bench.appearance [PROJECT ...] [--samples] [--work DIR] [--light SEED]

Without projects, the sample scenes and the frames of ../shared/frames and ../shared/frames_wild are run to their twins
in build/appearance. Each twin is rendered through the photograph's camera: as it would be with a table of one colour,
the default light and assets in their own colours, and as it is. build/appearance.png shows photograph and both twins in
rows; the frames' licences do not allow to put it into the project, the samples' does. `--light` measures the light of
planted lamps instead.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from bench import ROOT
from bench.appearance.likeness import Likeness, likeness, rendered_twin, visible_table, whole_similarity
from bench.appearance.planted_light import LightError, planted_lights, sample_lamps
from pipeline.errors import StudioError
from pipeline.evaluation.significance import mean_interval
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.scene.mjcf.background import make_background
from pipeline.scene.mjcf.builder import table_slab

SHARED, SAMPLES = ROOT.parent / "shared", ROOT / "sample_scenes"
WIDTH_PX = 320


def frames(only_samples: bool) -> list[Path]:
    """Return the folders of the sample scenes, and of the reference frames that are there."""
    folders = [SAMPLES] if only_samples else [SAMPLES, SHARED / "frames", SHARED / "frames_wild"]
    return [one.parent for folder in folders for one in sorted(folder.glob("*/rgb.png"))]


def projects(work: Path, only_samples: bool = False) -> Iterator[Path]:
    """Run every frame to its twin in `work`, unless it is there, and yield its project."""
    for frame in frames(only_samples):
        folder = work / frame.name
        if not (folder / "scene.json").exists():
            command = [sys.executable, "-m", "studio", "run", str(frame), "--out", str(folder), "--until", "scene"]
            subprocess.run(command, check=False, capture_output=True)
        yield folder


def compare(folder: Path) -> tuple[list[Likeness], list[float], bool, np.ndarray]:
    """Return the likeness of both twins, that of the whole picture without and with the background, whether a light is
    claimed, and photograph and twins in a row."""
    project = Project.open(folder)
    scene = project.scene()
    if scene is None or scene.intrinsics is None:
        raise StudioError("no twin")
    observation, masks = project.observation, [s.mask for s in project.segments() or ()]
    table, photograph = visible_table(scene.intrinsics, observation.support), observation.frame.rgb
    placed = {p.segment_id for p in scene.placements}
    segments = [s for s in project.segments() or () if s.id in placed]
    around = make_background(observation, segments, table_slab(scene))
    renders = [rendered_twin(one, scene.intrinsics) for one in (without_appearance(scene), scene)]
    renders.append(rendered_twin(scene, scene.intrinsics, around))
    whole = [whole_similarity(photograph, image) for image in renders[1:]]
    scores = [likeness(photograph, image, table, masks) for image in renders[:2]]
    return scores, whole, scene.light is not None, np.hstack([photograph, *(image.rgb for image in renders)])


def without_appearance(scene: Scene) -> Scene:
    """Return the scene with a table of one colour, the default light and its assets in their own colours."""
    return replace(
        scene, table_png=None, light=None, placements=tuple(replace(p, recolour=None) for p in scene.placements)
    )


def measure(folders: Iterator[Path] | list[Path], sheet: Path) -> int:
    """Print the likeness of every project and write the contact sheet; return the exit code."""
    rows, pictures, claims = [], [], 0
    print(f"{'':26} SSIM before  now   colour before  now   whole before  now   light")
    for folder in folders:
        try:
            (before, now), whole, claimed, picture = compare(folder)
        except StudioError as error:
            print(f"{folder.name:26} {error}", flush=True)
            continue
        rows.append([before.ssim, now.ssim, before.colour, now.colour, *whole])
        claims += claimed
        light = "estimated" if claimed else "default"
        print(
            f"{folder.name:26} {before.ssim:11.3f} {now.ssim:.3f} {before.colour:13.1f} {now.colour:5.1f} "
            f"{whole[0]:12.3f} {whole[1]:.3f}   {light}"
        )
        height = round(4 * WIDTH_PX * picture.shape[0] / picture.shape[1])
        pictures.append(cv2.resize(picture, (4 * WIDTH_PX, height), interpolation=cv2.INTER_AREA))
    if not rows:
        return 2
    table = np.array(rows)
    print(f"{len(rows)} twins, median  " + "  ".join(f"{value:.3f}" for value in np.nanmedian(table, axis=0)))
    for name, change in (
        ("SSIM", table[:, 1] - table[:, 0]),
        ("colour", table[:, 3] - table[:, 2]),
        ("whole", table[:, 5] - table[:, 4]),
    ):
        known = change[np.isfinite(change)]
        low, high = mean_interval(known.tolist())
        print(f"{name}: mean change {known.mean():+.4f}, 95 % interval {low:+.4f} to {high:+.4f}")
    print(f"light estimated in {claims} of {len(rows)}")
    sheet.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(sheet), cv2.cvtColor(np.vstack(pictures), cv2.COLOR_RGB2BGR))
    return 0


def measure_light(work: Path, folders: list[Path], seed: int) -> int:
    """Print the errors of the estimated light, for the samples' lamps and for drawn ones; return the exit code."""
    for title, errors in (("samples", list(sample_lamps(work))), ("drawn", list(planted_lights(folders, seed)))):
        for error in errors:
            found = "-" if error.estimate is None else f"{error.estimate:.0f}"
            print(f"{error.name:34} estimate {found:>4}  default {error.default:3.0f} degrees off")
        print(f"{title}: {_summary(errors)}")
    return 0


def _summary(errors: list[LightError]) -> str:
    claimed = [error.estimate for error in errors if error.estimate is not None]
    if not claimed:
        return f"0 of {len(errors)} estimated"
    low, high = mean_interval([float(one <= 20) for one in claimed])
    return (
        f"{len(claimed)} of {len(errors)} estimated, median {statistics.median(claimed):.0f} degrees, "
        f"within 20 degrees {np.mean(np.array(claimed) <= 20):.2f} ({low:.2f} to {high:.2f}); the default is "
        f"{statistics.median(error.default for error in errors):.0f} degrees off"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.appearance", description=__doc__)
    parser.add_argument("projects", type=Path, nargs="*", help="project folders with a twin (default: all frames)")
    parser.add_argument("--samples", action="store_true", help="only the sample scenes")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "appearance", help="where frames are run")
    parser.add_argument("--light", type=int, metavar="SEED", help="measure planted lights")
    arguments = parser.parse_args()
    folders = arguments.projects or projects(arguments.work, arguments.samples)
    if arguments.light is not None:
        return measure_light(arguments.work, list(folders), arguments.light)
    return measure(folders, ROOT / "build" / "appearance.png")


if __name__ == "__main__":
    raise SystemExit(main())

"""`python -m bench.alignment PROJECT ... [--cases N]`: how exactly clicks and depth give the camera's pose.

PROJECT is a folder with a twin. Planted cases look at each twin from drawn poses near its photograph's camera: six
points, corners of objects' boxes and of the table, spread over the picture, are clicked with 2 px noise, and the twin's
own depth gets noise, bends and holes. In half of them the objects stand 3 mm and 2 degrees beside where the twin has
them. Real cases use the photograph's measured depth; their truth is the camera that the twin was built with.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from pipeline.alignment import CameraAlignment, CameraClicks, align_camera, refine_on_depth, surface_labels
from pipeline.alignment.camera import AlignmentError, difference, project
from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import Pose, box_corners, transform
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.scene.fidelity import raycast_image
from pipeline.scene.mjcf import builder

CLICKS, NOISE_PX = 6, 2.0
BAR_DEG, BAR_M = 0.3, 0.003
MISPLACED_M, MISPLACED_RAD = 0.003, np.radians(2)


def points_to_click(scene: Scene) -> np.ndarray:
    """Return the corners of the objects' boxes and of the table's outline, of shape (N, 3)."""
    boxes = [transform(p.world_from_object.matrix, box_corners(p.size)) for p in scene.placements]
    table = np.column_stack([scene.table, np.zeros(len(scene.table))])
    return np.concatenate([table, *boxes])


def clicks_on(
    scene: Scene, real: Scene, camera: np.ndarray, k: Intrinsics, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return points (6, 3) of the twin that lie far apart in the picture, and the clicks (6, 2) on the real ones.

    Raises AlignmentError if the picture shows fewer.
    """
    pixels = project(camera, points_to_click(real), k)
    inside = np.flatnonzero(((pixels > 8) & (pixels < [k.width - 8, k.height - 8])).all(1))
    if len(inside) < CLICKS:
        raise AlignmentError("too few corners in the picture")
    chosen = [int(random.choice(inside))]
    while len(chosen) < CLICKS:
        away = np.linalg.norm(pixels[inside][:, None] - pixels[chosen], axis=-1).min(1)
        chosen.append(int(inside[random.choice(np.argsort(-away)[:3])]))
    return points_to_click(scene)[chosen], pixels[chosen] + random.normal(0, NOISE_PX, (CLICKS, 2))


def drawn_camera(scene: Scene, random: np.random.Generator) -> np.ndarray:
    """Return the photograph's camera swung about the table's middle by up to 20 degrees, 15 % nearer or farther."""
    middle = np.append(scene.table.mean(0), 0)
    swing = np.eye(4)
    swing[:3, :3] = Rotation.from_euler("zx", random.uniform(-20, 20, 2) * [1, 0.3], degrees=True).as_matrix()
    swing[:3, 3] = middle - swing[:3, :3] @ middle
    camera = swing @ np.asarray(scene.world_from_camera)
    camera[:3, 3] = middle + (camera[:3, 3] - middle) * random.uniform(0.9, 1.15)
    return camera


def planted_depth(
    scene: Scene, camera: np.ndarray, k: Intrinsics, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the depth (H, W) that a sensor would measure of this twin, and what each pixel shows (H, W).

    Noise of 1.5 mm at 1 m that grows with the square of the distance, smooth over 3 pixels; bends of 1 mm over a
    quarter of the picture; millimetres; a tenth of holes.
    """
    model = builder.compile_spec(builder.build_spec(scene))
    bodies, depth = raycast_image(model, k, camera)
    labels = np.where(bodies == 0, 0, -1)
    for number, p in enumerate(scene.placements, 1):
        labels[bodies == model.body(p.name).id] = number
    labels[(labels == 0) & (np.abs(world_heights(depth, k, camera)) > 0.003)] = -1
    noise = cv2.GaussianBlur(random.normal(0, 1, depth.shape), (0, 0), 1.2)
    bend = cv2.resize(random.normal(0, 1, (5, 5)), depth.shape[::-1], interpolation=cv2.INTER_CUBIC)
    measured = depth + (0.0015 * noise / noise.std() + 0.001 * bend) * depth**2
    measured = np.round(measured, 3) * (random.random(depth.shape) > 0.1)
    return np.where(depth > 0, measured, 0).astype(np.float32), labels.astype(np.int32)


def world_heights(depth: np.ndarray, k: Intrinsics, camera: np.ndarray) -> np.ndarray:
    """Return the heights in the world (H, W) of the points of a depth image."""
    u, v = np.meshgrid(np.arange(k.width), np.arange(k.height))
    return transform(camera, k.ray_directions(u, v) * depth[..., None])[..., 2]


def misplaced(scene: Scene, random: np.random.Generator) -> Scene:
    """Return the scene with every object moved on the table by a few millimetres and turned by a few degrees."""

    def beside(p):
        pose = p.world_from_object
        turn = Rotation.from_rotvec([0, 0, random.normal(0, MISPLACED_RAD)]).as_matrix()
        pos = pose.pos + np.array([*random.normal(0, MISPLACED_M, 2), 0])
        return replace(p, world_from_object=Pose.from_rotation(pos, turn @ pose.rotation))

    return replace(scene, placements=tuple(beside(p) for p in scene.placements))


class Errors:
    """Errors of alignments with known truth."""

    def __init__(self, name: str):
        self.name, self.rows = name, []

    def add(self, found: CameraAlignment, truth: np.ndarray) -> None:
        step = difference(found.world_from_camera, truth)
        distance = float(step @ np.linalg.solve(found.covariance, step))
        self.rows.append((np.degrees(np.linalg.norm(step[:3])), np.linalg.norm(step[3:]) * 1000, distance))

    def line(self) -> str:
        """Return medians, 95th percentiles, the share within the bar and the share of 95 % regions that hold."""
        degrees, mm, distance = np.array(self.rows).T
        within = (degrees <= BAR_DEG) & (mm <= BAR_M * 1000)
        held = distance <= chi2.ppf(0.95, 6)
        return (
            f"{self.name}: {len(mm)} cases, {np.median(degrees):.2f} / {np.quantile(degrees, 0.95):.2f} deg, "
            f"{np.median(mm):.1f} / {np.quantile(mm, 0.95):.1f} mm (median / 95 %), within the bar "
            f"{interval(within)}, 95 % regions that hold the truth {interval(held)}"
        )


def interval(held: Sequence[bool] | np.ndarray) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    n, share = len(held), float(np.mean(held))
    middle = (share + 1.92 / n) / (1 + 3.84 / n)
    half = 1.96 / (1 + 3.84 / n) * np.sqrt(share * (1 - share) / n + 0.96 / n**2)
    return f"{share:.1%} [{middle - half:.1%}, {middle + half:.1%}]"


def planted(projects: Sequence[Project], cases: int, random: np.random.Generator) -> None:
    """Print the errors of planted cases."""
    names = [f"{how}{wrong}" for wrong in ("", ", objects misplaced") for how in ("clicks", "clicks and depth")]
    results, refused, number = {name: Errors(name) for name in names}, 0, 0
    while number < cases:
        project_of, wrong = projects[number % len(projects)], ", objects misplaced" * (number // len(projects) % 2)
        number += 1
        scene, k = project_of.scene(), project_of.frame.intrinsics
        assert scene is not None
        real, camera = misplaced(scene, random) if wrong else scene, drawn_camera(scene, random)
        depth, labels = planted_depth(real, camera, k, random)
        try:
            points, clicks = clicks_on(scene, real, camera, k, random)
            alone = align_camera(points, clicks, k, np.asarray(scene.world_from_camera))
        except AlignmentError:
            refused += 1
            continue
        frame = Frame(np.zeros((*depth.shape, 3), np.uint8), depth, k)
        results[f"clicks{wrong}"].add(alone, camera)
        results[f"clicks and depth{wrong}"].add(
            refine_on_depth(alone, CameraClicks(points, clicks), frame, scene, labels), camera
        )
    print(*(one.line() for one in results.values() if one.rows), f"refused: {refused}", sep="\n", flush=True)


def measured(projects: Sequence[Project], cases: int, random: np.random.Generator) -> None:
    """Print the errors on the photographs' own depth, the truth being the camera that the twin was built with."""
    results, refused = {name: Errors(f"real frames, {name}") for name in ("clicks", "clicks and depth")}, 0
    for number in range(cases):
        opened = projects[number % len(projects)]
        scene, frame, segments = opened.scene(), opened.frame, opened.segments()
        assert scene is not None and segments is not None
        camera, k = np.asarray(scene.world_from_camera), frame.intrinsics
        try:
            points, clicks = clicks_on(scene, scene, camera, k, random)
            alone = align_camera(points, clicks, k, camera)
        except AlignmentError:
            refused += 1
            continue
        labels = surface_labels(frame, opened.support, segments, scene)
        refined = refine_on_depth(alone, CameraClicks(points, clicks), frame, scene, labels)
        results["clicks"].add(alone, camera)
        results["clicks and depth"].add(refined, camera)
    print(*(one.line() for one in results.values() if one.rows), f"refused: {refused}", sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path, metavar="PROJECT")
    parser.add_argument("--cases", type=int, default=200)
    arguments = parser.parse_args()
    opened = [Project.open(path) for path in arguments.projects if (path / "scene.json").is_file()]
    projects = [one for one in opened if (scene := one.scene()) and scene.placements]
    print(f"{len(projects)} twins")
    planted(projects, arguments.cases, np.random.default_rng(1))
    measured(projects, 4 * len(projects), np.random.default_rng(2))


if __name__ == "__main__":
    main()

"""Whether twins that do not show their photograph are doubted, and those that do are not.

    python -m bench.doubts --frames DIR [DIR ...] --work DIR [--aside]

Every frame is run as it is and broken in six ways, up to the scene; the work folder keeps the projects. It prints one
line a twin, then the counts. Thresholds were chosen without the sources in ASIDE; `--aside` measures those alone.
"""

import argparse
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Frame, doubt_registration, find_support, load, measure_agreement, register_depth
from pipeline.frame.support_candidates import find_candidates
from pipeline.project import Project, Stage
from pipeline.run import Services, run_stages
from pipeline.scene.evidence import MAX_SIZE_RATIO, Evidence, doubts, measure_evidence, size_ratio
from pipeline.scene.mjcf import builder
from pipeline.scene.place_objects import SceneInputs
from studio.services.open_services import open_services
from studio.services.settings import Settings

ASIDE = ("posecnn", "uoc", "anygrasp", "armchair", "bin_parts", "jugs", "stretch", "white_table", "kitchen")
"""Beginnings of the names of frames that no threshold was chosen on: whole sources."""


def broken(frame: Frame, name: str) -> Iterator[tuple[str, Frame]]:
    """Yield what went wrong and the frame with it; random numbers come from the frame's name."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    h, w = frame.depth.shape
    yield "intact", frame
    yield "flipped", replace(frame, depth=np.ascontiguousarray(frame.depth[::-1]))
    angle, length = random.uniform(0, 2 * np.pi), random.uniform(30, 60) * w / 640
    move = np.array([[1, 0, length * np.cos(angle)], [0, 1, length * np.sin(angle)]])
    yield "shifted", replace(frame, depth=cv2.warpAffine(frame.depth, move, (w, h), flags=cv2.INTER_NEAREST))
    share = random.uniform(0.6, 0.8)
    top, left = (int(random.uniform(0, 1 - share) * side) for side in (h, w))
    part = frame.depth[top : top + int(share * h), left : left + int(share * w)]
    yield "cropped", replace(frame, depth=cv2.resize(part, (w, h), interpolation=cv2.INTER_NEAREST))
    factor = random.uniform(2, 10) ** random.choice([-1, 1])
    yield f"scaled {factor:.2f}", replace(frame, depth=frame.depth * np.float32(factor))
    if (pixel := other_surface(frame)) is not None:
        yield "wall", replace(frame, ground_pixel=pixel)


def other_surface(frame: Frame) -> tuple[int, int] | None:
    """Return a pixel of the largest surface that leans by 25 degrees from the ground; None without one."""
    ground, candidates = find_support(frame), find_candidates(frame)
    others = [one for one in candidates if one.plane.normal @ ground.plane.normal < np.cos(np.radians(25))]
    if not others:
        return None
    inliers = max(others, key=lambda one: np.count_nonzero(one.inliers)).inliers
    distance = cv2.distanceTransform(np.pad(inliers.astype(np.uint8), 1), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(distance.argmax(), distance.shape)
    step = frame.depth.shape[1] / inliers.shape[1]
    return int(x * step), int(y * step)


def judge(frame: Frame, kind: str, folder: Path, services: Services) -> tuple[str, ...]:
    """Return the doubts about the twin of a frame, made in `folder` unless it is there.

    A twin that is doubtful before its scene is made is not made: edges and sizes need no scene.
    """
    try:
        if doubt := doubt_registration(measure_agreement(frame.rgb, register_depth(frame).depth)):
            return (doubt.line,)
        project = Project.open(folder) if folder.exists() else Project.create(folder, replace(frame, source=kind))
        if frame.ground_pixel and not project.active_decisions("ground"):
            project.decide("ground", pixel=list(frame.ground_pixel))
        if kind.startswith("scaled"):
            _run(project, services, "matches")
            ratio = size_ratio(project.descriptions() or (), project.matches() or (), services.library)
            if ratio and abs(np.log(ratio)) > np.log(MAX_SIZE_RATIO):
                return (f"size ratio {ratio:.2f}",)
        _run(project, services, "scene")
        project.close()
    except StudioError as error:
        return (f"refused: {error}",)
    return tuple(doubts(evidence_of(project, services)).values())


def _run(project: Project, services: Services, until: Stage) -> None:
    for _ in run_stages(project, services, until):
        pass


def evidence_of(project: Project, services: Services, left_out: float = 0.0) -> Evidence:
    """Return the evidence for a kept project, with a share of its objects left out at random."""
    scene = project.scene()
    assert scene
    random = np.random.default_rng(zlib.crc32(project.name.encode()))
    order = random.permutation(len(scene.placements))[: len(scene.placements) - int(left_out * len(scene.placements))]
    scene = replace(scene, placements=tuple(scene.placements[i] for i in sorted(order)))
    inputs = SceneInputs(
        project.observation, project.segments() or (), project.descriptions() or (), project.matches() or (),
        services.library, project.folder,
    )  # fmt: skip
    return measure_evidence(inputs, scene, builder.compile_spec(builder.build_spec(scene)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=Path, nargs="+", required=True, help="folders of frames")
    parser.add_argument("--work", type=Path, required=True, help="folder of the projects, kept for the next run")
    parser.add_argument("--aside", action="store_true", help="only the sources that no threshold was chosen on")
    arguments = parser.parse_args()
    frames = [one.parent for folder in arguments.frames for one in sorted(folder.glob("*/rgb.png"))]
    services, counts = open_services(Settings()), Counter[str]()
    for path in frames:
        if path.name.startswith(ASIDE) != arguments.aside:
            continue
        for kind, frame in broken(load(path), path.name):
            folder = arguments.work / kind.split()[0] / path.name
            found = {kind: judge(frame, kind, folder, services)}
            if kind == "intact" and (folder / "scene.json").exists():
                project = Project.open(folder)
                evidence = evidence_of(project, services)
                print(f"{'':20}{evidence.to_json()}", flush=True)
                if evidence.object_count > 1:
                    found["half"] = tuple(doubts(evidence_of(project, services, 0.5)).values())
            for name, reasons in found.items():
                counts[f"{name.split()[0]} {'doubtful' if reasons else 'believed'}"] += 1
                print(f"{path.name:20}{name:12} {' | '.join(reasons) or '-'}", flush=True)
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

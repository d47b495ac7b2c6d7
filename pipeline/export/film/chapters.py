"""The chapters of a film: photograph, masks, objects, the twin turning, each round, the solution."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageDraw

from pipeline.geometry import bounding_box
from pipeline.motion_pictures import WIDTH_PX, film_height, font, play_rollout, turn_model
from pipeline.object_words import ObjectWords, object_words
from pipeline.project import Project
from pipeline.router import Round, first_failure, read_record
from pipeline.router.round_record import check_instant
from pipeline.scene import SceneError
from pipeline.scene.rendering import render_twin
from pipeline.segmentation import Segment
from pipeline.solving import SolvingError

MAX_ROUNDS = 8
"""Rounds in a film: the first ones and the last one."""
CELL_PX = 116
"""Side of a crop, and of its asset beside it."""
LABEL_PX = 22
"""Height of the words below a crop."""


@dataclass(frozen=True, eq=False)
class Chapter:
    """One part of a film."""

    title: str
    lines: tuple[str, ...] = ()
    """Sentences about it."""
    frames: tuple[np.ndarray, ...] = ()
    """Pictures of shape (H, W, 3), uint8: one still, or a motion at motion_pictures.FPS; empty if none can be drawn."""
    held: int | None = None
    """Index of the frame at which a check fails."""
    caption: str = ""
    """What the check says at that frame."""
    diff: tuple[str, ...] = ()
    """Lines of a unified diff from the round before."""


def chapters(project: Project) -> Iterator[Chapter]:
    """Yield the chapters that the project's stages allow; motions have no frames where OpenGL is not available."""
    frame, segments = project.frame, project.segments() or ()
    task, words = project.task(), object_words(project)
    yield Chapter("Photograph", (words.in_words(task.instruction),) if task else (), (_fit(frame.rgb),))
    if segments:
        yield Chapter("Masks", (f"{len(segments)} segments",), (_fit(tinted_masks(frame.rgb, segments)),))
    scene = project.scene()
    if scene is None:
        return
    yield from _objects(project, segments, words)
    turning = _try(lambda: turn_model(project.folder / "scene" / "scene.xml"))
    yield Chapter("Twin", (f"{len(scene.placements)} objects in MuJoCo",), turning)
    rounds = project.rounds()
    by_number = {one.number: one for one in rounds}
    shown = rounds if len(rounds) <= MAX_ROUNDS else (*rounds[: MAX_ROUNDS - 1], rounds[-1])
    for one in shown:
        yield _round(project, one, None if one.parent is None else by_number.get(one.parent), words)
    solution = project.solution()
    if solution is not None and (run := solution.shown):
        frames = _try(lambda: play_rollout(run.xml, run.times, run.qpos, project.folder))
        solved = f"{sum(solution.success)} of {len(solution.success)} seeds solved"
        doubts = (f"Doubtful: {doubt}" for doubt in project.doubts(solution))
        yield Chapter("Solution", (solved, *doubts, solution.source), frames)


def _round(project: Project, shown: Round, parent: Round | None, words: ObjectWords) -> Chapter:
    records = read_record(project.folder / "rounds" / f"{shown.number:03d}")
    reason, change = words.in_words(shown.reason), words.in_words(shown.change)
    lines = [reason[:1].upper() + reason[1:]] if reason else []
    if change:
        lines.insert(0, f"Change: {change}")
    verdict = "passed" if shown.report.clean else "failed"
    title, diff = f"Round {shown.number}: {verdict}", tuple(_diff(parent, shown)) if parent else ()
    failure = "" if shown.report.clean else words.in_words(first_failure(shown.report))
    if not records:
        return Chapter(title, tuple(lines), diff=diff, caption=failure)
    record = records[0]
    frames = _try(lambda: play_rollout(record.xml, record.times, record.qpos, project.folder))
    failed = next((check for check in shown.report.checks if not check.passed), None)
    held = None
    if failed and frames:
        share = check_instant(failed, record) / max(float(record.times[-1]), 1e-6)
        held = min(round(share * (len(frames) - 1)), len(frames) - 1)
    return Chapter(title, tuple(lines), frames, held, failure, diff)


def _diff(before: Round, after: Round) -> Iterator[str]:
    for file, a, b in (
        ("simulation.py", before.program.simulation, after.program.simulation),
        ("checks.py", before.program.checks, after.program.checks),
    ):
        yield from difflib.unified_diff(a.splitlines(), b.splitlines(), file, file, lineterm="", n=2)


def _objects(project: Project, segments: tuple[Segment, ...], words: ObjectWords) -> Iterator[Chapter]:
    """Yield the crop of each object beside its asset as placed in the twin, seen by the photograph's camera."""
    frame, scene = project.frame, project.scene()
    rows, columns = frame.rgb.shape[:2]
    drawn = _try(lambda: (render_twin(project.folder / "scene", (columns, rows)).rgb,))
    by_id = {segment.id: segment for segment in segments}
    pairs, names = [], []
    for placement in scene.placements if scene else ():
        segment = by_id.get(placement.segment_id)
        if segment is None:
            continue
        box = bounding_box(segment.mask)
        pictures = [_cell(picture[box.top : box.bottom, box.left : box.right]) for picture in (frame.rgb, *drawn)]
        names.append(words.of(placement.name))
        asset = (placement.asset_id or "reconstructed").replace("_", " ")
        pairs.append(_labelled(np.concatenate(pictures, 1), f"{names[-1]}: {asset}"))
    if pairs:
        per_row = max(1, WIDTH_PX // pairs[0].shape[1])
        pairs += [np.full_like(pairs[0], 255)] * (-len(pairs) % per_row)
        grid = [np.concatenate(pairs[i : i + per_row], 1) for i in range(0, len(pairs), per_row)]
        yield Chapter("Objects and their assets", (", ".join(names),), (_even(np.concatenate(grid)),))


def _labelled(picture: np.ndarray, words: str) -> np.ndarray:
    """Return a picture (H, W, 3) with words in small letters on a white strip below it."""
    strip = Image.new("RGB", (picture.shape[1], LABEL_PX), (255, 255, 255))
    ImageDraw.Draw(strip).text((4, 4), words, (70, 70, 70), font(LABEL_PX - 10))
    return np.concatenate([picture, np.asarray(strip)])


def _cell(picture: np.ndarray) -> np.ndarray:
    """Return a picture (h, w, 3) on a white square of CELL_PX with a margin."""
    inner = CELL_PX - 8
    scale = inner / max(picture.shape[:2])
    height, width = (max(1, round(side * scale)) for side in picture.shape[:2])
    cell = np.full((CELL_PX, CELL_PX, 3), 255, np.uint8)
    top, left = (CELL_PX - height) // 2, (CELL_PX - width) // 2
    cell[top : top + height, left : left + width] = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return cell


def _fit(picture: np.ndarray) -> np.ndarray:
    """Return a picture scaled to the film's width."""
    size = (WIDTH_PX, film_height(picture.shape[1], picture.shape[0]))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA)


def _even(picture: np.ndarray) -> np.ndarray:
    return picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2]


def tinted_masks(rgb: np.ndarray, segments: tuple[Segment, ...]) -> np.ndarray:
    """Return the photograph with every mask tinted and outlined."""
    picture = rgb.astype(float)
    for number, segment in enumerate(segments):
        hue = np.array([[[number * 180 * 0.618 % 180, 190, 255]]], np.uint8)
        colour = cv2.cvtColor(hue, cv2.COLOR_HSV2RGB)[0, 0].astype(float)
        picture[segment.mask] = 0.5 * picture[segment.mask] + 0.5 * colour
        edge = segment.mask & ~cv2.erode(segment.mask.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
        picture[edge] = colour
    return picture.astype(np.uint8)


def _try(draw) -> tuple[np.ndarray, ...]:
    """Return the drawn frames; none where OpenGL is not available or the model cannot be loaded."""
    try:
        return tuple(draw())
    except (SceneError, SolvingError, ValueError, OSError):
        return ()

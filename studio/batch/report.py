"""The report of a batch as one HTML file that opens from disk: totals, distributions, and every frame."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipeline.errors import StudioError
from pipeline.export.film.chapters import tinted_masks
from pipeline.project import Project
from pipeline.report import Facts, Picture, Pictures, Plot, Section, Text, jpeg, report_page
from pipeline.scene import SceneError
from pipeline.scene.evidence import summarise
from pipeline.scene.fidelity import compare_scene
from pipeline.scene.rendering import render_twin
from pipeline.store import write_text
from studio.batch.batch_file import BatchItem, read_batch
from studio.batch.frames import BatchError

MAX_BYTES = 10_000_000
BAR_COLOUR = "#3b6fd4"
SIZES_PX = (320, 240, 160, 96, 64, 32)
"""Widths of the pictures; the largest at which all fit is used."""


@dataclass(frozen=True, eq=False)
class FrameReport:
    """What the report says about one frame."""

    item: BatchItem
    pictures: tuple[tuple[str, np.ndarray], ...] = ()
    """Title and picture (H, W, 3), uint8: photograph, masks, twin."""
    objects: int = 0
    overlap: tuple[float, ...] = ()
    """IoU of each object's outline in the twin with its mask, in [0, 1]."""
    task: str = ""
    solved: str = ""
    """"8 of 8 seeds"; empty if it was not tried."""
    decisions: tuple[str, ...] = ()
    """Kinds of a person's decisions, with their number: "rename: 2"."""
    evidence: str = ""
    """One line about how well the twin explains the photograph; empty if that was not measured."""
    doubts: tuple[str, ...] = ()
    """Why the twin may not show the photograph, or the program not mean the task."""
    problem: str = field(default="")
    """Why the project cannot be shown; empty if it can."""


def write_report(folder: Path, out: Path) -> None:
    """Write the report of a batch's folder. Raises BatchError if it is no batch or the report gets too large."""
    batch = read_batch(folder)
    if batch is None:
        raise BatchError(f"{folder} has no batch.json; grs-studio batch FRAMES --out {folder} makes one")
    frames = [frame_report(folder, item) for item in batch.items]
    page = batch_page(folder.name, frames)
    if len(page) > MAX_BYTES:
        raise BatchError(f"the report of {len(frames)} frames takes {len(page) / 1e6:.0f} MB; 10 MB is the most")
    write_text(out, page)


def frame_report(folder: Path, item: BatchItem) -> FrameReport:
    """Collect what the report says about one frame; a project that cannot be read has a problem instead."""
    try:
        return _read(Project.open(folder / item.project), item)
    except (StudioError, OSError, ValueError) as error:
        return FrameReport(item, problem=item.message or " ".join(str(error).split()))


def _read(project: Project, item: BatchItem) -> FrameReport:
    rgb, segments, scene = project.frame.rgb, project.segments() or (), project.scene()
    pictures = [("Photograph", rgb)]
    if segments:
        pictures.append(("Masks", tinted_masks(rgb, segments)))
    overlap: tuple[float, ...] = ()
    if scene is not None:
        overlap = tuple(one.mask_iou for one in compare_scene(project.frame, segments, scene))
        try:
            size = (640, 640 * rgb.shape[0] // rgb.shape[1])
            pictures.append(("Twin", render_twin(project.folder / "scene", size).rgb))
        except SceneError:
            pass  # no OpenGL here; the numbers are shown without the picture
    task, solution, evidence = project.task(), project.solution(), project.evidence()
    kinds = [decision.kind for decision in project.decisions]
    return FrameReport(
        item=item,
        pictures=tuple(pictures),
        objects=len(scene.placements) if scene else 0,
        overlap=overlap,
        task=task.instruction if task else "",
        solved=f"{sum(solution.success)} of {len(solution.success)} seeds" if solution else "",
        decisions=tuple(f"{kind}: {kinds.count(kind)}" for kind in sorted(set(kinds))),
        evidence=summarise(evidence) if evidence else "",
        doubts=project.doubts(solution),
        problem=item.message,
    )


def batch_page(name: str, frames: Sequence[FrameReport]) -> str:
    """Return the page: totals, distributions, and each frame."""
    charts, width = list(_charts(frames)), _width(frames)
    sections = [_section(frame, width) for frame in frames]
    return report_page(
        f"Batch {name}", [Text(_totals(frames), "result"), *([Plot(charts)] if charts else []), *sections]
    )


def _totals(frames: Sequence[FrameReport]) -> str:
    states = [frame.item.state for frame in frames]
    objects = sum(frame.objects for frame in frames)
    solved = sum(1 for frame in frames if frame.solved and not frame.solved.startswith("0 ") and not frame.doubts)
    doubtful = sum(1 for frame in frames if frame.doubts)
    seconds = sum(frame.item.seconds for frame in frames)
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("done", "failed", "todo") if state in states)
    totals = f"{len(frames)} frames: {counts}. {objects} objects. {solved} tasks with a solved seed"
    totals += f", {doubtful} doubtful." if doubtful else "."
    return f"{totals} {seconds / 60:.1f} minutes of computing."


def _charts(frames: Sequence[FrameReport]) -> Iterator[Any]:
    import plotly.graph_objects as go

    series = {
        "Seconds per frame": [frame.item.seconds for frame in frames if frame.item.seconds],
        "Objects per frame": [frame.objects for frame in frames if frame.objects],
        "Overlap of twin and mask (IoU)": [value for frame in frames for value in frame.overlap],
    }
    for title, values in series.items():
        if values:
            figure = go.Figure(go.Histogram(x=values, marker_color=BAR_COLOUR))
            yield figure.update_layout(title=title, height=260, margin={"l": 40, "r": 10, "t": 40, "b": 30})


def _width(frames: Sequence[FrameReport]) -> int:
    """Return the largest width at which all pictures together fit."""
    count = max(1, sum(len(frame.pictures) for frame in frames))
    # 3_500_000: picture for all pictures together; plotly itself takes about 5 MB
    return next((width for width in SIZES_PX if count * width * width * 0.12 < 3_500_000), SIZES_PX[-1])


def _section(frame: FrameReport, width: int) -> Section:
    item = frame.item
    state = f"{item.state}, doubtful" if frame.doubts else item.state
    pictures = [[Picture(jpeg(_narrow(picture, width), 75), title, title)] for title, picture in frame.pictures]
    fit = f"{np.mean(frame.overlap):.2f} mean IoU of {frame.objects} objects" if frame.overlap else ""
    rows = {
        "Frame": item.frame, "Last stage": item.stage, "Time": f"{item.seconds:g} s", "Fit": fit,
        "Evidence": frame.evidence, "Doubtful": ". ".join(frame.doubts), "Task": frame.task, "Result": frame.solved,
        "Manual edits": ", ".join(frame.decisions), "Failed": frame.problem,
    }  # fmt: skip
    return Section(item.project, [Pictures(pictures), Facts(rows)], state)


def _narrow(picture: np.ndarray, width: int) -> np.ndarray:
    height = max(1, round(picture.shape[0] * width / picture.shape[1]))
    return cv2.resize(np.ascontiguousarray(picture), (width, height), interpolation=cv2.INTER_AREA)

"""The report of a batch as one HTML file that opens from disk: totals, distributions, and every frame."""

import base64
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from pipeline.errors import StudioError
from pipeline.export.film.chapters import tinted_masks
from pipeline.project import Project
from pipeline.scene import SceneError
from pipeline.scene.doubts import summarise
from pipeline.scene.fidelity import compare_scene
from pipeline.scene.rendering import render_twin
from pipeline.store import write_text
from studio.batch.batch_file import BatchItem, read_batch
from studio.batch.frames import BatchError

MAX_BYTES = 10_000_000
PICTURE_BYTES = 3_500_000
"""For all pictures together; plotly itself takes about 5 MB."""
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
    """Why the twin may not show the photograph."""
    problem: str = field(default="")
    """Why the project cannot be shown; empty if it can."""


def write_report(folder: Path, out: Path) -> None:
    """Write the report of a batch's folder. Raises BatchError if it is no batch or the report gets too large."""
    batch = read_batch(folder)
    if batch is None:
        raise BatchError(f"{folder} has no batch.json; grs-studio batch FRAMES --out {folder} makes one")
    frames = [frame_report(folder, item) for item in batch.items]
    page = report_page(folder.name, frames)
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
        doubts=project.doubts(),
        problem=item.message,
    )


def report_page(name: str, frames: Sequence[FrameReport]) -> str:
    """Return the page. Plotly's script is in it, so that it opens without a network."""
    from plotly.offline import get_plotlyjs

    sections = "\n".join("".join(_section(frame, _width(frames))) for frame in frames)
    return PAGE.format(
        title=html.escape(f"Batch {name}"),
        style=STYLE,
        totals=_totals(frames),
        plotly=get_plotlyjs(),
        charts="\n".join(_charts(frames)),
        sections=sections,
    )


def _totals(frames: Sequence[FrameReport]) -> str:
    states = [frame.item.state for frame in frames]
    objects = sum(frame.objects for frame in frames)
    solved = sum(1 for frame in frames if frame.solved and not frame.solved.startswith("0 ") and not frame.doubts)
    doubtful = sum(1 for frame in frames if frame.doubts)
    seconds = sum(frame.item.seconds for frame in frames)
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("done", "failed", "todo") if state in states)
    totals = f"{len(frames)} frames: {counts}. {objects} objects. {solved} tasks with a solved seed"
    totals += f", {doubtful} twins doubtful." if doubtful else "."
    return html.escape(f"{totals} {seconds / 60:.1f} minutes of computing.")


def _charts(frames: Sequence[FrameReport]) -> Iterator[str]:
    import plotly.graph_objects as go

    series = {
        "Seconds per frame": [frame.item.seconds for frame in frames if frame.item.seconds],
        "Objects per frame": [frame.objects for frame in frames if frame.objects],
        "Overlap of twin and mask (IoU)": [value for frame in frames for value in frame.overlap],
    }
    for title, values in series.items():
        if values:
            figure = go.Figure(go.Histogram(x=values, marker_color=BAR_COLOUR))
            figure.update_layout(title=title, width=380, height=260, margin={"l": 40, "r": 10, "t": 40, "b": 30})
            yield figure.to_html(full_html=False, include_plotlyjs=False, config={"displayModeBar": False})


def _width(frames: Sequence[FrameReport]) -> int:
    """Return the largest width at which all pictures together fit."""
    count = max(1, sum(len(frame.pictures) for frame in frames))
    return next((width for width in SIZES_PX if count * width * width * 0.12 < PICTURE_BYTES), SIZES_PX[-1])


def _section(frame: FrameReport, width: int) -> Iterator[str]:
    item = frame.item
    state = f"{item.state}, doubtful" if frame.doubts else item.state
    yield f'<section class="{state.replace(",", "")}"><h2>{html.escape(item.project)} <span>{state}</span></h2>'
    yield '<div class="pictures">'
    for title, picture in frame.pictures:
        yield f'<figure><img alt="{title}" src="{_jpeg(picture, width)}"><figcaption>{title}</figcaption></figure>'
    yield "</div><dl>"
    fit = f"{np.mean(frame.overlap):.2f} mean IoU of {frame.objects} objects" if frame.overlap else ""
    rows = {
        "Frame": item.frame, "Last stage": item.stage, "Time": f"{item.seconds:g} s", "Fit": fit,
        "Evidence": frame.evidence, "Doubtful": ". ".join(frame.doubts), "Task": frame.task, "Result": frame.solved,
        "Manual edits": ", ".join(frame.decisions), "Failed": frame.problem,
    }  # fmt: skip
    yield from (f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in rows.items() if value)
    yield "</dl></section>"


def _jpeg(picture: np.ndarray, width: int) -> str:
    height = max(1, round(picture.shape[0] * width / picture.shape[1]))
    small = cv2.resize(np.ascontiguousarray(picture), (width, height), interpolation=cv2.INTER_AREA)
    data = cv2.imencode(".jpg", small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 75])[1]
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}"


STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 24px auto; max-width: 1180px; color: #1c2733 }
section { border: 1px solid #d9dfe6; border-radius: 8px; padding: 10px 16px; margin: 14px 0 }
h2 { font-size: 17px; margin: 4px 0 } h2 span { font-size: 13px; color: #2c7a4b; margin-left: 8px }
.failed h2 span { color: #b3372f } .todo h2 span, .doubtful h2 span { color: #7a6a2c }
.pictures, .charts { display: flex; flex-wrap: wrap; gap: 12px } figure { margin: 6px 0 } img { border-radius: 5px }
figcaption { font-size: 12px; color: #5b6875 } dl { display: grid; grid-template-columns: 170px 1fr; margin: 6px 0 }
dt { color: #5b6875 } dd { margin: 0; overflow-wrap: anywhere }"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
<script>{plotly}</script>
</head>
<body>
<h1>{title}</h1>
<p>{totals}</p>
<div class="charts">{charts}</div>
{sections}
</body>
</html>
"""

"""A film of a project: one HTML file that opens from disk, or an MP4."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.export.film.chapters import Chapter, chapters
from pipeline.export.film.mp4 import export_mp4, motion
from pipeline.project import Project
from pipeline.report import Diff, Picture, Pictures, Section, Text, Video, jpeg, report_page
from pipeline.store import write_text

__all__ = ["export_html", "export_mp4"]

MAX_BYTES = 15_000_000


@describes(ExportFormat("Web page", "the story from photograph to solution, in one file", "the model", ".html"))
def export_html(project_dir: Path, out: Path) -> None:
    """Write the film of a project as one HTML file. Raises ExportError if it would be larger than MAX_BYTES."""
    project = Project.open(project_dir)
    page = _page(project.name.replace("_", " ").capitalize(), list(chapters(project)))
    if len(page) > MAX_BYTES:
        raise ExportError(f"The film of {project.name} takes {len(page) / 1e6:.0f} MB; 15 MB is the most. Export mp4.")
    write_text(out, page)


def _page(name: str, parts: list[Chapter]) -> str:
    return report_page(
        name, [Section(part.title, list(_blocks(part))) for part in parts], footer="Made with GRS Studio"
    )


def _blocks(chapter: Chapter) -> Iterator[Any]:
    if len(chapter.frames) > 1 and (video := motion(chapter)):
        poster = jpeg(chapter.frames[-1 if chapter.held is None else chapter.held])
        yield Video(f"data:video/mp4;base64,{base64.b64encode(video).decode()}", poster, chapter.title)
    elif chapter.frames:
        stills = sorted({0, chapter.held or 0, len(chapter.frames) - 1})
        yield Pictures([[Picture(jpeg(chapter.frames[number]), chapter.title)] for number in stills])
    if chapter.caption:
        yield Text(chapter.caption, "fault")
    yield from map(Text, chapter.lines)
    if chapter.diff:
        yield Diff(chapter.diff)

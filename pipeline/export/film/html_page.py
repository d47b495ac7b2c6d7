"""The film as one HTML file that opens from disk: pictures and videos are in it, and nothing is fetched or executed."""

import base64
import html
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.export.film.chapters import Chapter, chapters, project_of
from pipeline.export.film.mp4 import motion
from pipeline.store import write_text

MAX_BYTES = 15_000_000
JPEG_QUALITY = 85


@describes(ExportFormat("Web page", "the story from photograph to solution, in one file", "the model", ".html"))
def export_html(project_dir: Path, out: Path) -> None:
    """Write the film of a project as one HTML file. Raises ExportError if it would be larger than MAX_BYTES."""
    project = project_of(project_dir)
    page = _page(project.name.replace("_", " ").capitalize(), list(chapters(project)))
    if len(page) > MAX_BYTES:
        raise ExportError(f"The film of {project.name} takes {len(page) / 1e6:.0f} MB; 15 MB is the most. Export mp4.")
    write_text(out, page)


def _page(name: str, parts: list[Chapter]) -> str:
    sections = "\n".join("".join(_section(part)) for part in parts)
    return PAGE.format(title=html.escape(name), style=STYLE, sections=sections)


def _section(chapter: Chapter) -> Iterator[str]:
    yield f"<section><h2>{html.escape(chapter.title)}</h2>"
    yield from _pictures(chapter)
    if chapter.caption:
        yield f'<p class="fault">✕ {html.escape(chapter.caption)}</p>'
    yield from (f"<p>{html.escape(line)}</p>" for line in chapter.lines)
    if chapter.diff:
        rows = "".join(f'<span class="{_kind(line)}">{html.escape(line)}\n</span>' for line in chapter.diff)
        yield f"<details open><summary>Changes</summary><pre>{rows}</pre></details>"
    yield "</section>"


def _pictures(chapter: Chapter) -> Iterator[str]:
    title = html.escape(chapter.title, quote=True)
    if len(chapter.frames) > 1 and (video := motion(chapter)):
        address = f"data:video/mp4;base64,{base64.b64encode(video).decode()}"
        poster = _jpeg(chapter.frames[-1 if chapter.held is None else chapter.held])
        yield (
            f'<video controls muted loop playsinline preload="metadata" aria-label="{title}" '
            f'poster="data:image/jpeg;base64,{poster}" src="{address}"></video>'
        )
        return
    stills = {0, chapter.held or 0, len(chapter.frames) - 1} if len(chapter.frames) > 1 else {0}
    for number in sorted(stills):
        if number < len(chapter.frames):
            yield f'<img alt="{title}" src="data:image/jpeg;base64,{_jpeg(chapter.frames[number])}">'


def _jpeg(picture: np.ndarray) -> str:
    import cv2

    data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
    return base64.b64encode(data.tobytes()).decode()


def _kind(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{sections}
<footer>Made with GRS Studio</footer>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 760px; margin: 32px auto; padding: 0 20px; }
section { margin: 0 0 36px; }
h2 { margin: 0 0 10px; font-size: 18px; }
img, video { display: block; max-width: 100%; width: 640px; border-radius: 8px; margin-bottom: 8px; }
p { margin: 4px 0; }
.fault { color: #c0392b; font-weight: 600; }
pre { overflow: auto; padding: 10px 12px; border: 1px solid #8884; border-radius: 8px; font-size: 13px; }
.added { color: #1e8e4e; } .removed { color: #c0392b; } .place { color: #777; }
footer { color: #888; }
"""

"""The film as an MP4: the chapters one after the other, with captions; and one chapter's motion as a short MP4."""

import tempfile
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.export.film.chapters import Chapter, chapters
from pipeline.motion_pictures import FPS, WIDTH_PX, font, write_pictures
from pipeline.project import Project
from pipeline.store import temporary_beside

STILL_SECONDS, HOLD_SECONDS, DIFF_SECONDS = 2.5, 1.5, 3.0
MAX_DIFF_LINES = 18
BAND_PX = 58
"""Height of the band with a chapter's title below its pictures."""
TITLE, TEXT, FAULT = (240, 242, 246), (178, 184, 194), (255, 170, 150)
DIFF_COLOURS = {"+": (135, 220, 155), "-": (255, 160, 145)}


@describes(ExportFormat("Film", "the story from photograph to solution, as a video", "the model", ".mp4"))
def export_mp4(project_dir: Path, out: Path) -> None:
    """Write the film of a project as an MP4. Raises ExportError without an encoder."""
    project = Project.open(project_dir)
    with temporary_beside(out, ".mp4") as partial:
        try:
            write_pictures(partial, (picture for chapter in chapters(project) for picture in _pictures(chapter)))
        except (ImportError, RuntimeError) as error:
            raise ExportError(f"There is no ffmpeg to encode a film with ({error}); export html instead") from error
        partial.replace(out)


def motion(chapter: Chapter) -> bytes | None:
    """Return a chapter's frames as an MP4, held where its check fails; None without an encoder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.mp4"
        try:
            write_pictures(path, _held(chapter, chapter.frames))
        except (ImportError, OSError, RuntimeError):
            return None
        return path.read_bytes()


def _held(chapter: Chapter, frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield frames; that of the failing moment again, with the caption, for HOLD_SECONDS."""
    for number, frame in enumerate(frames):
        yield frame
        if number == chapter.held:
            yield from [_captioned(frame, chapter.caption)] * round(HOLD_SECONDS * FPS)


def _pictures(chapter: Chapter) -> Iterator[np.ndarray]:
    """Yield a chapter's pictures on the film's canvas, its diff first."""
    if chapter.diff:
        yield from [_diff_card(chapter)] * round(DIFF_SECONDS * FPS)
    if len(chapter.frames) == 1:
        yield from [_canvas(chapter, chapter.frames[0])] * round(STILL_SECONDS * FPS)
    else:
        for frame in _held(chapter, chapter.frames):
            yield _canvas(chapter, frame)


def _canvas(chapter: Chapter, frame: np.ndarray) -> np.ndarray:
    """Return a frame, fitted into the film's area, above a band with the chapter's title and first sentence."""
    canvas = Image.new("RGB", (WIDTH_PX, _height() + BAND_PX), (24, 26, 30))
    picture = Image.fromarray(frame)
    picture.thumbnail((WIDTH_PX, _height()))
    canvas.paste(picture, ((WIDTH_PX - picture.width) // 2, (_height() - picture.height) // 2))
    draw = ImageDraw.Draw(canvas)
    draw.text((10, _height() + 6), chapter.title, TITLE, font(17))
    draw.text((10, _height() + 31), textwrap.shorten(" · ".join(chapter.lines), 60), TEXT, font(13))
    return np.asarray(canvas)


def _diff_card(chapter: Chapter) -> np.ndarray:
    canvas = Image.new("RGB", (WIDTH_PX, _height() + BAND_PX), (24, 26, 30))
    draw = ImageDraw.Draw(canvas)
    draw.text((10, 8), f"{chapter.title.split(':')[0]}: changes", TITLE, font(17))
    lines = [line for line in chapter.diff if not line.startswith(("---", "+++"))]
    for number, line in enumerate(lines[:MAX_DIFF_LINES]):
        draw.text((10, 40 + 19 * number), line[:62], DIFF_COLOURS.get(line[:1], TEXT), font(12))
    return np.asarray(canvas)


def _captioned(frame: np.ndarray, caption: str) -> np.ndarray:
    """Return a frame with the failed check's words on it."""
    picture = Image.fromarray(frame)
    lines = textwrap.wrap(f"Failed: {caption}", 54)[:3]
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, picture.width, 10 + 19 * len(lines)), fill=(60, 22, 16))
    for number, line in enumerate(lines):
        draw.text((10, 5 + 19 * number), line, FAULT, font(14))
    return np.asarray(picture)


def _height() -> int:
    return WIDTH_PX * 3 // 4

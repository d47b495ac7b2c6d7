"""Folders that exporters write: complete or not at all, as a folder or as a zip of it."""

import json
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.export.export_format import ExportError, general_loss
from pipeline.export.project_zip import zip_entry
from pipeline.project import Project
from pipeline.store import atomic_write, temporary_beside

MARKER = "export.json"
"""Names the format and what was left out; a folder that holds it may be replaced by a new export."""


@contextmanager
def export_folder(project_dir: Path, out: Path, file_format: str) -> Iterator[Path]:
    """Yield an empty folder, and put it at `out` when the block ends without an error; a name in .zip gets a zip.

    Raises ExportError if `out` is a file, or a folder that is neither empty nor an earlier export.
    """
    _require_replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(out) as staged:
        staged.mkdir()
        try:
            yield staged
            if not (staged / MARKER).is_file():
                write_marker(staged, project_dir, file_format, ())
            _put(staged, out)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def write_marker(
    folder: Path, project_dir: Path, file_format: str, left_out: Sequence[str], needs: str = "",
    splats: Sequence[str] = (),
) -> None:  # fmt: skip
    """Write export.json: the format, one sentence for everything that it could not hold, and what it needs to load.

    "doubtful" holds why the twin may not show its photograph or the program not mean the task, "splats" the paths of
    Gaussian splats in the folder.
    """
    general = general_loss(file_format, plugins.load("exporters", file_format))
    content = {"format": file_format, "left_out": [*general, *left_out]} | ({"needs": needs} if needs else {})
    project = Project.open(project_dir)
    with suppress(StudioError):  # a solution that cannot be read is none
        content["doubtful"] = list(project.doubts(project.solution()))
    content.setdefault("doubtful", list(project.doubts()))
    if splats:
        content["splats"] = list(splats)
    (folder / MARKER).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _require_replaceable(out: Path) -> None:
    if out.suffix == ".zip":
        if out.is_dir():
            raise ExportError(f"{out} is a folder; give the zip another name")
    elif out.is_file():
        raise ExportError(f"{out} is a file; this format writes a folder, or a zip if the name ends in .zip")
    elif out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise ExportError(f"{out} holds other files; choose a new folder")


def _put(staged: Path, out: Path) -> None:
    if out.suffix == ".zip":
        with atomic_write(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path for path in staged.rglob("*") if path.is_file()):
                name = f"{out.stem}/{file.relative_to(staged).as_posix()}"
                archive.writestr(zip_entry(name), file.read_bytes())
        return
    if out.is_dir():
        with temporary_beside(out) as old:  # the earlier export, removed when the new one is in its place
            out.rename(old)
            staged.rename(out)
            shutil.rmtree(old)
        return
    staged.rename(out)

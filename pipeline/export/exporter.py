"""Exporters by name: the built-in ones and those of installed packages."""

from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.export.project_zip import ExportError


def export_project(project_dir: Path, name: str, out: Path) -> None:
    """Write a project to `out` in the format of this name.

    Raises ExportError if the folder is no project or the exporter fails, PluginError if there is no such exporter.
    """
    if not (project_dir / "project.json").is_file():
        raise ExportError(f"{project_dir} is no project folder; grs-studio run FRAME --out {project_dir} makes one")
    exporter = plugins.load("exporters", name)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        exporter(project_dir, out)
    except (StudioError, OSError):
        raise
    except Exception as error:
        raise ExportError(f"The exporter '{name}' failed: {type(error).__name__}: {error}") from error

"""Exporters by name: the built-in ones and those of installed packages."""

from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.export.export_format import ExportError, ExportFormat, format_of, general_loss
from pipeline.store import refuse_links, remove_dead_files


def export_formats() -> dict[str, ExportFormat]:
    """Return the description of every format by name, the zip first."""
    exporters = plugins.available("exporters")
    names = sorted(exporters, key=lambda name: (name != "zip", name))
    return {name: format_of(exporters[name], name) for name in names}


def name_ending(name: str) -> str:
    """Return what follows a project's name in the name of its export: ".glb", "_urdf.zip", ".zip"."""
    about = export_formats().get(name)
    if about is None or not about.extension:
        return f".{name}"
    return f"_{name}.zip" if about.extension == ".zip" and name != "zip" else about.extension


def export_project(project_dir: Path, name: str, out: Path) -> tuple[str, ...]:
    """Write a project to `out` in the format of this name; return one sentence for everything that was left out.

    Raises ExportError if the folder is no project or the exporter fails, PluginError if there is no such exporter.
    """
    if not (project_dir / "project.json").is_file():
        raise ExportError(f"{project_dir} is no project folder; grs-studio run FRAME --out {project_dir} makes one")
    refuse_links(project_dir)
    exporter = plugins.load("exporters", name)
    about = format_of(exporter, name)
    if about.missing:
        raise ExportError(f"The format '{name}' {about.missing}")
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_dead_files(out.parent, out.name)
    try:
        left_out = exporter(project_dir, out)
    except (StudioError, OSError):
        raise
    except Exception as error:
        raise ExportError(f"The exporter '{name}' failed: {type(error).__name__}: {error}") from error
    return general_loss(name, exporter) + (left_out if isinstance(left_out, tuple) else ())

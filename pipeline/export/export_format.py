"""The formats by name, built in and of installed packages: title, what a file holds and cannot hold; and the export."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.store import refuse_links, remove_dead_files

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ExportError(StudioError):
    """A project cannot be exported."""


@dataclass(frozen=True)
class ExportFormat:
    """How a format is presented to people."""

    title: str
    """Its name in the menu."""
    holds: str
    """What the export contains, one line."""
    lacks: str = ""
    """What the format cannot contain, one line; empty if nothing is lost."""
    extension: str = ""
    """Of the exported file, with its dot; ".zip" for a folder; empty if unknown."""
    extra: str = ""
    """Optional extra of this package that it needs."""
    module: str = ""
    """Module that the extra installs."""

    needs_solution: bool = False
    """Whether the task has to be solved first."""

    @property
    def missing(self) -> str:
        """What has to be installed first; empty if the exporter can run."""
        if not self.extra or find_spec(self.module) is not None:
            return ""
        return f'needs the extra "{self.extra}": pip install "grs-studio[{self.extra}]"'


def describes(about: ExportFormat) -> Callable[[_Function], _Function]:
    """Attach the description to an exporter; the decorated function raises ExportError where its extra is missing."""

    def attach(function: _Function) -> _Function:
        function.export_format = about  # type: ignore[attr-defined]
        return function

    return attach


def format_of(exporter: Callable[..., Any], name: str) -> ExportFormat:
    """Return an exporter's description; for one of a plug-in without it, its name and its docstring's first line."""
    described = getattr(exporter, "export_format", None)
    if isinstance(described, ExportFormat):
        return described
    summary = (exporter.__doc__ or "").strip().splitlines()[:1]
    return ExportFormat(name, summary[0] if summary else "")


def general_loss(name: str, exporter: Callable[..., Any]) -> tuple[str, ...]:
    """Return a sentence about what a format can never hold; none if it holds everything."""
    about = format_of(exporter, name)
    return (f"{about.title} cannot hold {about.lacks}",) if about.lacks else ()


def require_scene(project_dir: Path) -> None:
    """Raise ExportError if the project has no twin yet."""
    if not (project_dir / "scene" / "scene.xml").is_file() or not (project_dir / "scene.json").is_file():
        raise ExportError(f"{project_dir.name} has no scene yet, so there is nothing to export; build the scene first")


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

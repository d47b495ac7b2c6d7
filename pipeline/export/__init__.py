"""Exporters: a project, or one object of it, in formats that work without this program."""

from pipeline.export.exporter import export_formats, export_project
from pipeline.export.project_zip import ExportError, export_zip

__all__ = ["ExportError", "export_formats", "export_project", "export_zip"]

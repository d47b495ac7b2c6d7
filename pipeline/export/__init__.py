"""Exporters: a project, or one object of it, in formats that work without this program."""

from pipeline.export.export_format import ExportError, export_formats, export_project, name_ending
from pipeline.export.project_zip import export_zip

__all__ = ["ExportError", "export_formats", "export_project", "export_zip", "name_ending"]

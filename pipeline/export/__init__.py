"""What a project gives away: a folder that runs without this program."""

from pipeline.export.bundle import ExportError, export_zip

__all__ = ["ExportError", "export_zip"]

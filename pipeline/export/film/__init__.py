"""A film of a project: one HTML file that opens from disk, or an MP4."""

from pipeline.export.film.html_page import export_html
from pipeline.export.film.mp4 import export_mp4

__all__ = ["export_html", "export_mp4"]

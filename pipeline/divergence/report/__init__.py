"""The report of a comparison: report.html, its curves, and the pictures of its events."""

from pipeline.divergence.report.comparison_report import report_html
from pipeline.divergence.report.curves import envelope, error_curves, error_histograms, joint_curves

__all__ = [
    "envelope",
    "error_curves",
    "error_histograms",
    "joint_curves",
    "report_html",
]

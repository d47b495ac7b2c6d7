"""The report of a comparison: report.html, its curves, and the pictures of its events."""

from pipeline.divergence.report.comparison_report import (
    drawn_result,
    envelope,
    error_curves,
    error_histograms,
    joint_curves,
    report_html,
)

__all__ = [
    "drawn_result",
    "envelope",
    "error_curves",
    "error_histograms",
    "joint_curves",
    "report_html",
]

"""A comparison for the page: computed in a confined process that can be stopped, with what is needed to draw it."""

from pipeline.divergence.confined.isolated_comparison import ComparisonProgress, ComparisonSources, compare_isolated

__all__ = ["ComparisonProgress", "ComparisonSources", "compare_isolated"]

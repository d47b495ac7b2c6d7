"""A comparison for the page: computed in a confined child that can be stopped, with what is needed to draw it."""

from pipeline.divergence.confined.confined_comparison import ComparisonProgress, ComparisonSources, compare_confined

__all__ = ["ComparisonProgress", "ComparisonSources", "compare_confined"]

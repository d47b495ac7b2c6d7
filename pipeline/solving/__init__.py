"""A program tried on every seed, by the floating gripper or the arm: is its task solved, and what that looks like."""

from pipeline.solving.files import keep_model, read_solution, write_solution
from pipeline.solving.solution import SOURCES, Attempt, Robot, Rollout, Solution, SolvingError, solve, summary

__all__ = [
    "SOURCES",
    "Attempt",
    "Robot",
    "Rollout",
    "Solution",
    "SolvingError",
    "keep_model",
    "read_solution",
    "solve",
    "summary",
    "write_solution",
]

"""Solve check: run a program on every seed with the floating gripper or the arm, and keep one rollout to show."""

from pipeline.solving.solution import SOURCES, Attempt, Rollout, Solution, SolvingError, solve, summarize
from pipeline.solving.solution_files import read_solution, save_model, write_solution

__all__ = [
    "SOURCES",
    "Attempt",
    "Rollout",
    "Solution",
    "SolvingError",
    "read_solution",
    "save_model",
    "solve",
    "summarize",
    "write_solution",
]

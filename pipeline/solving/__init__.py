"""Solve check: run a program on every seed with the floating gripper or the arm, and keep one rollout to show."""

from pipeline.solving.film import write_film
from pipeline.solving.solution import Attempt, Solution, SolvingError, solve, summarize
from pipeline.solving.solution_files import keep_solution, read_solution, save_model, take_up_solution, write_solution

__all__ = [
    "Attempt",
    "Solution",
    "SolvingError",
    "keep_solution",
    "read_solution",
    "save_model",
    "solve",
    "summarize",
    "take_up_solution",
    "write_film",
    "write_solution",
]

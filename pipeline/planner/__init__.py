"""The offline planner: proposes tasks, reads instructions, writes and repairs programs by rule."""

from pipeline.planner.planner_model import PlannerModel

__all__ = ["PlannerModel"]

"""Simulation: the kit for programs, goals, the oracle, robots and the sandbox."""

from pipeline.simulation.program import CheckResult, Program, Report

__all__ = ["CheckResult", "Program", "Report"]

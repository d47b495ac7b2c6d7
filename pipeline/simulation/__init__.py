from pipeline.simulation.program import CheckResult, Program, Report

__all__ = ["CheckResult", "Program", "Report"]

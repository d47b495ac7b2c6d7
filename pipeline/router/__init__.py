"""Run, decide which side is at fault, repair it, until simulation and checks agree (GRS, section 3)."""

from pipeline.router.judging import SEEDS, Runner, check_program, judge
from pipeline.router.round import Round, first_failure, merit, read_rounds, report_json, write_round
from pipeline.router.route import Mode, ProgramAnswer, RouteAnswer, RouterError, SourceAnswer, route, write

__all__ = [
    "SEEDS",
    "Mode",
    "ProgramAnswer",
    "Round",
    "RouteAnswer",
    "RouterError",
    "Runner",
    "SourceAnswer",
    "check_program",
    "first_failure",
    "judge",
    "merit",
    "read_rounds",
    "report_json",
    "route",
    "write",
    "write_round",
]

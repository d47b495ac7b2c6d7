"""Router: run a program, decide whether simulation or checks are at fault, and repair that side (GRS, section 3)."""

from pipeline.router.judging import SEEDS, ProgramRunner, check_program, judge
from pipeline.router.round import (
    Round,
    changes_told,
    first_failure,
    next_round_number,
    read_rounds,
    report_json,
    score,
    write_round,
)
from pipeline.router.round_record import read_record, write_record
from pipeline.router.route import (
    Mode,
    ProgramAnswer,
    RouteAnswer,
    RouteContext,
    RouteOptions,
    RouterError,
    RouteStart,
    RunningRound,
    SourceAnswer,
    route,
    write_program,
)

__all__ = [
    "SEEDS",
    "Mode",
    "ProgramAnswer",
    "ProgramRunner",
    "Round",
    "RouteAnswer",
    "RouteContext",
    "RouteOptions",
    "RouteStart",
    "RouterError",
    "RunningRound",
    "SourceAnswer",
    "changes_told",
    "check_program",
    "first_failure",
    "judge",
    "next_round_number",
    "read_record",
    "read_rounds",
    "report_json",
    "route",
    "score",
    "write_program",
    "write_record",
    "write_round",
]

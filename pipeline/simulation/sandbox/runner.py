"""Interface of the sandbox for the router and the solver."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

from pipeline.simulation.program import CheckResult, Program, Report
from pipeline.simulation.recipe import Recipe
from pipeline.simulation.run_record import Observed, RunRecord
from pipeline.simulation.sandbox.protocol import Limits


class RunOptions(TypedDict, total=False):
    """How a program is run."""

    cancel: Any
    """Event that cancels the run when set."""
    mutations: Sequence[str]
    """Names of mutations.MUTATIONS, or mutations.DISPLACED. If everything passes, the checks also run on each
    mutated task; if none fails, that is a failed check "meaning ..."."""
    photographed: Sequence[str]
    """Names of the photographed objects. If everything passes, the layouts are compared with the photograph: the
    report's evidence "photograph" (photographed.py)."""
    reference: str
    """Checks of the task's own goals, written by our rules. What they measure in solved layouts is the report's
    evidence "measured": each check's message, empty where it passes."""
    robot: str
    """Name of one of robots.ROBOTS."""
    dry_run: bool
    """Whether an arm only plans its moves, and objects are put where it would set them down."""
    record_goals: bool
    """Whether the records contain the goals over time."""
    on_rollout: Callable[[RunRecord], None] | None
    """Called with each layout's record as soon as it has been rolled out, from another thread."""


class ProgramRunner(Protocol):
    """Runs programs: the Sandbox, or a substitute in tests."""

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = ...,
        limits: Limits = ...,
        **options: Unpack[RunOptions],
    ) -> tuple[Report, Any]:
        """Return the report, and the record of the first seed's rollout or None. Raises SandboxError."""
        ...

    def arrange(self, program: Program, project_dir: Path, seeds: Sequence[int]) -> tuple[Sequence[Recipe], str]:
        """Return the recipes in the order of the seeds, and why a later one was not built; empty if all were."""
        ...

    def check_observed(
        self, program: Program, project_dir: Path, observed: Mapping[int, Observed]
    ) -> dict[int, tuple[CheckResult, ...]]:
        """Return the results of the checks on each layout by its seed."""
        ...

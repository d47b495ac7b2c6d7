"""Interface of the sandbox for the router and the solver."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pipeline.simulation.program import Program, Report
from pipeline.simulation.sandbox.protocol import Limits


class ProgramRunner(Protocol):
    """Runs programs: the Sandbox, or a substitute in tests."""

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = ...,
        limits: Limits = ...,
        *,
        cancel: Any = ...,
        mutations: Sequence[str] = ...,
        robot: str = ...,
    ) -> tuple[Report, Any]:
        """Return the report, and the record of the first seed's rollout or None. Raises SandboxError."""
        ...

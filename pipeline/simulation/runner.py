"""What runs programs, as the router and the solver know it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pipeline.simulation.program import Program, Report
from pipeline.simulation.testimony import Limits


class Runner(Protocol):
    """simulation.sandbox.Sandbox, or what stands for it in a test."""

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = ...,
        checks: bool = ...,
        limits: Limits = ...,
        *,
        cancel: Any = ...,
        alterations: Sequence[str] = ...,
        robot: str = ...,
    ) -> tuple[Report, Any]:
        """The report, and the record of the first seed's rollout or None. Raises SandboxError."""
        ...

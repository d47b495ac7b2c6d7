"""Generated code and what came of running it."""

from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import StudioError


@dataclass(frozen=True)
class Program:
    """A simulation and its checks, two Python sources that see nothing but the kit."""

    simulation: str
    """Defines `build(scene, seed) -> kit.Simulation`."""
    checks: str
    """Defines functions `check_*(sim)` with plain asserts."""


@dataclass(frozen=True)
class CheckResult:
    name: str
    passed: bool
    message: str = ""
    """Why it failed: the assertion's text, or the guard's finding."""
    seconds: float = 0.0
    """Wall clock."""
    instant: float | None = None
    """Simulated time in seconds of the moment that matters, where the check tells it."""
    line: int | None = None
    """Line of checks.py where it failed."""


@dataclass(frozen=True)
class Report:
    """What one program did in the sandbox. Broken machinery is never in here: that raises SandboxError."""

    checks: tuple[CheckResult, ...] = ()
    reward: tuple[float, ...] = ()
    """The oracle's final reward in [0, 1], one per seed."""
    crash: str | None = None
    """The exception's text with side and line ("simulation.py:12 NameError: ..."), else None."""
    timed_out: bool = False
    violation: str | None = None
    """What the sandbox or the guard refused, else None."""
    evidence: dict = field(default_factory=dict)
    """What a good engineer would want to see: per goal its value at the end and nearest miss in metres, what the
    oracle tried and why it failed, objects that moved before anything touched them. JSON values only."""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Every check passed and nothing crashed, timed out or was refused."""
        return (
            bool(self.checks)
            and all(c.passed for c in self.checks)
            and not (self.crash or self.timed_out or self.violation)
        )


class ProgramError(StudioError):
    """A program folder that cannot be read."""


def read_program(folder: Path) -> Program:
    """simulation.py and checks.py of a folder. Raises ProgramError where one is missing or is no text."""
    sources = []
    for name in ("simulation.py", "checks.py"):
        try:
            sources.append((folder / name).read_text(encoding="utf-8"))
        except OSError:
            raise ProgramError(
                f"{folder} has no {name}; a program is a folder with simulation.py and checks.py"
            ) from None
        except UnicodeDecodeError:
            raise ProgramError(f"{folder / name} is not UTF-8 text") from None
    return Program(*sources)

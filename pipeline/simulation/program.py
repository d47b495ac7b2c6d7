"""Generated programs and the reports of their runs."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.simulation.run_record import RunRecord

RULES = "rules"
"""Source of what the offline planner wrote."""


@dataclass(frozen=True)
class Program:
    """A simulation and its checks: two Python sources that may use only the kit, numpy and math."""

    simulation: str
    """Defines `build(scene, seed) -> kit.Simulation`."""
    checks: str
    """Defines functions `check_*(sim)` with plain asserts."""
    source: str = field(default="", compare=False)
    """Who wrote both: RULES or a model's name; empty for a person or a file."""


@dataclass(frozen=True)
class CheckResult:
    """Outcome of one check."""

    name: str
    passed: bool
    message: str = ""
    """Why it failed: the assertion's text, or the guard's finding."""
    seconds: float = 0.0
    """Wall clock."""
    instant: float | None = None
    """Simulated time in seconds that the failure is about, where the check returns it."""
    line: int | None = None
    """Line of checks.py where it failed."""


@dataclass(frozen=True)
class Report:
    """Outcome of one program in the sandbox. Faults of the sandbox itself are not in here: they raise SandboxError."""

    checks: tuple[CheckResult, ...] = ()
    reward: tuple[float, ...] = ()
    """The oracle's final reward in [0, 1], one per seed."""
    crash: str | None = None
    """The exception's text with side and line ("simulation.py:12 NameError: ..."), else None."""
    timed_out: bool = False
    violation: str | None = None
    """The action that the sandbox or the guard refused, else None."""
    evidence: dict = field(default_factory=dict)
    """Diagnostics as JSON values: per goal its value at the end and nearest miss in metres, what the oracle tried and
    why it failed, objects that moved before anything touched them."""
    seconds: float = 0.0
    protection: dict[str, bool] = field(default_factory=dict)
    """Which protections the program ran under: "files", "calls", "memory", "namespaces"; empty if it did not run."""
    records: tuple[RunRecord, ...] = field(default=(), compare=False, repr=False)
    """The rollouts of the layouts; not part of report.json."""

    @property
    def clean(self) -> bool:
        """Whether every check passed and nothing crashed, timed out or was refused."""
        return (
            bool(self.checks)
            and all(c.passed for c in self.checks)
            and not (self.crash or self.timed_out or self.violation)
        )


class ProgramError(StudioError):
    """A program folder cannot be read."""


def read_program(folder: Path) -> Program:
    """Read simulation.py and checks.py of a folder. Raises ProgramError where one is missing or not UTF-8."""
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


def same_program(one: Program, other: Program) -> bool:
    """Return whether two programs are equal apart from comments and layout."""
    pairs = ((one.simulation, other.simulation), (one.checks, other.checks))
    return all(_syntax_tree(a) == _syntax_tree(b) for a, b in pairs)


def source_line(program: Program, place: str) -> str:
    """Return the line that a message names ("simulation.py:12 NameError ..."); empty where it names none."""
    found = re.search(r"(simulation|checks)\.py:(\d+)", place)
    lines = getattr(program, found[1]).splitlines() if found else []
    number = int(found[2]) if found else 0
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _syntax_tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text

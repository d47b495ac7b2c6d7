"""Checks of the task's own goals, written by our rules from its words: what a run is measured by independently."""

from dataclasses import dataclass
from typing import Any

from pipeline.simulation.mutations import displaced_runs
from pipeline.simulation.rollout import Run
from pipeline.simulation.sandbox.restricted_exec import RestrictedInterpreter

FILE = "task.py"


@dataclass(frozen=True)
class TaskChecks:
    """Functions check_*(sim), run before any code of the program's checks."""

    interpreter: RestrictedInterpreter
    source: str

    def measure(self, sim: Any) -> dict[str, str]:
        """Return each check's message by name, empty where it passes.

        Those that cannot be run are left out: a program may name its zones and containers as it likes.
        """
        found: dict[str, str] = {}
        names = self.interpreter.execute(FILE, self.source) if self.source else {}
        for name, check in names.items():
            if name.startswith("check_") and callable(check):
                try:
                    check(sim)
                    found[name] = ""
                except AssertionError as error:
                    found[name] = str(error)[:500] or "does not hold"
                except Exception:
                    continue
        return found

    def wrong_runs(self, sim: Any) -> list[tuple[str, Run]]:
        """Return the displaced runs that the task's checks refuse; all of them where there are no such checks."""
        original, refused = sim.rollout(), []
        for outcome, run in displaced_runs(sim):
            sim._run = run  # sim.rollout() returns what has been rolled out already
            measured = self.measure(sim)
            if not measured or any(measured.values()):
                refused.append((outcome, run))
        sim._run = original
        return refused

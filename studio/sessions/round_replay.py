"""Replay of a round from its record. The program of a round without one is run again, which gives the same rollout."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.router import read_record
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.server.errors import RequestError
from studio.sessions.cache import Cache
from studio.sessions.event_log import EventLog


@dataclass(frozen=True)
class ReplayRequest:
    """Which round a person wants to see, and how."""

    number: int
    instant: float | None
    """Simulated seconds to pause at; None plays the round from its start."""
    serial: int
    """Counts the requests of a session."""
    arranging: bool = False
    """Whether the round's end is shown to be rearranged, not played."""


class RoundReplay:
    """The round that is replayed, if any. May be used from any thread."""

    def __init__(self, project: Project, sandbox: Callable[[], Sandbox], cache: Cache, log: EventLog):
        """`sandbox` returns the sandbox in use, in which rounds are run."""
        self.request: ReplayRequest | None = None
        """None while no round is shown."""
        self._project, self._sandbox, self._cache, self._log = project, sandbox, cache, log

    def show(self, number: int, instant: float | None = None) -> None:
        """Show the rollout of a round. Raises RequestError if there is no such round."""
        if all(one.number != number for one in self._project.rounds()):
            raise RequestError("That round no longer exists; choose another.")
        self.request = ReplayRequest(number, instant, self.request.serial + 1 if self.request else 1)

    def arrange(self, number: int) -> None:
        """Show the end of a round for a person to rearrange. Raises RequestError if there is no such round."""
        self.show(number)
        if self.request:
            self.request = replace(self.request, arranging=True)

    def hide(self) -> None:
        self.request = None

    def rollout(self) -> RunRecord | None:
        """Return the rollout of the round shown; None until it has been run, and if it failed."""
        if self.request is None:
            return None
        number = self.request.number
        return self._cache.get_later(_cache_name(number), "scene.json", lambda: self._run(number), elsewhere=True)

    @property
    def running(self) -> bool:
        """Whether the round shown is being run again."""
        return self.request is not None and self._cache.is_computing(_cache_name(self.request.number))

    def _run(self, number: int) -> RunRecord | None:
        if records := read_record(self._project.folder / "rounds" / f"{number:03d}"):
            return records[0]
        shown = next(one for one in self._project.rounds() if one.number == number)
        try:
            program = self._project.program_in_current_names(shown.program)
            report, record = self._sandbox().run(replace(program, checks=""), self._project.folder)
            if record is None or not len(record.times):
                reason = report.crash or report.violation or "it took too long"
                raise RequestError(f"Round {number} has no rollout to replay: {reason}")
        except StudioError as error:
            self._log.report_once(error)
            self.hide()
            return None
        return record


def _cache_name(number: int) -> str:
    return f"rollout {number}"

"""Playback of rounds from their records: each one as it is judged, or the one that a person chose.

The program of a round without a record, of an older project, is run again, which gives the same rollout.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.router import RunningRound, read_record
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.sessions.cache import Cache
from studio.sessions.event_log import EventLog
from studio.web.errors import RequestError

PHOTOGRAPHED_LAYOUT = 0
"""Seed of the layout that the checks judge, and that is played."""


@dataclass(frozen=True)
class RoundLayout:
    """A layout of a round, as it was judged in it."""

    number: int
    """Of the round."""
    seed: int = PHOTOGRAPHED_LAYOUT

    @property
    def is_photographed(self) -> bool:
        return self.seed == PHOTOGRAPHED_LAYOUT


@dataclass(frozen=True)
class ReplayRequest:
    """Which round is shown, and how."""

    number: int
    instant: float | None
    """Simulated seconds to pause at; None plays the round from its start."""
    serial: int
    """Counts the requests of a session."""
    arranging: bool = False
    """Whether the round's end is shown to be rearranged, not played."""
    automatic: bool = False
    """Whether the round is shown because it is being judged, not because a person chose it."""


class RoundReplay:
    """The round that is replayed, if any. May be used from any thread."""

    def __init__(self, project: Project, sandbox: Callable[[], Sandbox], cache: Cache, log: EventLog):
        """`sandbox` returns the sandbox in use, in which rounds without a record are run."""
        self.request: ReplayRequest | None = None
        """None while no round is shown."""
        self.running: RunningRound | None = None
        """The newest round that was rolled out while it was judged, in the photographed layout."""
        self.plays = True
        """Whether rounds move when they are shown while judged; if not, they stand at the instant that matters."""
        self.follows = False
        """Whether rounds are shown as they are judged, until a person chooses another round or closes the replay."""
        self._serial = 0
        self._project, self._sandbox, self._cache, self._log = project, sandbox, cache, log

    def follow(self) -> None:
        """Show each round from now on as it is judged; until then, the one that is shown stays."""
        self.follows = True

    def follow_anew(self) -> None:
        """Show each round from now on as it is judged, in place of the earlier rounds, which are discarded."""
        self.follows, self.request, self.running = True, None, None

    def rolled_out(self, running: RunningRound) -> None:
        """Take a rollout of a round that is being judged; show it if rounds are followed."""
        if running.record.seed != PHOTOGRAPHED_LAYOUT:
            return
        self.running = running
        if self.follows:
            self.request = ReplayRequest(running.number, None, self._next_serial(), automatic=True)
        self._log.mark_changed()

    def show(self, number: int, instant: float | None = None) -> None:
        """Show the rollout of a round. Raises RequestError if there is no such round."""
        if all(one.number != number for one in self._project.rounds()):
            raise RequestError("That round no longer exists; choose another.")
        self.follows = False
        self.request = ReplayRequest(number, instant, self._next_serial())

    def arrange(self, number: int) -> None:
        """Show the end of a round for a person to rearrange. Raises RequestError if there is no such round."""
        self.show(number)
        if self.request:
            self.request = replace(self.request, arranging=True)

    def hide(self) -> None:
        self.request, self.follows = None, False

    def rollout(self, layout: RoundLayout | None = None) -> RunRecord | None:
        """Return the rollout of a layout of a round, by default of the round shown as photographed.

        None until it was read, and if there is none.
        """
        if layout is None:
            if self.request is None:
                return None
            layout = RoundLayout(self.request.number)
        number, seed = layout.number, layout.seed
        if self.running and self.running.number == number and self.running.record.seed == seed:
            return self.running.record
        records = self._cache.get_later(_cache_name(number), "scene.json", lambda: self._read(number), elsewhere=True)
        return next((record for record in records or () if record.seed == seed), None)

    @property
    def loading(self) -> bool:
        """Whether the rollout of the round shown is being read, or made again."""
        return self.request is not None and self._cache.is_computing(_cache_name(self.request.number))

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _read(self, number: int) -> tuple[RunRecord, ...]:
        """Return the rollouts of a round, that of the photographed layout first; empty if there are none."""
        if records := read_record(self._project.folder / "rounds" / f"{number:03d}"):
            return records
        shown = next(one for one in self._project.rounds() if one.number == number)
        try:
            program = self._project.program_in_current_names(shown.program)
            report, record = self._sandbox().run(replace(program, checks=""), self._project.folder, record_goals=True)
            if record is None or not len(record.times):
                reason = report.crash or report.violation or "it took too long"
                raise RequestError(f"Round {number} has no rollout to replay: {reason}")
        except StudioError as error:
            self._log.report_once(error)
            self.hide()
            return ()
        return (record,)


def _cache_name(number: int) -> str:
    return f"rollout {number}"

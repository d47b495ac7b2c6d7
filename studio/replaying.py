"""Rounds of a project shown again: each is run anew, which gives the same one."""

from dataclasses import dataclass, replace

from pipeline.decisions import Decision
from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.run import Services
from pipeline.simulation.testimony import RunRecord
from studio.keeping import Keeping
from studio.telling import Line
from studio.wording import words


class SessionError(StudioError):
    """A project that is not open any more, or that cannot be done what was asked."""


@dataclass(frozen=True)
class Play:
    """A person's wish to see a round again."""

    number: int
    instant: float | None
    """Where to stand still, in simulated seconds; None plays it from the start."""
    serial: int
    arranging: bool = False
    """Its end is shown to be rearranged, not played."""


class Replaying(Keeping):
    """An open project, one round of which may be shown. May be called from any thread."""

    def __init__(self, project: Project, services: Services):
        super().__init__(project.folder, (_line(d) for d in project.decisions[-100:]))
        self.project, self.services = project, services
        self.playing: Play | None = None
        """The round that is shown again."""

    def play(self, number: int, instant: float | None = None) -> None:
        """Shows the rollout of a round: its program is run again, which gives the same one."""
        if all(one.number != number for one in self.project.rounds()):
            raise SessionError("That round is not there any more; choose another.")
        self.playing = Play(number, instant, self.playing.serial + 1 if self.playing else 1)

    def arrange(self, number: int) -> None:
        """Shows the end of a round for a person to rearrange."""
        self.play(number)
        if self.playing:
            self.playing = replace(self.playing, arranging=True)

    def leave(self) -> None:
        """Shows no round any more."""
        self.playing = None

    def rollout(self) -> RunRecord | None:
        """Of the round that is played; None until it has been run again, or where it never came to one."""
        if self.playing is None:
            return None
        number = self.playing.number
        return self.later(f"rollout {number}", "scene.json", lambda: self._rollout(number))

    @property
    def rolling(self) -> bool:
        """The round that a person wants to see is being run again."""
        return self.playing is not None and f"rollout {self.playing.number}" in self._computing

    def _rollout(self, number: int) -> RunRecord | None:
        one = next(r for r in self.project.rounds() if r.number == number)
        try:
            program = self.project.in_present_program(one.program)
            report, record = self.services.sandbox.run(program, self.project.folder, checks=False)
            if record is None or not len(record.times):
                why = report.crash or report.violation or "it took too long"
                raise SessionError(f"Round {number} came to no rollout, so there is nothing to play: {why}")
        except StudioError as error:
            self.complain(error)
            self.playing = None
            return None
        return record


def _line(decision: Decision) -> Line:
    return Line(decision.at, words(decision), "person")

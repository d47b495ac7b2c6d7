"""What a robot shall do with the twin: proposed, or a person's words."""

from dataclasses import dataclass

from pipeline.errors import StudioError


class TaskError(StudioError):
    """A task that does not fit the scene; says why and what would."""


@dataclass(frozen=True)
class Task:
    name: str
    """Words joined by "_"."""
    instruction: str
    """One sentence to the robot."""
    objects: tuple[str, ...]
    """Names of the placements used."""
    goals: tuple[str, ...]
    """What holds when it is done, in plain words, in order."""
    kind: str = ""
    """"stack", "sort", "put_in", "gather", "line_up", "swap", "move_away" ...; empty for a person's words not yet understood."""
    source: str = "rules"
    """"rules", a model's name, or "human"."""

"""The condition of `grs-studio vary` that a person watches."""

from dataclasses import dataclass

FOLDER = "variations"
"""Folder of a project whose folders hold the studies that the Task page shows."""


@dataclass(frozen=True)
class WatchedCondition:
    """A condition under which a robot failed."""

    study: str
    """Name of the study's folder."""
    robot: str
    """As in the names of its files."""
    id: str
    """Of the condition."""

"""Reads an episode from outside in a confined child, so that a broken or hostile file cannot harm the studio."""

from pathlib import Path

import numpy as np

from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.divergence.episode import Episode, EpisodeError
from pipeline.divergence.episode_files import arms_text, parse_arms, read_episode
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

LIMITS = Limits(seconds=300, memory_mb=8192, file_mb=16384)
"""As for a comparison, which a person can stop."""


def read_confined_episode(path: Path) -> Episode:
    """Return an episode without its actions and recorder's events. Raises EpisodeError with one line."""
    with confined.errors_as(EpisodeError, path.name):
        events = confined.call(
            f"{__name__}:send_episode", {"path": str(path.absolute())}, [path, *SYSTEM_LIBRARIES], limits=LIMITS
        )
        answer = confined.result_of(events)
        value, (times, positions, *poses) = answer.value, answer.arrays
        names, objects = ([str(name)[:200] for name in value[key]] for key in ("names", "objects"))
        if any(one.shape != (len(times), 7) or not np.isfinite(one).all() for one in poses):
            raise ValueError
        arms = parse_arms(str(value["arms"]), path.name)
        held = dict(zip(objects, (np.asarray(one, float) for one in poses), strict=True))
        return Episode.from_arrays(
            times, positions, names, arms, path.name, objects=held, note=str(value["note"])[:300]
        )


def send_episode(path: str) -> Result:
    """Read an episode, in the child. Raises EpisodeError."""
    one = read_episode(Path(path))
    value = {"names": one.names, "arms": arms_text(one.arms), "objects": list(one.objects), "note": one.note}
    return Result(value, (one.times, one.positions, *one.objects.values()))

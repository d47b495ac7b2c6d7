"""rounds/NNN/record.npz: the rollouts of a round as they were judged, one per layout, for replay.

`layouts` (L,) holds the seeds. The arrays of the first layout, which the checks judged, have the names below; those of
the others begin with "layout_<seed>_":

    times (T,), qpos (T, nq), actions (T, nu)   the trajectory; seconds
    reward ()                                   in [0, 1]
    goal_times (S,)                             seconds at which the goals were measured
    goal_misses, goal_values (S, G)             metres short of each goal, 0 where met; the same as a value in [0, 1]
    model, events, goals, contacts ()           texts: MJCF, whose files are in scene/ for good; lists in JSON.
                                                Contacts are {a, b, start, end} in seconds
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.scene.mjcf.recorded_models import with_own_files
from pipeline.simulation import CheckResult
from pipeline.simulation.goals.goal import VALUE_SCALE
from pipeline.simulation.run_record import Contact, GoalProgress, RunRecord
from pipeline.store import atomic_write, parse_json, read_arrays

FILE = "record.npz"


def write_record(folder: Path, records: Sequence[RunRecord]) -> None:
    """Save the rollouts of a round in rounds/NNN/ of a project; remove an earlier record if there are none.

    Raises StoreError.
    """
    if not records:
        (folder / FILE).unlink(missing_ok=True)
        return
    scene = folder.parents[1] / "scene"
    records = [replace(record, xml=with_own_files(record.xml, scene)) for record in records]
    arrays: dict[str, Any] = {"layouts": np.array([record.seed for record in records])}
    for number, record in enumerate(records):
        prefix = f"layout_{record.seed}_" if number else ""
        arrays |= {prefix + name: value for name, value in _arrays(record).items()}
    with atomic_write(folder / FILE) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_record(folder: Path) -> tuple[RunRecord, ...]:
    """Read the rollouts of a round from its folder; empty if there are none or the file cannot be read."""
    path = folder / FILE
    try:
        arrays = read_arrays(path)
        seeds = [int(seed) for seed in arrays["layouts"]]
        prefixes = ["", *(f"layout_{seed}_" for seed in seeds[1:])]
        return tuple(_record(arrays, prefix, seed) for prefix, seed in zip(prefixes, seeds, strict=True))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()


def _arrays(record: RunRecord) -> dict[str, Any]:
    progress = record.progress or GoalProgress(np.zeros(0), np.zeros((0, len(record.goals))))
    misses = progress.misses
    return {
        "times": record.times,
        "qpos": record.qpos,
        "actions": record.actions,
        "reward": record.reward,
        "goal_times": progress.times,
        "goal_misses": misses,
        "goal_values": np.where(misses <= 0, 1.0, 0.9 * np.exp(-misses / VALUE_SCALE)),
        "model": record.xml,
        "events": json.dumps(record.events),
        "goals": json.dumps(record.goals),
        "contacts": json.dumps([asdict(contact) for contact in progress.contacts]),
    }


def _record(arrays: Mapping[str, np.ndarray], prefix: str, seed: int) -> RunRecord:
    """Raises ValueError, KeyError or TypeError for arrays that do not fit one another."""
    names = ("times", "qpos", "actions", "goal_times", "goal_misses")
    times, qpos, actions, goal_times, misses = (np.asarray(arrays[prefix + name], float) for name in names)
    events, goals, contacts = (parse_json(str(arrays[prefix + name])) for name in ("events", "goals", "contacts"))
    lengths = {len(times), len(qpos), len(actions)}
    if (
        len(lengths) > 1
        or not len(times)
        or misses.shape != (len(goal_times), len(goals))
        or (np.diff(times) < 0).any()
    ):
        raise ValueError("the arrays have inconsistent lengths")
    if not all(np.isfinite(array).all() for array in (times, qpos, goal_times, misses)):
        raise ValueError("the trajectory is not finite")
    progress = GoalProgress(goal_times, misses, tuple(Contact(**contact) for contact in contacts))
    return RunRecord(
        times, qpos, actions, float(arrays[prefix + "reward"]), str(arrays[prefix + "model"]), tuple(events),
        tuple(goals), progress if len(goal_times) else None, seed,
    )  # fmt: skip


def check_instant(check: CheckResult, record: RunRecord) -> float:
    """Return the simulated time in seconds that a check is about.

    Its own where it names one, the oracle's first failure for a failed check, else the end.
    """
    end = float(record.times[-1])
    if check.instant is not None:
        return min(max(check.instant, float(record.times[0])), end)
    failures = [event for event in record.events if not event["ok"] and event["time"] is not None]
    return min(float(failures[0]["time"]), end) if failures and not check.passed else end

"""`python -m bench.tracking [--seeds 0-19] [--frames FOLDER]`: follow drawn sequences, and compare with their truth.

Seeds 0 to 19 are for development, 100 to 109 were kept aside. ADD is the mean distance of surface points at the tracked
and the true pose (Hinterstoisser et al. 2012); of symmetric objects ADD-S, to the nearest point (Xiang et al. 2018).
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from bench.measurement import grouped_interval
from bench.tracking_drawing import HELD_S, DrawnSequence, draw_sequence
from bench.twin_drawing import symmetry
from pipeline.geometry import Pose, transform
from pipeline.scene.registration import load_surface
from pipeline.tracking.events import changes
from pipeline.tracking.following import follow
from pipeline.tracking.track import STATES, Event, Track
from studio.services.open_services import open_services
from studio.services.settings import Settings

TRACKED_M = 0.02
HIDDEN = 1 / 3
"""Share of an object's largest number of visible pixels below which it is right to call it lost."""
EVENT_S = 0.3
MOVED_M = 0.01
"""Distance from its first place from which an object counts as one that was moved."""


@dataclass(frozen=True, eq=False)
class Score:
    """One sequence."""

    name: str
    add: np.ndarray
    """In metres, of shape (T, K)."""
    good: np.ndarray
    """Frames with ADD below TRACKED_M that are not called lost, or rightly called lost, of shape (T, K), bool."""
    moved: np.ndarray
    """Whether the object is away from its first place or was, of shape (T, K), bool."""
    lost: np.ndarray
    found: int
    true: int
    right: int
    claimed: int
    hz: float
    errors: np.ndarray
    """Estimates in metres, of shape (T, K)."""
    misses: tuple[str, ...]


def measure(sequence: DrawnSequence) -> Score:
    """Follow one sequence and compare it with its truth."""
    shots = [(float(t), sequence.frame(i), None) for i, t in enumerate(sequence.times)]
    began = time.process_time()
    track = _finished(follow(sequence.scene, shots))
    hz = len(shots) / (time.process_time() - began)
    add = np.stack([_add(sequence, track, k) for k in range(len(track.names))], 1)
    lost = track.states == STATES.index("lost")
    hidden = sequence.visible < HIDDEN * sequence.unoccluded
    good = np.where(lost, hidden, add < TRACKED_M)
    away = np.linalg.norm(sequence.poses[..., :3] - sequence.poses[:1, :, :3], axis=-1) > MOVED_M
    matched, misses = _matched(changes(track.events), sequence.events, float(sequence.times[-1]))
    return Score(
        sequence.name, add, good, np.maximum.accumulate(away, 0), lost, matched, len(sequence.events), matched,
        matched + sum(miss.startswith("+") for miss in misses), hz, track.errors, misses,
    )  # fmt: skip


def _finished(steps) -> Track:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def _add(sequence: DrawnSequence, track: Track, number: int) -> np.ndarray:
    p = sequence.scene.placements[number]
    points = load_surface(p.mesh, p.size).points[::10]
    kind, rotations = symmetry(p)
    symmetric = kind != "none" or len(rotations) > 1
    errors = []
    for true, found in zip(sequence.poses[:, number], track.poses[:, number], strict=True):
        a, b = (transform(Pose(row[:3], row[3:]).matrix, points) for row in (true, found))
        errors.append(KDTree(b).query(a)[0].mean() if symmetric else np.linalg.norm(a - b, axis=1).mean())
    return np.array(errors)


def _near_true(event: Event, true: Sequence[dict]) -> bool:
    return any(e["object"] == event.object and abs(e["time"] - event.time) <= EVENT_S for e in true)


def _matched(found: Sequence[Event], true: Sequence[dict], end: float) -> tuple[int, tuple[str, ...]]:
    """Return how many true events were found in time, and those that were not, or were found for nothing (+)."""
    # the recording ends before anybody sees whether a change at its end lasts
    left, misses, count = [e for e in found if e.time < end - HELD_S - EVENT_S or _near_true(e, true)], [], 0
    for event in true:
        near = [
            e
            for e in left
            if e.kind == event["kind"]
            and e.object == event["object"]
            and abs(e.time - event["time"]) <= EVENT_S
            and (e.kind == "picked" or e.on == event["on"])
        ]
        if near:
            left.remove(min(near, key=lambda e: abs(e.time - event["time"])))
            count += 1
        else:
            misses.append(f"-{event['kind']} {event['object']} on {event['on']} {event['time']:.2f}")
    return count, (*misses, *(f"+{e.kind} {e.object} on {e.on} {e.time:.2f}" for e in left))


def row(score: Score) -> str:
    """Return the line of one sequence."""
    moved = score.add[score.moved]
    return (
        f"| {score.name} | {1000 * np.median(score.add):.1f} | {1000 * np.median(moved) if moved.size else 0:.1f} | "
        f"{score.good.mean():.3f} | {score.good[score.moved].mean() if moved.size else 1:.3f} | "
        f"{score.lost.mean():.3f} | {score.found}/{score.true} | {score.right}/{score.claimed} | {score.hz:.1f} |"
    )


def summary(scores: Sequence[Score]) -> list[str]:
    """Return the lines of all sequences, with 95 % intervals by bootstrap over sequences."""

    def share(groups: Sequence[Sequence[float]]) -> str:
        groups = [g for g in groups if len(g)]
        low, high = grouped_interval(groups)
        return f"{np.mean(np.concatenate(groups)):.3f} ({low:.3f} to {high:.3f})"

    medians = [1000 * float(np.median(s.add)) for s in scores]
    moved = [1000 * float(np.median(s.add[s.moved])) for s in scores if s.moved.any()]
    known = np.concatenate([(s.add / s.errors)[np.isfinite(s.errors)] for s in scores])
    return [
        f"ADD median mm, all objects: {1000 * np.median(np.concatenate([s.add.ravel() for s in scores])):.1f} "
        f"(sequences {min(medians):.1f} to {max(medians):.1f})",
        f"ADD median mm, moved objects: {1000 * np.median(np.concatenate([s.add[s.moved] for s in scores])):.1f} "
        f"(sequences {min(moved):.1f} to {max(moved):.1f})",
        "tracked, all: " + share([s.good.ravel().astype(float).tolist() for s in scores]),
        "tracked, moved: " + share([s.good[s.moved].astype(float).tolist() for s in scores]),
        "support changes found: " + share([[1.0] * s.found + [0.0] * (s.true - s.found) for s in scores]),
        "precision: " + share([[1.0] * s.right + [0.0] * (s.claimed - s.right) for s in scores]),
        f"Hz: median {np.median([s.hz for s in scores]):.1f}, least {min(s.hz for s in scores):.1f}",
        f"true error / estimate: median {np.median(known):.2f}, p90 {np.quantile(known, 0.9):.2f}",
    ]


def _numbers(text: str) -> list[int]:
    """Return the numbers of "0-3,7"."""
    ranges = [(part.partition("-")[0], part.partition("-")[2]) for part in text.split(",")]
    return [number for first, last in ranges for number in range(int(first), int(last or first) + 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-19")
    parser.add_argument("--frames", type=Path, default=Path("build/tracking"), help="where drawn sequences are kept")
    arguments = parser.parse_args()
    library, scores = open_services(Settings()).library, []
    print("| sequence | ADD mm | of moved | tracked | of moved | lost | found | right | Hz |", flush=True)
    for seed in _numbers(arguments.seeds):
        scores.append(measure(draw_sequence(seed, library, arguments.frames)))
        print(row(scores[-1]), *scores[-1].misses, sep="\n    ", flush=True)
    print("\n".join(["", *summary(scores)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

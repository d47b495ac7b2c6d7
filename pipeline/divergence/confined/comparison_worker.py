"""Process started by isolated_comparison: compares two episodes and prints one line of JSON per step.

It is confined before it opens a file: it reads what was given and writes its scratch folder, nothing else.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.confinement import SYSTEM_LIBRARIES, confine
from pipeline.divergence.comparison import Comparison, compare
from pipeline.divergence.comparison_files import to_json
from pipeline.divergence.confined.playback import drawn_playback
from pipeline.divergence.episode import Episode
from pipeline.divergence.episode_files import read_episode
from pipeline.divergence.report import envelope
from pipeline.divergence.robot_kinematics import load_robot
from pipeline.errors import StudioError
from pipeline.untrusted.worker_input import read_request, watch_parent

MAX_FILE_MB = 16384
"""Of a table that does not fit into memory."""
PACKAGE = Path(__file__).resolve().parents[2]
"""Our own code, some of which is imported late."""
DIGITS = 6
"""Decimals of a curve's values."""
Send = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read the request, confine this process, and print the steps and the result."""
    request, send = read_request()
    folders = [Path(request["robot"]).parent] if request["robot"] else []  # its meshes lie there
    episodes = [Path(request[name]) for name in ("real", "sim")]
    # What lies in a folder that is readable is not named again: its own mount would hide the rest of the folder.
    given = [*folders, *(path for path in episodes if not any(path.is_relative_to(folder) for folder in folders))]
    try:
        confine(
            [*given, PACKAGE, *SYSTEM_LIBRARIES], [Path(request["scratch"])],
            seconds=request["seconds"], memory_mb=request["memory_mb"], file_mb=MAX_FILE_MB,
        )  # fmt: skip
    except OSError as error:  # never open a file with less confinement than the platform has
        return send({"error": f"this process cannot be confined ({error.strerror}); nothing was compared"})
    watch_parent()
    try:
        _compare(request, send)
    except StudioError as error:
        send({"error": str(error)})
    except MemoryError:
        send({"error": "these files take too much memory to compare; make them smaller"})


def _compare(request: dict[str, Any], send: Send) -> None:
    send({"message": "Reading the real episode"})
    real = read_episode(Path(request["real"]))
    send({"message": "Reading the simulated episode"})
    sim = read_episode(Path(request["sim"]))
    robot_file = Path(request["robot"]) if request["robot"] else None
    robot = load_robot(robot_file) if robot_file else None
    send({"message": "Comparing"})
    comparison = compare(real, sim, robot, request["method"])
    result = {
        "comparison": to_json(comparison),
        "curves": error_curves(comparison),
        "joints": joint_curves(comparison, real, sim),
        "notes": [episode.note for episode in (real, sim) if episode.note],
    }
    send({"message": "Drawing the robots"})
    playback = drawn_playback(comparison, real, sim, robot_file, lambda mesh: send({"mesh": mesh}))
    send({"result": result, "playback": playback})


def error_curves(comparison: Comparison) -> dict[str, dict[str, list[float]]]:
    """Return {"t", "y"} of each error over time, by the name of its column; at most report.POINTS points each."""
    times = comparison.column("t")
    curves = {}
    for name in comparison.columns[2:]:
        t, y = envelope(times, comparison.column(name))
        curves[name] = {"t": _numbers(t), "y": _numbers(y)}
    return curves


def joint_curves(comparison: Comparison, real: Episode, sim: Episode) -> dict[str, dict[str, list[float]]]:
    """Return {"t", "real", "t_sim", "sim"} of each joint and gripper, both times on REAL's clock."""
    alignment = comparison.alignment
    names = [joint.name for arm in comparison.arms.values() for joint in arm.joints]
    sim_times = alignment.real_times(sim.times)
    curves = {}
    for name in names:
        t, q_real = envelope(real.times, real.positions.column(real.names.index(name)))
        t_sim, q_sim = envelope(sim_times, sim.positions.column(sim.names.index(name)))
        curves[name] = {"t": _numbers(t), "real": _numbers(q_real), "t_sim": _numbers(t_sim), "sim": _numbers(q_sim)}
    return curves


def _numbers(values: np.ndarray) -> list[float]:
    return np.round(values, DIGITS).tolist()

"""Replay an exported project: python run.py [--view] [--seconds S]. Needs mujoco and numpy only.

Simulates the photographed scene for S seconds and prints how far the objects moved. Then replays the recorded solution,
if there is one, and prints the final positions. With --view, a window shows the solution in a loop.
"""

import argparse
import json
import time
from pathlib import Path

import mujoco
import numpy as np

FOLDER = Path(__file__).resolve().parent


def positions(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, np.ndarray]:
    """Return the position of every free body in metres."""
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    bodies = [int(model.jnt_bodyid[joint]) for joint in free]
    return {model.body(body).name: data.xpos[body].copy() for body in bodies}


def simulate_scene(seconds: float) -> None:
    """Simulate the scene as photographed and print how far the objects moved."""
    model = mujoco.MjModel.from_xml_path(str(FOLDER / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    before = positions(model, data)
    while data.time < seconds:
        mujoco.mj_step(model, data)
    moved = {name: float(np.linalg.norm(position - before[name])) for name, position in positions(model, data).items()}
    furthest = max(moved, key=lambda name: moved[name], default="nothing")
    print(
        f"scene: {len(moved)} objects, simulated for {seconds:g} s; "
        f"{furthest} moved most, {moved.get(furthest, 0) * 1e3:.2f} mm"
    )


def replay(view: bool) -> None:
    """Replay the recorded solution state by state and print the final positions."""
    record = np.load(FOLDER / "solution.npz", allow_pickle=False)
    model = mujoco.MjModel.from_xml_path(str(FOLDER / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    set_state(model, data, record, 0)
    start = positions(model, data)
    set_state(model, data, record, len(record["times"]) - 1)
    solution = json.loads((FOLDER / "solution.json").read_text(encoding="utf-8"))
    solved = "doubtful: " + solution["failed_check"] if solution.get("failed_check") else f"solved {solution['solved']}"
    print(f"solution: {solved}, reward per seed {solution['reward']}, {record['times'][-1]:.1f} s")
    for name, end in positions(model, data).items():
        print(f"  {name:24s} from {np.round(start[name], 3)} to {np.round(end, 3)} m")
    if view:
        watch(model, data, record)


def set_state(model: mujoco.MjModel, data: mujoco.MjData, record, frame: int) -> None:
    """Set the recorded positions of one frame."""
    data.qpos[:] = record["qpos"][frame]
    mujoco.mj_forward(model, data)


def watch(model: mujoco.MjModel, data: mujoco.MjData, record) -> None:
    """Show the solution in MuJoCo's viewer in a loop until the window is closed."""
    import mujoco.viewer

    times = record["times"]
    with mujoco.viewer.launch_passive(model, data) as window:
        while window.is_running():
            started = time.monotonic()
            for frame, instant in enumerate(times):
                if not window.is_running():
                    return
                set_state(model, data, record, frame)
                window.sync()
                time.sleep(max(0.0, instant - times[0] - (time.monotonic() - started)))
            time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--view", action="store_true", help="open MuJoCo's viewer")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the scene is simulated")
    arguments = parser.parse_args()
    simulate_scene(arguments.seconds)
    if (FOLDER / "solution.npz").exists() and (FOLDER / "scene" / "solution.xml").exists():
        replay(arguments.view)
    else:
        print("solution: none was recorded")


if __name__ == "__main__":
    main()

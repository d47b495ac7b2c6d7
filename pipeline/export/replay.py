"""Play what was exported: python run.py [--view] [--seconds S]. Needs mujoco and numpy, nothing else.

Plays the recorded solution where there is one and prints where everything ends; then lets the photographed scene
stand for S seconds and prints how far anything crept. With --view, a window shows the solution again and again.
"""

import argparse
import json
import time
from pathlib import Path

import mujoco
import numpy as np

HERE = Path(__file__).resolve().parent


def places(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, np.ndarray]:
    """Where every free body is, in metres."""
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    bodies = [int(model.jnt_bodyid[joint]) for joint in free]
    return {model.body(body).name: data.xpos[body].copy() for body in bodies}


def stand(seconds: float) -> None:
    """The scene as photographed, left alone."""
    model = mujoco.MjModel.from_xml_path(str(HERE / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    before = places(model, data)
    while data.time < seconds:
        mujoco.mj_step(model, data)
    moved = {name: float(np.linalg.norm(at - before[name])) for name, at in places(model, data).items()}
    furthest = max(moved, key=lambda name: moved[name], default="nothing")
    print(
        f"scene: {len(moved)} objects stood {seconds:g} s; {furthest} moved most, {moved.get(furthest, 0) * 1e3:.2f} mm"
    )


def play(view: bool) -> None:
    """The recorded solution, state by state, as it was simulated."""
    record = np.load(HERE / "solution.npz", allow_pickle=False)
    model = mujoco.MjModel.from_xml_path(str(HERE / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    show(model, data, record, 0)
    start = places(model, data)
    show(model, data, record, len(record["times"]) - 1)
    said = json.loads((HERE / "solution.json").read_text(encoding="utf-8"))
    print(f"solution: solved {said['solved']}, reward per seed {said['reward']}, {record['times'][-1]:.1f} s")
    for name, at in places(model, data).items():
        print(f"  {name:24s} from {np.round(start[name], 3)} to {np.round(at, 3)} m")
    if view:
        watch(model, data, record)


def show(model: mujoco.MjModel, data: mujoco.MjData, record, frame: int) -> None:
    data.qpos[:] = record["qpos"][frame]
    mujoco.mj_forward(model, data)


def watch(model: mujoco.MjModel, data: mujoco.MjData, record) -> None:
    import mujoco.viewer

    times = record["times"]
    with mujoco.viewer.launch_passive(model, data) as window:
        while window.is_running():
            began = time.time()
            for frame, instant in enumerate(times):
                if not window.is_running():
                    return
                show(model, data, record, frame)
                window.sync()
                time.sleep(max(0.0, instant - times[0] - (time.time() - began)))
            time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--view", action="store_true", help="open MuJoCo's viewer")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the scene is left to stand")
    arguments = parser.parse_args()
    stand(arguments.seconds)
    if (HERE / "solution.npz").exists() and (HERE / "scene" / "solution.xml").exists():
        play(arguments.view)
    else:
        print("solution: none was recorded")


if __name__ == "__main__":
    main()

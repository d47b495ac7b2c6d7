"""From a real photograph to a solved task on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from reference_frames import reference_frame

MORE = [pytest.param(name, marks=pytest.mark.soak) for name in ("m2t2_02", "grasp6dof_white_bowl", "uoc_0")]
COMMAND = Path(sys.executable).with_name("grs-studio")


@pytest.mark.frames
@pytest.mark.parametrize("name", ["posecnn_0", *MORE])
def test_a_real_frame_ends_in_a_twin_that_stands_and_a_task_that_is_solved(tmp_path, name):
    out, frame = tmp_path / name, reference_frame(name)
    done = subprocess.run([COMMAND, "run", frame, "--out", out], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "solution.json").read_text())["solved"] is True, done.stderr

    model = mujoco.MjModel.from_xml_path(str(out / "scene/scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start = data.xpos.copy()
    mujoco.mj_step(model, data, nstep=int(5 / model.opt.timestep))
    assert np.linalg.norm(data.xpos - start, axis=1).max() < 0.01

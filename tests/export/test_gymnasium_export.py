"""The exported environment runs with mujoco, numpy and gymnasium alone, and its demonstrations reach success."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from scipy import spatial
from scipy.spatial import transform

from pipeline.export.gym_env import numpy_only

NEEDED = {"mujoco", "numpy", "gymnasium", "grs_env"}
CODE = """
import sys, warnings
for name in ("scipy", "pipeline", "trimesh", "PIL", "cv2", "pydantic", "pandas", "torch"):
    sys.modules[name] = None
sys.path.insert(0, ".")
warnings.simplefilter("error")
import json, grs_env, numpy as np
from gymnasium.utils.env_checker import check_env
check_env(grs_env.make(), skip_render_check=True)
env = grs_env.make()
starts = {seed: env.reset(seed=seed)[0]["objects"] for seed in env.layouts}
again = env.reset(seed=3)[0]["objects"]
one, other = env.reset(seed=13)[1]["layout"], env.reset(options={"layout": 3})[1]["layout"]
env.reset(seed=0)
idle = [env.step(np.zeros(env.action_space.shape))[4]["success"] for _ in range(20)]
runs = [grs_env.demonstration(seed) for seed in env.layouts]
try:
    grs_env.demonstration(2)
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "layouts": env.layouts, "names": env.object_names, "success": [run.success for run in runs],
    "actions": [[len(run.observations) - len(run.actions), float(abs(run.actions).max())] for run in runs],
    "first": [run.rewards[0] for run in runs], "last": [run.rewards[-1] for run in runs],
    "same": bool((starts[3] == again).all()), "differ": bool((starts[0] != starts[3]).any()), "other": [one, other],
    "idle": any(idle), "refused": refused, "instruction": env.instruction,
}))
"""


def test_the_environment_is_clean_and_every_demonstration_reaches_success(environment):
    site = str(Path(gymnasium.__file__).parents[1])  # -I leaves PYTHONPATH out
    code = f"import sys; sys.path.append({site!r})" + CODE
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["layouts"] == list(twins.SEEDS) and result["success"] == [True, True]
    assert all(first < 0.9 < last for first, last in zip(result["first"], result["last"], strict=True))
    assert all(more == 1 and largest <= 1 for more, largest in result["actions"])
    assert result["same"] and result["differ"] and result["other"] == [3, 3] and not result["idle"]
    assert "cabinet" in result["names"] and result["instruction"].startswith("Put the red cube")
    assert result["refused"] == "there is no demonstration of seed 2; there are: 0, 3"


quats = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1)


@given(quats, quats)
def test_rotations_without_scipy_are_those_of_scipy(first, second):
    ours = [numpy_only.Rotation.from_quat(q, scalar_first=True) for q in (first, second)]
    theirs = [transform.Rotation.from_quat(q, scalar_first=True) for q in (first, second)]
    assert np.allclose((ours[0] * ours[1]).as_matrix(), (theirs[0] * theirs[1]).as_matrix())
    assert np.allclose(np.abs(ours[0].as_quat() @ theirs[0].as_quat()), 1)
    assert np.allclose(ours[0].apply(np.eye(3)), theirs[0].apply(np.eye(3)))
    vector = np.array(first[:3])
    rotvec = numpy_only.Rotation.from_rotvec(vector), transform.Rotation.from_rotvec(vector)
    assert np.allclose(rotvec[0].as_matrix(), rotvec[1].as_matrix())


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=5, max_size=40, unique=True))
def test_outlines_without_scipy_have_the_area_of_scipys(points):
    cloud = np.array([*points, (-2, -2), (2, -2), (0, 3)])
    ours, theirs = cloud[numpy_only.ConvexHull(cloud).vertices], cloud[spatial.ConvexHull(cloud).vertices]
    assert area(ours) == pytest.approx(area(theirs)) and area(ours) > 0


def area(polygon):
    following = np.roll(polygon, -1, 0)
    return float((polygon[:, 0] * following[:, 1] - following[:, 0] * polygon[:, 1]).sum() / 2)

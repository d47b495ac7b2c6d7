"""The exported environment runs with mujoco, numpy, scipy and gymnasium alone, and its demonstrations reach success."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import solved_twin

NEEDED = {"mujoco", "numpy", "scipy", "gymnasium", "grs_env"}
CODE = """
import sys, warnings
for name in ("pipeline", "trimesh", "PIL", "cv2", "pydantic", "pandas", "torch"):
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
short = grs_env.make(max_steps=3)
short.reset(seed=0)
ends = [short.step(np.zeros(short.action_space.shape))[2:4] for _ in range(3)]
two = grs_env.make_vec(2, "sync", max_steps=3)
two.reset(seed=0)
stepped = [two.step(two.action_space.sample()) for _ in range(3)]
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
    "ends": ends, "limit": env.max_steps / max(len(run.actions) for run in runs), "together": stepped[-1][3].tolist(),
    "shape": stepped[0][0]["objects"].shape, "idle": any(idle), "refused": refused, "instruction": env.instruction,
}))
"""


def test_the_environment_is_clean_and_every_demonstration_reaches_success(environment):
    site = str(Path(gymnasium.__file__).parents[1])  # -I leaves PYTHONPATH out
    code = f"import sys; sys.path.append({site!r})" + CODE
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["layouts"] == list(solved_twin.SEEDS) and result["success"] == [True, True]
    assert all(first < 0.9 < last for first, last in zip(result["first"], result["last"], strict=True))
    assert all(more == 1 and largest <= 1 for more, largest in result["actions"])
    assert result["same"] and result["differ"] and result["other"] == [3, 3] and not result["idle"]
    assert "cabinet" in result["names"] and result["instruction"].startswith("Put the red cube")
    assert result["ends"] == [[False, False], [False, False], [False, True]] and result["together"] == [True, True]
    assert result["limit"] >= 3 and result["shape"] == [2, len(result["names"]), 7]
    assert result["refused"] == "there is no demonstration of seed 2; there are: 0, 3"

"""SAM 2 and the software renderer work in one process."""

import importlib.util
import os
import subprocess
import sys

import pytest

BOTH = """
import mujoco
import pipeline.segmentation
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    assert renderer.render().shape == (64, 64, 3)
from sam2.sam2_image_predictor import SAM2ImagePredictor
print(SAM2ImagePredictor.__name__)
"""


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("sam2") is None, reason="sam2 is not installed (the light set-up)")
def test_sam2_can_be_imported_after_rendering():
    result = subprocess.run(
        [sys.executable, "-c", BOTH],
        capture_output=True, text=True, env=os.environ | {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl"}, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-500:] or f"the process died with {result.returncode}"
    assert result.stdout.strip() == "SAM2ImagePredictor"

"""The method: from one RGB-D frame to a solved task. Knows nothing of the app."""

import os
import sys

if sys.platform == "linux":  # drawing without a display; MuJoCo and PyOpenGL read these when they are first imported
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

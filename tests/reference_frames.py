"""The reference frames: real photographs with truth in ../shared; tests marked `frames` are skipped without them."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
FRAMES = SHARED / "frames"
MISSING = "needs the reference frames in ../shared/frames, which are not part of the project"


def reference_frame(name: str) -> Path:
    """Return the folder of a reference frame; skips the test if it is not there."""
    return shared_path(f"frames/{name}")


def shared_path(name: str) -> Path:
    """Return a path below ../shared; skips the test if it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(MISSING if not FRAMES.is_dir() else f"needs ../shared/{name}, which is not part of the project")
    return path

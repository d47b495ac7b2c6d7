"""A small project with masks."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.project import Project
from pipeline.segmentation import Segment

SHAPE = (48, 64)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    frame = Frame(np.zeros((*SHAPE, 3), np.uint8), np.ones(SHAPE, np.float32), Intrinsics(64, 48, 80, 80, 32, 24))
    project = Project.create(tmp_path / "workspace" / "small", frame)
    masks = np.zeros((2, *SHAPE), bool)
    masks[0, 5:20, 5:20] = masks[1, 25:40, 30:50] = True
    project.save_segments(tuple(Segment(i, mask, 1.0, "depth") for i, mask in enumerate(masks, 1)))
    return project

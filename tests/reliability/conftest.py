"""A small project with masks, and the same as versions before kept it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics, load, save
from pipeline.project import Project
from pipeline.segmentation import Segment

KEPT = Path(__file__).parent / "kept_projects"
SAMPLES = Path(__file__).parents[2] / "sample_scenes"
SHAPE = (48, 64)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    frame = Frame(np.zeros((*SHAPE, 3), np.uint8), np.ones(SHAPE, np.float32), Intrinsics(64, 48, 80, 80, 32, 24))
    project = Project.create(tmp_path / "workspace" / "small", frame)
    masks = np.zeros((2, *SHAPE), bool)
    masks[0, 5:20, 5:20] = masks[1, 25:40, 30:50] = True
    project.save_segments(tuple(Segment(i, mask, 1.0, "depth") for i, mask in enumerate(masks, 1)))
    return project


@pytest.fixture(scope="session")
def schema_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as schema 1 left it: the sample "blocks" with two rounds, and an edit that was not run yet."""
    folder = tmp_path_factory.mktemp("kept") / "schema_1"
    save(load(SAMPLES / "blocks"), folder / "frame")
    shutil.copytree(KEPT / "schema_1", folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def kept_project(tmp_path: Path, schema_1: Path) -> Path:
    return Path(shutil.copytree(schema_1, tmp_path / "schema_1"))

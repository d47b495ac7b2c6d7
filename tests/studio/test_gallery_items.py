"""Projects in the gallery."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.project import Project
from studio.pages.gallery_items import projects

FRAME = Frame(np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.float32), Intrinsics(60, 40, 50, 50, 30, 20))


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", '{"stages": []}', '{"stages": null}', "\\u0000"])
def test_a_broken_project_is_left_out_of_the_gallery_and_the_others_stay(record: str, tmp_path: Path):
    Project.create(tmp_path / "whole", FRAME)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "project.json").write_text(record)
    assert [one["name"] for one in projects(tmp_path)] == ["whole"]

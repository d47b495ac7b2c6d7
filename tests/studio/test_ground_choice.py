"""The choice of the surface that carries the objects."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import FrameError, find_support, likely_grounds, load
from pipeline.project import Project
from studio.scene.ground_choice import ground_records, parse_pixel
from tests.frame.rendered import render

STEP = """<geom type="box" size=".2 .5 .05" pos="-.3 0 .05"/>
<geom name="left" type="box" size=".03 .03 .03" pos="-.2 .1 .13"/>
<geom name="right" type="box" size=".03 .03 .03" pos=".15 .05 .03"/>"""
"""Two levels, 10 cm apart, with an object on each."""


@pytest.fixture(scope="module")
def frame():
    return render(STEP, eye=(-0.05, -0.5, 0.7)).frame


def test_the_ground_at_a_chosen_pixel_becomes_the_support_whichever_is_likelier(frame):
    levels = set()
    for pixel in ((60, 140), (250, 150)):
        chosen = find_support(replace(frame, ground_pixel=pixel))
        assert chosen.inliers[pixel[1], pixel[0]]
        levels.add(round(chosen.plane.offset, 2))
    assert max(levels) - min(levels) == pytest.approx(0.1, abs=0.011)


def test_every_offered_ground_is_chosen_by_its_own_pixel_and_the_first_is_the_current_one(frame, monkeypatch):
    monkeypatch.setattr("pipeline.frame.support.MIN_GROUND_PROBABILITY", 0.0)
    grounds = likely_grounds(replace(frame))
    assert len(grounds) > 1 and find_support(frame).inliers[grounds[0].pixel[::-1]]
    for one in grounds:
        first, *_ = likely_grounds(replace(frame, ground_pixel=one.pixel))
        assert np.array_equal(first.outline, one.outline)
    assert sum(one.probability for one in grounds) == pytest.approx(1)


def test_a_chosen_ground_is_kept_and_undo_takes_it_back(tmp_path: Path):
    scene = load(Path(__file__).parents[2] / "sample_scenes" / "blocks")
    project = Project.create(tmp_path / "table", scene)
    key = project.key("frame")
    pixel = ground_records(project.frame)[0]["pixel"]
    project.decide("ground", pixel=pixel)
    assert project.frame.ground_pixel == tuple(pixel) and project.key("frame") != key
    assert Project.open(project.folder).frame.ground_pixel == tuple(pixel)
    project.undo()
    assert project.frame.ground_pixel is None and project.key("frame") == key


@pytest.mark.parametrize("wrong", [{}, {"pixel": None}, {"pixel": [1]}, {"pixel": ["a", 2]}, {"pixel": [10**6, 2]}])
def test_a_pixel_that_is_none_of_the_frame_is_refused_in_one_line(frame, wrong: dict):
    with pytest.raises(FrameError) as error:
        parse_pixel(wrong, frame)
    assert "\n" not in str(error.value)

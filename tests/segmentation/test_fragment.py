"""A fleck that hangs in the air beside something far larger is told to be a part of it; what stands is not."""

import numpy as np
import pytest

from pipeline.frame.support import find_support
from pipeline.geometry import transform
from pipeline.segmentation import Segment
from pipeline.segmentation.fragment import fragments
from tests.frame.rendered import render

THINGS = """
<geom name="carton" type="box" size=".06 .05 .07" pos="0 0 .07"/>
<geom name="beside" type="box" size=".008 .008 .008" pos="-.075 -.05 .008"/>
<geom name="on_top" type="box" size=".008 .008 .008" pos=".03 .02 .148"/>
"""


@pytest.fixture(scope="module")
def seen():
    seen = render(THINGS)
    return seen, find_support(seen.frame)


def test_a_fleck_of_a_carton_s_lid_is_a_part_of_it_though_nothing_joins_them_in_the_picture(seen):
    view, support = seen
    x, y, z = np.moveaxis(transform(view.world_from_camera, view.frame.points.astype(float)), -1, 0)
    carton = view.labels["carton"]
    lid = carton & (z > 0.136)
    fleck = lid & (np.abs(x) < 0.012) & (np.abs(y + 0.026) < 0.008)
    both = [Segment(1, carton & ~lid, 1.0, "depth"), Segment(2, fleck, 1.0, "depth")]
    assert fleck.sum() > 10
    assert fragments(view.frame, support, both) == {2: 1}


@pytest.mark.parametrize("name", ["beside", "on_top"])
def test_a_small_thing_that_stands_on_the_table_or_on_a_carton_is_a_thing_of_its_own(seen, name):
    view, support = seen
    both = [Segment(1, view.labels["carton"], 1.0, "depth"), Segment(2, view.labels[name], 1.0, "depth")]
    assert both[1].mask.sum() > 20
    assert fragments(view.frame, support, both) == {}

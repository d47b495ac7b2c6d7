"""Small masks in the air beside a far larger one are fragments of it; small objects that stand are not."""

import numpy as np
import pytest

from pipeline.frame.support import find_support
from pipeline.geometry import transform
from pipeline.segmentation import Segment
from pipeline.segmentation.fragments import find_fragments
from tests.frame.rendered import render

OBJECTS = """
<geom name="carton" type="box" size=".06 .05 .07" pos="0 0 .07"/>
<geom name="beside" type="box" size=".008 .008 .008" pos="-.075 -.05 .008"/>
<geom name="on_top" type="box" size=".008 .008 .008" pos=".03 .02 .148"/>
"""


@pytest.fixture(scope="module")
def scene():
    rendered = render(OBJECTS)
    return rendered, find_support(rendered.frame)


def test_a_piece_of_a_lid_that_does_not_touch_its_carton_is_a_fragment_of_it(scene):
    view, support = scene
    x, y, z = np.moveaxis(transform(view.world_from_camera, view.frame.points.astype(float)), -1, 0)
    carton = view.labels["carton"]
    lid = carton & (z > 0.136)
    fragment = lid & (np.abs(x) < 0.012) & (np.abs(y + 0.026) < 0.008)
    both = [Segment(1, carton & ~lid, 1.0, "depth"), Segment(2, fragment, 1.0, "depth")]
    assert fragment.sum() > 10 and find_fragments(view.frame, support, both) == {2: 1}


@pytest.mark.parametrize("name", ["beside", "on_top"])
def test_a_small_object_on_the_table_or_on_a_carton_is_not_a_fragment(scene, name):
    view, support = scene
    both = [Segment(1, view.labels["carton"], 1.0, "depth"), Segment(2, view.labels[name], 1.0, "depth")]
    assert both[1].mask.sum() > 20 and find_fragments(view.frame, support, both) == {}

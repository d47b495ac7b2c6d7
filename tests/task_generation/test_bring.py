import numpy as np
import pytest

from pipeline.decisions import Decision
from pipeline.run.scene_stage import with_brought
from pipeline.simulation.objects import Region, hull
from pipeline.task_generation.bring import as_object, bring, shape_of


def test_what_is_brought_stands_free_on_the_table(bare_table, library):
    assets = [library[id] for id in ("red_mug", "hammer", "cereal_box", "screwdriver", "white_plate", "soda_can")]
    found = bring(bare_table, assets)
    assert len(found.names) == len(assets)
    objects = [as_object(p) for p in found.scene.placements]
    table = Region(hull(bare_table.table))
    for number, one in enumerate(objects):
        assert table.depth(one.outline).min() >= 0 and one.bottom == pytest.approx(0, abs=1e-9)
        for other in objects[:number]:
            assert Region(other.outline).distance(one.outline).min() > 0


def test_a_tool_is_put_beside_the_other_tool_and_a_full_table_says_so(bare_table, library):
    scene = bring(bare_table, [library["red_mug"], library["hammer"]]).scene
    mug, hammer, driver = bring(scene, [library["screwdriver"]]).scene.placements

    def apart(one, other):
        return float(np.linalg.norm((one.world_from_object.pos - other.world_from_object.pos)[:2]))

    assert apart(driver, hammer) < apart(driver, mug)
    found = bring(bare_table, [library["grey_tray"]] * 40)
    assert 0 < len(found.names) < 40 and "there is no free place on the table" in found.left_out[-1]
    assert len(set(found.names)) == len(found.names)


@pytest.mark.parametrize(
    ("id", "shape"),
    [("red_cube", "cube"), ("tea_box", "box"), ("soup_can", "cylinder"), ("red_ball", "sphere"), ("teal_bowl", "bowl"),
     ("banana", "irregular")],
)  # fmt: skip
def test_the_shape_of_an_asset_is_measured(library, id, shape):
    assert shape_of(library[id]) == shape


class Decided:
    def __init__(self, *decisions):
        self._decisions = decisions

    def active_decisions(self, *kinds):
        return [one for one in self._decisions if one.kind in kinds]


def test_a_decided_object_is_in_the_twin_where_a_person_moved_it(bare_table, library):
    pose = {"pos": [0.1, 0.1, 0.055], "quat_wxyz": [1, 0, 0, 0]}
    brought = Decision("bring", {"asset_id": "bean_can", "name": "bean_can", **pose})
    gone = Decision("bring", {"asset_id": "sold", "name": "sold", **pose})
    (can,) = with_brought(bare_table, Decided(brought, brought, gone), library).placements
    assert (can.name, can.asset_id) == ("bean_can", "bean_can")
    assert can.world_from_object.pos == pytest.approx(pose["pos"])
    moved = Decision("move", {"id": can.segment_id, "pos": [0.0, 0.2, 0.055], "quat_wxyz": [1, 0, 0, 0]})
    (after,) = with_brought(bare_table, Decided(brought, moved), library).placements
    assert after.world_from_object.pos == pytest.approx([0.0, 0.2, 0.055])

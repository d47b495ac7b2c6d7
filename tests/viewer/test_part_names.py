"""The viewer's sliders call a drawer what everybody else calls it."""

import cabinet
import mujoco

from pipeline.scene.files import read_scene
from pipeline.scene.parts import parts_of
from studio.viewing.joints import joints_of


def test_every_joint_that_can_be_moved_by_hand_has_the_name_of_its_part(tmp_path):
    folder = cabinet.write(tmp_path / "one")
    scene = read_scene(folder)
    model = mujoco.MjModel.from_xml_path(str(folder / "scene" / "scene.xml"))
    called = {p.name: {one.joint: one.name for one in parts_of(p)} for p in scene.placements}
    sliders = joints_of(model, [p.name for p in scene.placements])
    told = [(one["object"], called[one["object"]][one["name"]]) for one in sliders]
    drawers = [("cabinet", f"{level}_drawer") for level in ("top", "middle", "bottom")]
    assert sorted(told) == sorted([*drawers, ("oven", "door")])

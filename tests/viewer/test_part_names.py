"""The viewer's sliders have the names of the parts."""

import mujoco

from pipeline.scene.articulation import moving_parts
from pipeline.scene.scene_files import read_scene
from studio.viewer.joints import movable_joints


def test_every_joint_that_can_be_moved_by_hand_has_the_name_of_its_part(furniture):
    scene = read_scene(furniture)
    model = mujoco.MjModel.from_xml_path(str(furniture / "scene" / "scene.xml"))
    names = {p.name: {one.joint: one.name for one in moving_parts(p)} for p in scene.placements}
    sliders = movable_joints(model, [p.name for p in scene.placements])
    labels = [(one["object"], names[one["object"]][one["name"]]) for one in sliders]
    drawers = [("cabinet", f"{level}_drawer") for level in ("top", "middle", "bottom")]
    assert sorted(labels) == sorted([*drawers, ("oven", "door")])

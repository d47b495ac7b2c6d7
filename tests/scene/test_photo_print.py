"""An asset that stands for another print wears the photograph's, where the photograph shows it."""

from dataclasses import replace

import cv2
import drawn_scene as make
import numpy as np
import pytest

from pipeline.frame import Observation
from pipeline.geometry import Pose, rotation_about_z
from pipeline.scene import scene_files
from pipeline.scene.appearance import photo_print
from pipeline.scene.mjcf import builder, mesh_export
from pipeline.scene.overrides import Override
from pipeline.scene.placement import Look, MachinePose
from pipeline.scene.rendering import render_model, render_twin

SIZE = (make.CAMERA.width, make.CAMERA.height)
BEHIND = make.camera_pose((-0.1, 0.6, 0.5))


@pytest.fixture
def other_print(library, tmp_path):
    """Return the scene of a cracker box, the inputs of a photograph of that box with another print, and that print."""
    asset, other = library["cracker_box"], library["sugar_box"]
    box = make.placement(
        asset.mesh, "crackers", (0, 0.05), yaw=0.5, size=asset.size, asset_id=asset.id, collision=asset.collision
    )
    scene = make.scene(box)
    printed = Look(mesh_export.visual_mesh(asset.mesh).obj, mesh_export.visual_mesh(other.mesh).texture)
    true = replace(scene, placements=(replace(box, look=printed),))
    inputs = make.inputs(scene, library, tmp_path / "scene")
    return scene, photographed(inputs, true), true


def photographed(inputs, scene):
    image = render_model(builder.compile_spec(builder.build_spec(scene)), SIZE)
    seen = inputs.observation
    return replace(inputs, observation=Observation(replace(seen.frame, rgb=image.rgb), seen.support))


def drawn(scene, world_from_camera=None):
    seen = scene if world_from_camera is None else replace(scene, world_from_camera=world_from_camera)
    return render_model(builder.compile_spec(builder.build_spec(seen)), SIZE)


def inside(mask):
    return cv2.erode(mask.astype(np.uint8), np.ones((9, 9))) > 0


def difference(a, b, inner):
    return float(np.abs(a.astype(float) - b).mean(-1)[inner].mean())


def test_another_print_is_the_photographs_where_it_is_seen_and_the_assets_behind(other_print, tmp_path):
    scene, inputs, true = other_print
    twin = photo_print.with_prints(scene, scene, inputs)
    assert twin.placements[0].printed
    inner, photo = inside(inputs.segments[0].mask), inputs.observation.frame.rgb
    own = difference(drawn(scene).rgb, photo, inner)
    assert difference(drawn(twin).rgb, photo, inner) < own / 2
    beside = drawn(scene, BEHIND)
    back = inside(beside.labels > 0)
    # the top is seen from both sides
    changed, other = (difference(drawn(one, BEHIND).rgb, beside.rgb, back) for one in (twin, true))
    assert changed < other / 2
    # as it is written, read, and written again from its own files
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        scene_files.write_scene(twin, folder)
        assert difference(render_twin(folder / "scene", SIZE).rgb, photo, inner) < own / 2
        twin = scene_files.read_scene(folder)
        assert twin.placements[0].printed and twin.placements[0].look is None


def test_the_photographed_product_and_a_plain_asset_keep_their_own_look(other_print, library, tmp_path):
    scene, _, _ = other_print
    mug = library["red_mug"]
    plain = make.placement(mug.mesh, "mug", (-0.2, 0), size=mug.size, number=2, asset_id=mug.id)
    scene = replace(scene, placements=(*scene.placements, replace(plain, collision=mug.collision)))
    inputs = photographed(make.inputs(scene, library, tmp_path / "scene"), scene)
    assert [p.printed for p in photo_print.with_prints(scene, scene, inputs).placements] == [False, False]


@pytest.mark.parametrize("decided", [True, False])
def test_a_person_decides_whether_an_asset_is_printed(other_print, library, tmp_path, decided):
    scene, printed, _ = other_print
    same = photographed(make.inputs(scene, library, tmp_path / "same"), scene)
    # each is otherwise: another print is printed, the photographed product is not
    inputs = replace(same if decided else printed, overrides={1: Override(recolour=decided)})
    assert photo_print.with_prints(scene, scene, inputs).placements[0].printed == decided


def poses_away(box):
    """Return the box slid or moved by a person, and moved, resized and corrected by one from where it was found."""
    pose = box.world_from_object
    away = Pose.from_rotation(pose.pos + np.array([0.25, 0.05, 0]), rotation_about_z(1.2) @ pose.rotation)
    moved = replace(box, world_from_object=away)
    resized = replace(moved, size=1.3 * box.size, scale=1.3 * box.scale)
    found, wrong = MachinePose(pose, box.scale), MachinePose(away, 0.7 * box.scale)
    corrected = replace(box, machine_pose=wrong)
    return moved, replace(moved, machine_pose=found), replace(resized, machine_pose=found), corrected


def test_an_object_is_printed_in_the_pose_that_was_photographed_wherever_it_stands_now(other_print):
    scene, inputs, _ = other_print
    (box,) = scene.placements
    looks = [
        photo_print.with_prints(replace(scene, placements=(one,)), scene, inputs).placements[0].look
        for one in (box, *poses_away(box))
    ]
    assert looks[0] is not None and all(look == looks[0] for look in looks)


def test_the_photographed_product_keeps_its_look_wherever_it_stands_now(other_print, library, tmp_path):
    scene, _, _ = other_print
    inputs = photographed(make.inputs(scene, library, tmp_path / "same"), scene)
    for one in poses_away(scene.placements[0]):
        assert not photo_print.with_prints(replace(scene, placements=(one,)), scene, inputs).placements[0].printed


def test_a_mesh_of_one_colour_is_printed_and_one_that_the_mask_does_not_show_is_left(tmp_path):
    plain = make.placement(make.can(tmp_path), "can", rgb=(10, 200, 30))
    frame, support, segments = make.photograph(make.scene(plain))
    stripes = frame.rgb.copy()
    stripes[:, ::8] = (250, 250, 10)
    light = builder.room_light(make.scene())
    photograph = photo_print.Photograph(replace(frame, rgb=stripes), support.world_from_camera, light)
    look = photo_print.photo_print(plain, photograph, segments[0].mask)
    image = drawn(make.scene(replace(plain, look=look)))
    assert difference(image.rgb, stripes, inside(segments[0].mask)) < 8
    nothing = np.zeros_like(segments[0].mask)
    nothing[:3, :3] = True
    assert photo_print.photo_print(plain, photograph, nothing) is None

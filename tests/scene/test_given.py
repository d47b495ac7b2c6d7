"""What a person says of an object's place, size and weight holds, and can be taken back."""

from types import SimpleNamespace

import numpy as np
import pytest
import scene_making as make
from test_placing import error, own, read_back

from pipeline.assets import Library
from pipeline.geometry import Pose
from pipeline.scene import files
from pipeline.scene.given import Given, given_by

UPRIGHT = [1.0, 0, 0, 0]


def decided(*steps):
    """Decisions about object 2, kind and data."""
    return given_by(SimpleNamespace(kind=kind, data={"id": 2, **data}) for kind, data in steps).get(2, Given())


MOVE = ("move", {"pos": [0.1, 0.2, 0.3], "quat_wxyz": [2, 0, 0, 0]})
RESIZE = ("resize", {"scale": 1.3, "pos": [0.1, 0.2, 0.4], "quat_wxyz": UPRIGHT})
REFIT = ("refit", {"pos": [0.5, 0, 0], "quat_wxyz": UPRIGHT, "scale": 1.3, "free": True})
BACK = ("refit", {})
WEIGH = ("physics", {"mass": 0.7, "friction": 0.4})


def test_the_last_move_of_an_object_counts():
    given = decided(MOVE, ("move", {"pos": [0, 0, 2], "quat_wxyz": [2, 0, 0, 0]}))
    assert np.allclose(given.pose.pos, [0, 0, 2])
    assert np.allclose(given.pose.quat_wxyz, UPRIGHT)


def test_a_size_outlives_a_move_and_a_move_outlives_a_size_that_names_no_place():
    assert decided(RESIZE, MOVE).scale == 1.3
    assert np.allclose(decided(MOVE, ("resize", {"scale": 2})).fixed.pos, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("before", [(), (MOVE,), (RESIZE,), (MOVE, RESIZE), (REFIT,)])
def test_a_refit_ends_moves_and_sizes_and_back_to_the_machine_ends_everything(before):
    assert decided(*before, REFIT).fixed is None
    back = decided(*before, BACK)
    assert (back.pose, back.scale, back.free) == (None, None, False)


def test_another_asset_has_its_own_size_and_weight_where_the_first_stood():
    given = decided(MOVE, RESIZE, WEIGH, ("choose_asset", {"asset_id": "red_mug"}))
    assert np.allclose(given.fixed.pos, RESIZE[1]["pos"])
    assert (given.scale, given.mass, given.friction) == (None, None, None)


def test_a_weight_outlives_moves_and_nonsense_is_not_believed():
    assert decided(WEIGH, MOVE, REFIT).mass == 0.7
    assert decided(("physics", {"mass": -1, "friction": float("nan")})) is not None
    assert decided(("physics", {"mass": -1, "friction": float("nan")})).mass is None
    assert decided(("resize", {"scale": 1e9})).scale == 20


@pytest.fixture(scope="module")
def library():
    return Library.open()


@pytest.fixture(scope="module")
def mug(library):
    return make.scene(own(library, "red_mug", 2, (0.05, 0.1), 2.0))


def test_a_larger_thing_keeps_its_foot_and_remembers_where_the_machine_had_it(mug, library, tmp_path):
    (plain,) = read_back(mug, library, tmp_path).placements
    (large,) = read_back(mug, library, tmp_path, given={2: Given(scale=1.5)}).placements
    foot = [p.world_from_object.pos[2] - p.size[2] / 2 for p in (plain, large)]
    assert np.allclose(large.size, 1.5 * plain.size)
    assert foot[0] == pytest.approx(foot[1])
    assert plain.found is None
    assert np.allclose(large.found.world_from_object.matrix, plain.world_from_object.matrix)


def test_a_refit_finds_the_way_back_from_where_a_person_left_it(mug, library, tmp_path):
    true = mug.placements[0].world_from_object
    off = Pose(true.pos + np.array([0.03, -0.02, 0]), true.quat_wxyz)
    (found,) = read_back(mug, library, tmp_path, given={2: Given(off, refit=True)}).placements
    assert error(mug.placements[0], found) < 0.003


def test_a_refit_that_may_change_the_size_does(mug, library, tmp_path):
    true = mug.placements[0].world_from_object
    from_ = Given(true, 0.85, refit=True, free=True)
    (found,) = read_back(mug, library, tmp_path, given={2: from_}).placements
    assert found.scale == pytest.approx(1, abs=0.05)


def test_given_weights_reach_the_scene_and_its_file(mug, library, tmp_path):
    scene = read_back(mug, library, tmp_path, given={2: Given(mass=0.7, friction=0.4, scale=1.2)})
    assert (scene.placements[0].mass, scene.placements[0].friction) == (0.7, 0.4)
    files.write_scene(scene, tmp_path)
    again = files.read_scene(tmp_path)
    assert (again.placements[0].mass, again.placements[0].scale) == (0.7, 1.2)
    assert again.placements[0].mass_source == again.placements[0].friction_source == "person"
    asset = library["red_mug"]
    assert again.placements[0].mass_range == pytest.approx([edge * 1.2**3 for edge in asset.mass_range])
    assert again.placements[0].found.scale == 1


def test_what_a_person_leaves_as_a_model_said_it_stays_the_models():
    said = ("physics", {"mass": 0.5, "friction": 0.6, "friction_range": [0.4, 0.9], "source": "model seer"})
    given = decided(said, ("physics", {"mass": 0.9, "friction": 0.6}))
    assert (given.mass, given.mass_by, given.mass_range) == (0.9, "person", None)
    assert (given.friction_by, given.friction_range) == ("model seer", (0.4, 0.9))

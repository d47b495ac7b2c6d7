"""A person's own assets changed: what is told comes out of the library, and undo gives the library before."""

import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

from pipeline.assets import AssetError, Library, load_mesh, own
from pipeline.assets.library import OWN
from pipeline.scene.stand import body, stand

STEPS = {
    "name": lambda asset, mine: own.change(asset, mine, {"name": "Father's mug"}),
    "mass": lambda asset, mine: own.change(asset, mine, {"mass": 0.41, "friction": 0.5}),
    "turn": lambda asset, mine: own.turn(asset, mine, "x"),
    "scale": lambda asset, mine: own.scale(asset, mine, 0.2),
}


@pytest.fixture
def libraries(tmp_path) -> list[Path]:
    """A pack with a mug and a drill, and a place for one's own."""
    for id in ("red_mug", "toy_plane"):
        shutil.copytree(OWN / id, tmp_path / "pack" / id)
    shutil.copytree(OWN / "banana", tmp_path / "own" / "banana")
    return [tmp_path / "pack", tmp_path / "own"]


@pytest.mark.parametrize("id", ["red_mug", "banana"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_undo_after_any_step_gives_the_library_before_it(id, step, libraries):
    before = Library.open(libraries)
    step(before[id], libraries[1])
    after = Library.open(libraries)
    assert after.digest != before.digest and len(after) == len(before) and not after.skipped
    assert own.is_own(after[id], libraries[1])
    assert own.undo(libraries[1])
    assert Library.open(libraries).digest == before.digest
    assert not own.undo(libraries[1]) and not own.last_step(libraries[1])


def test_what_a_person_says_is_told_as_theirs(libraries):
    own.change(Library.open(libraries)["red_mug"], libraries[1], {"name": " Best\nmug ", "mass": 0.5})
    mug = Library.open(libraries)["red_mug"]
    assert (mug.name, mug.mass, mug.mass_source) == ("Best mug", 0.5, "person")
    for wrong in ({"mass": float("nan")}, {"mass": -1}, {"friction": 9}, {"name": " "}, {"id": "x"}, {"mass": "heavy"}):
        with pytest.raises(AssetError) as told:
            own.change(mug, libraries[1], wrong)
        assert "\n" not in str(told.value)


def test_four_quarter_turns_about_any_axis_are_none(libraries):
    before = Library.open(libraries)["banana"]
    vertices = load_mesh(before).vertices.copy()
    for axis in ("x", "y", "z"):
        for quarter in range(4):
            asset = Library.open(libraries)["banana"]
            own.turn(asset, libraries[1], axis)
            turned = Library.open(libraries)["banana"]
            if quarter == 0 and axis == "x":
                np.testing.assert_allclose(turned.size, before.size[[0, 2, 1]], atol=1e-4)
                np.testing.assert_allclose(load_mesh(turned).extents, turned.size, atol=1e-4)
    np.testing.assert_allclose(load_mesh(Library.open(libraries)["banana"]).vertices, vertices, atol=1e-5)


def test_a_larger_one_weighs_more_by_its_volume_unless_a_person_weighed_it(libraries):
    mug = Library.open(libraries)["red_mug"]
    own.scale(mug, libraries[1], 2 * float(max(mug.size)))
    larger = Library.open(libraries)["red_mug"]
    np.testing.assert_allclose(larger.size, 2 * mug.size, rtol=1e-3)
    assert larger.mass == pytest.approx(8 * mug.mass) and larger.mass_source == mug.mass_source
    made = body(stand(larger))
    assert made.mass == pytest.approx(larger.mass)
    np.testing.assert_allclose(np.diag(made.inertia), 32 * np.diag(body(stand(mug)).inertia), rtol=0.02)


def test_only_what_is_ones_own_can_be_taken_out_and_a_packs_is_back_then(libraries):
    mug = Library.open(libraries)["red_mug"]
    with pytest.raises(AssetError, match="not your own"):
        own.remove(mug, libraries[1])
    own.change(mug, libraries[1], {"name": "mine"})
    own.remove(Library.open(libraries)["red_mug"], libraries[1])
    assert Library.open(libraries)["red_mug"].name == mug.name
    own.undo(libraries[1])
    assert Library.open(libraries)["red_mug"].name == "mine"


def test_an_asset_stands_on_its_table(libraries):
    for asset in Library.open(libraries):
        model = stand(asset)
        data = mujoco.MjData(model)
        for _ in range(50):
            mujoco.mj_step(model, data)
        moved = data.body("asset").xpos - [0, 0, asset.size[2] / 2]
        assert np.abs(moved).max() < 0.02, f"{asset.id} is thrown off its table"
        made = body(model)
        assert np.linalg.eigvalsh(made.inertia).min() > 0

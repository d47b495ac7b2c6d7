"""A person's own assets changed: what is refused comes out of the library, and undo gives the library before."""

import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

from pipeline.assets import AssetError, Library, library_edits, load_mesh
from pipeline.assets.library import BUILTIN_LIBRARY
from pipeline.scene.preview.asset_preview import asset_model, mass_properties

STEPS = {
    "name": lambda asset, mine: library_edits.update_fields(asset, mine, {"name": "Father's mug"}),
    "mass": lambda asset, mine: library_edits.update_fields(asset, mine, {"mass": 0.41, "friction": 0.5}),
    "turn": lambda asset, mine: library_edits.rotate(asset, mine, "x"),
    "scale": lambda asset, mine: library_edits.scale(asset, mine, 0.2),
}


@pytest.fixture
def libraries(tmp_path) -> list[Path]:
    for id in ("red_mug", "toy_plane"):
        shutil.copytree(BUILTIN_LIBRARY / id, tmp_path / "pack" / id)
    shutil.copytree(BUILTIN_LIBRARY / "banana", tmp_path / "own" / "banana")
    return [tmp_path / "pack", tmp_path / "own"]


@pytest.mark.parametrize("id", ["red_mug", "banana"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_undo_after_any_step_gives_the_library_before_it(id, step, libraries):
    before = Library.open(libraries)
    step(before[id], libraries[1])
    after = Library.open(libraries)
    assert after.digest != before.digest and len(after) == len(before) and not after.skipped
    assert library_edits.is_own(after[id], libraries[1]) and library_edits.undo(libraries[1])
    assert Library.open(libraries).digest == before.digest
    assert not library_edits.undo(libraries[1]) and not library_edits.last_edit(libraries[1])


def test_a_users_values_have_the_source_person(libraries):
    library_edits.update_fields(Library.open(libraries)["red_mug"], libraries[1], {"name": " Best\nmug ", "mass": 0.5})
    mug = Library.open(libraries)["red_mug"]
    assert (mug.name, mug.mass, mug.mass_source) == ("Best mug", 0.5, "person")
    for wrong in ({"mass": float("nan")}, {"mass": -1}, {"friction": 9}, {"name": " "}, {"id": "x"}, {"mass": "heavy"}):
        with pytest.raises(AssetError) as refused:
            library_edits.update_fields(mug, libraries[1], wrong)
        assert "\n" not in str(refused.value)


def test_four_quarter_turns_about_any_axis_change_nothing(libraries):
    before = Library.open(libraries)["banana"]
    vertices = load_mesh(before).vertices.copy()
    for axis in ("x", "y", "z"):
        for quarter in range(4):
            library_edits.rotate(Library.open(libraries)["banana"], libraries[1], axis)
            turned = Library.open(libraries)["banana"]
            if quarter == 0 and axis == "x":
                np.testing.assert_allclose(turned.size, before.size[[0, 2, 1]], atol=1e-4)
                np.testing.assert_allclose(load_mesh(turned).extents, turned.size, atol=1e-4)
    np.testing.assert_allclose(load_mesh(Library.open(libraries)["banana"]).vertices, vertices, atol=1e-5)


def test_the_mass_scales_with_the_volume_unless_a_person_set_it(libraries):
    mug = Library.open(libraries)["red_mug"]
    library_edits.scale(mug, libraries[1], 2 * float(max(mug.size)))
    larger = Library.open(libraries)["red_mug"]
    np.testing.assert_allclose(larger.size, 2 * mug.size, rtol=1e-3)
    assert larger.mass == pytest.approx(8 * mug.mass) and larger.mass_source == mug.mass_source
    made = mass_properties(asset_model(larger))
    assert made.mass == pytest.approx(larger.mass)
    before = mass_properties(asset_model(mug)).inertia
    np.testing.assert_allclose(np.diag(made.inertia), 32 * np.diag(before), rtol=0.02)


def test_only_own_assets_can_be_removed_and_an_overridden_one_is_back(libraries):
    mug = Library.open(libraries)["red_mug"]
    with pytest.raises(AssetError, match="not your own"):
        library_edits.remove(mug, libraries[1])
    library_edits.update_fields(mug, libraries[1], {"name": "mine"})
    library_edits.remove(Library.open(libraries)["red_mug"], libraries[1])
    assert Library.open(libraries)["red_mug"].name == mug.name
    library_edits.undo(libraries[1])
    assert Library.open(libraries)["red_mug"].name == "mine"


def test_an_asset_stands_on_its_table(libraries):
    for asset in Library.open(libraries):
        model = asset_model(asset)
        data = mujoco.MjData(model)
        for _ in range(50):
            mujoco.mj_step(model, data)
        moved = data.body("asset").xpos - [0, 0, asset.size[2] / 2]
        assert np.abs(moved).max() < 0.02, f"{asset.id} is thrown off its table"
        assert np.linalg.eigvalsh(mass_properties(model).inertia).min() > 0

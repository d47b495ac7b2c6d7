"""Assets as other people ship them are read whole: groups, textures, masses, names; or one line names the cure."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image
from reference_frames import FRAMES

from pipeline.assets import Asset, AssetError
from pipeline.assets.importers.asset_import import find_sources, import_asset
from pipeline.assets.importers.drop import enclosing_folder

CASES = FRAMES.parent / "cases"
CARTON, YELLOW = (0.06, 0.09, 0.16), "yellow"


def textured_box(size: tuple[float, ...], at: tuple[float, ...]) -> trimesh.Trimesh:
    """A box with a yellow picture, its centre at a point."""
    box = trimesh.creation.box(size).apply_translation(at)
    image = Image.new("RGB", (32, 32), (230, 200, 30))
    box.visual = trimesh.visual.TextureVisuals(uv=np.random.default_rng(0).uniform(size=(8, 2)), image=image)
    return box


def write_groups(folder: Path, parts: list[trimesh.Trimesh]) -> Path:
    """Write the parts as groups of one OBJ file with its texture in materials/textures; return the file."""
    (folder / "meshes").mkdir(parents=True)
    (folder / "materials" / "textures").mkdir(parents=True)
    file = folder / "meshes" / "thing.obj"
    trimesh.Scene({f"part_{number}": part for number, part in enumerate(parts)}).export(file)
    for picture in (folder / "meshes").glob("*.png"):
        picture.rename(folder / "materials" / "textures" / picture.name)
    return file


@pytest.mark.parametrize("kind", ["obj", "urdf", "mjcf"])
def test_all_groups_of_a_file_and_its_texture_in_another_folder_are_read(kind: str, tmp_path: Path):
    parts = [textured_box((0.1, 0.08, 0.02), (0.3, 0, 0)), textured_box((0.02, 0.02, 0.2), (0.3, 0.05, 0.1))]
    file = write_groups(tmp_path / "tray", parts)
    assert file.read_text().count("\no ") + file.read_text().count("\ng ") + file.read_text().startswith("o ") >= 2
    links = '<geometry><mesh filename="package://tray/meshes/thing.obj" scale="0.5 0.5 0.5"/></geometry>'
    model = {
        "obj": "",
        "urdf": f'<robot name="t"><link name="a"><visual>{links}</visual><collision>{links}</collision></link></robot>',
        "mjcf": '<mujoco><asset><mesh name="m" file="../meshes/thing.obj" scale="0.5 0.5 0.5"/></asset><worldbody>'
        '<body><geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
    }[kind]
    if model:
        file = tmp_path / "tray" / "urdf" / f"thing.{'xml' if kind == 'mjcf' else kind}"
        file.parent.mkdir()
        file.write_text(model)
    assert enclosing_folder(file) == tmp_path / "tray"
    added = import_asset(file, tmp_path / "library", root=enclosing_folder(file))
    whole, factor = trimesh.util.concatenate(parts), 0.5 if model else 1
    read = trimesh.load_mesh(added.asset.mesh)
    np.testing.assert_allclose(added.asset.size, factor * whole.extents, atol=1e-4)
    assert read.volume == pytest.approx(factor**3 * whole.volume, rel=1e-3) and not added.warnings
    assert YELLOW in added.asset.caption
    touching = trimesh.util.concatenate([trimesh.load_mesh(p) for p in added.asset.collision or (added.asset.mesh,)])
    np.testing.assert_allclose(touching.extents, factor * whole.extents, atol=2e-3)


def read_case(name: str, library: Path) -> list[tuple[Asset, str, dict]]:
    """Import a case; return each asset with its warnings and the content of its asset.json."""
    added = [import_asset(source, library, root=CASES / name) for source in find_sources(CASES / name)]
    return [
        (one.asset, "; ".join(one.warnings), json.loads((one.asset.mesh.parent / "asset.json").read_text()))
        for one in added
    ]


@pytest.mark.frames
@pytest.mark.parametrize(
    ("name", "size", "caption", "warning", "mass"),
    [
        ("asset_glb_quantized", (0.08, 0.1, 0.08), "mug", "", None),
        ("asset_glb_draco", (0.08, 0.102, 0.08), "mug", "", None),
        ("asset_glb_ktx2", (0.06, 0.16, 0.09), "grey carton", "image/ktx2 and was left out", None),
        ("asset_glb_plain", (0.06, 0.16, 0.09), "yellow carton", "", None),
        ("asset_obj_backslash_path", CARTON, "yellow carton", "", None),
        ("asset_obj_missing_mtl", CARTON, "grey carton", "its material.mtl is missing", None),
        ("asset_obj_spaces_unicode", CARTON, "yellow", "", None),
        ("asset_mjcf_include", CARTON, "red main", "", None),
        ("asset_urdf_package", CARTON, "thing", "", 0.4),
        ("asset_urdf_primitive", CARTON, "thing", "", 0.4),
        ("asset_urdf_scale_mm", CARTON, "thing", "", 0.4),
        ("asset_urdf_zero_mass", CARTON, "thing", "link base has no mass", None),
        ("asset_urdf_drawer", (0.2, 0.2, 0.12), "1 drawer", "link drawer has no mass", None),
        ("asset_ycb_layout", CARTON, "cracker box, yellow", "", None),
    ],
)
def test_a_file_of_a_known_kind_has_its_size_look_mass_and_name(
    name: str, size: tuple[float, ...], caption: str, warning: str, mass: float | None, tmp_path: Path
):
    found = read_case(name, tmp_path)
    asset, said, facts = found[0]
    if name == "asset_ycb_layout":
        assert [asset.id for asset, *_ in found] == ["003_cracker_box", "006_mustard_bottle"]
    np.testing.assert_allclose(asset.size, size, atol=1e-3)
    assert caption in asset.caption and warning in said and bool(said) == bool(warning)
    assert mass is None or (asset.mass, facts["mass_from"]) == (mass, "asset")


@pytest.mark.frames
@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("asset_glb_millimetres", r"cm \(1.60 m\) or mm \(16 cm\); give --units"),
        ("asset_flat_card", "is flat"),
        ("asset_mjcf_zero_mass", "its part a moves and has no mass; give its shapes a mass"),
        ("asset_urdf_dae", "convert it to OBJ"),
        ("asset_urdf_xacro", "run xacro thing.urdf > thing_plain.urdf"),
        ("asset_urdf_xacro_expr", "run xacro thing.urdf"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_cure(name: str, cure: str, tmp_path: Path):
    with pytest.raises(AssetError, match=cure):
        read_case(name, tmp_path)

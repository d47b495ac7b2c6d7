"""Imported files of any kind become metric, upright assets, read whole as people ship them; problems name the cure."""

import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import trimesh
from PIL import Image
from reference_frames import FRAMES
from trimesh.transformations import rotation_matrix

from pipeline.assets import Asset, AssetError, Library, library_edits
from pipeline.assets.collision import QUARTER_TURNS_UP
from pipeline.assets.importers.asset_import import ImportOptions, find_sources, import_asset, unpack
from pipeline.assets.importers.drop import enclosing_folder
from pipeline.assets.importers.mesh_import import has_texture
from pipeline.assets.importers.model_import import read_model

CABINET = """<mujoco model="cabinet">
  <compiler inertiagrouprange="0 0" texturedir="lost"/>
  <default><default class="case" group="1"/></default>
  <asset>
    <texture name="wood" type="2d" file="/nowhere/wood.png"/>
    <texture name="grey" type="2d" builtin="flat" rgb1="0.5 0.5 0.5" width="4" height="4"/>
    <texture name="grey" type="2d" builtin="flat" rgb1="0.5 0.5 0.5" width="4" height="4"/>
    <material name="wood" texture="wood" rgba="0.6 0.4 0.2 1"/>
    <mesh name="knob" file="knob.stl" scale="0.001 0.001 0.001"/>
  </asset>
  <worldbody>
    <body name="case">
      <geom type="box" size="0.1 0.1 0.02" pos="0 0 0.02" material="wood"/>
      <geom type="box" size="0.1 0.1 0.02" pos="0 0 0.18" material="wood"/>
      <region name="top"/>
      <body name="drawer" pos="0 0 0.1">
        <joint name="drawer_slide" type="slide" axis="0 -1 0" range="0 0.15" limited="true"/>
        <geom type="box" size="0.09 0.09 0.05" rgba="0.2 0.3 0.8 1"/>
        <geom type="mesh" mesh="knob" pos="0 -0.1 0"/>
      </body>
    </body>
  </worldbody>
  <region name="bottom"/>
</mujoco>"""


def saved(mesh: trimesh.Trimesh, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(path)
    return path


@pytest.mark.parametrize("kind", ["obj", "stl", "ply", "glb"])
def test_a_box_of_any_format_is_the_same_box(kind, tmp_path):
    high = [0, 0.3, 0] if kind == "glb" else [0, 0, 0.3]  # y is up in glTF
    extents = np.array([0.1, 0.1, 0.1]) + np.array(high) - 0.1 * (np.array(high) > 0)
    source = saved(trimesh.creation.box(extents).apply_translation([1, 2, 3]), tmp_path / f"tall_box.{kind}")
    added = import_asset(source, tmp_path / "library")
    assert not added.warnings and added.asset.category == "box" and not added.asset.collision
    np.testing.assert_allclose(added.asset.size, [0.1, 0.1, 0.3], atol=1e-4)
    (reread,) = Library.open([tmp_path / "library"])
    np.testing.assert_allclose(reread.size, added.asset.size, atol=1e-6)


def test_ambiguous_units_are_asked_for_mesh_faults_reported_and_unreadable_files_refused_in_one_line(tmp_path):
    source = saved(trimesh.creation.box([80, 60, 120]), tmp_path / "carton.stl")
    with pytest.raises(AssetError, match=r"cm \(1.20 m\) or mm \(12 cm\).*--units"):
        import_asset(source, tmp_path / "library")
    added = import_asset(source, tmp_path / "library", ImportOptions(units="mm"))
    np.testing.assert_allclose(added.asset.size, [0.08, 0.06, 0.12], atol=1e-4)
    box = trimesh.creation.box([0.1, 0.1, 0.1])
    inside_out = box.copy()
    inside_out.invert()
    added = import_asset(saved(inside_out, tmp_path / "inside_out.obj"), tmp_path / "library")
    assert added.warnings == ("it was inside out and was turned",)
    assert trimesh.load_mesh(added.asset.mesh).volume > 0
    torn = trimesh.Trimesh(box.vertices, box.faces[:-2])
    assert "holes" in " ".join(import_asset(saved(torn, tmp_path / "torn.obj"), tmp_path / "library").warnings)
    tiny = saved(trimesh.creation.box([0.001, 0.001, 0.001]), tmp_path / "tiny.obj")
    assert "absurd" in " ".join(import_asset(tiny, tmp_path / "library").warnings)
    for name, text, message in (
        ("a.xml", "<mujoco", "not readable XML"),
        ("a.obj", "nothing", "a.obj cannot be read: it holds no triangles"),
        ("a.obj", "v nan 0 0\nv 0 1 0\nv 0 0 nan\nf 1 2 3", "a.obj has vertices that are not numbers; export it"),
        ("a.glb", "glTF" + 60 * "\0", "a.glb is cut short or damaged; export it again"),
        ("a.gltf", '{"asset": {"version": "2.0"}, "buffers": [{"uri": "a.bin"}]}', "not there: a.bin; import the two"),
        ("a.urdf", '<robot name="a"><deformable/></robot>', "is a soft body, .* give its surface as OBJ"),
        ("a.txt", "nothing", "not supported"),
        ("a.zip", "nothing", "cannot be unpacked"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(AssetError, match=rf"\A.*({message}).*\Z"):
            found = find_sources(tmp_path / name) if name != "a.zip" else [unpack(tmp_path / name, tmp_path / "zip")]
            import_asset(found[0], tmp_path / "library")


def mug() -> trimesh.Trimesh:
    outline = np.array([[0, 0], [0.04, 0], [0.04, 0.09], [0.037, 0.09], [0.037, 0.004], [0, 0.004]])
    ring = trimesh.creation.torus(0.022, 0.005).apply_transform(rotation_matrix(np.pi / 2, [1, 0, 0]))
    return trimesh.util.concatenate([trimesh.creation.revolve(outline), ring.apply_translation([0.045, 0, 0.045])])


@pytest.mark.parametrize(("turn", "opens"), [(-1, "z"), (0, "-y"), (1, "-z")])
def test_a_mug_stays_hollow_however_it_lies_and_is_a_container_only_upright(turn, opens, tmp_path):
    source = mug().apply_transform(rotation_matrix(turn * np.pi / 2, [1, 0, 0]))  # a file in which y is up
    added = import_asset(saved(source, tmp_path / "tea_mug.glb"), tmp_path / "own")
    asset = added.asset
    assert library_edits.opening_side(asset) == opens and asset.container == (opens == "z")
    assert ("opening faces" in " ".join(added.warnings)) == (opens != "z")
    assert sum(trimesh.load_mesh(file).volume for file in asset.collision) < 0.5 * source.convex_hull.volume
    axis, quarters = QUARTER_TURNS_UP[opens]
    if quarters:
        library_edits.rotate(asset, tmp_path / "own", axis, quarters)
    (upright,) = Library.open([tmp_path / "own"])
    assert upright.container and library_edits.opening_side(upright) == "z"
    library_edits.rotate(upright, tmp_path / "own", "y")
    (on_its_side,) = Library.open([tmp_path / "own"])
    assert not on_its_side.container and library_edits.opening_side(on_its_side) == "x"
    assert len(on_its_side.collision) == len(asset.collision)


def test_a_solid_mug_is_no_container_and_captions_put_colour_before_a_category_and_after_a_name(tmp_path):
    source = saved(trimesh.creation.cylinder(0.04, 0.09), tmp_path / "tea_mug.obj")
    asset = import_asset(source, tmp_path / "library").asset
    assert not asset.collision and not asset.container
    files = [saved(mug(), tmp_path / name) for name in ("mug.stl", "my_mug.stl")]
    captions = [import_asset(file, tmp_path / "library").asset.caption for file in files]
    assert captions == ["grey mug, 11 x 8 x 9 cm", "my mug, grey, 11 x 8 x 9 cm"]
    mesh, image = trimesh.creation.box([0.1, 0.1, 0.1]), Image.new("RGB", (2000, 1500), (200, 30, 30))
    mesh.visual = trimesh.visual.TextureVisuals(uv=np.random.default_rng(0).uniform(size=(8, 2)), image=image)
    asset = import_asset(saved(mesh, tmp_path / "thing.glb"), tmp_path / "library").asset
    (picture,) = asset.mesh.parent.glob("*.png")
    assert "red" in asset.caption and max(Image.open(picture).size) <= 1024, "a texture is reduced"


def test_a_faulty_model_is_repaired_and_the_same_from_a_zip_a_folder_or_a_file(tmp_path):
    saved(trimesh.creation.icosphere(1, 8.0), tmp_path / "files" / "meshes" / "knob.stl")
    cabinet = tmp_path / "files" / "cabinet.xml"
    cabinet.write_text(CABINET)
    added = import_asset(cabinet, tmp_path / "library", ImportOptions(licence="CC0"))
    asset, warnings = added.asset, " ".join(added.warnings)
    words = "inertiagrouprange", "<region>", "<default>", "twice", "wood.png is missing"
    assert all(word in warnings for word in words)
    (joint,) = asset.joints
    assert (joint.name, joint.kind, joint.range, joint.part) == ("drawer_slide", "slide", (0.0, 0.15), "drawer")
    assert "1 drawer" in asset.caption and asset.licence == "CC0" and len(asset.collision) == 4
    np.testing.assert_allclose(asset.size[2], 0.2, atol=1e-3)
    with zipfile.ZipFile(tmp_path / "things.zip", "w") as packed:
        for file in cabinet.parent.rglob("*"):
            packed.write(file, Path("cabinet") / file.relative_to(cabinet.parent))
    (tmp_path / "unpacked").mkdir()
    (found,) = find_sources(unpack(tmp_path / "things.zip", tmp_path / "unpacked"))
    assert found.name == "cabinet.xml" and read_model(found).joints
    assert [f.name for f in find_sources(cabinet.parent)] == ["cabinet.xml"]


def test_a_failed_import_leaves_no_partial_asset_in_the_library(tmp_path, monkeypatch):
    source = saved(trimesh.creation.box([0.1, 0.1, 0.1]), tmp_path / "box.obj")
    library = tmp_path / "library"
    monkeypatch.setattr("pipeline.assets.importers.asset_import._measured_caption", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        import_asset(source, library)
    assert not list(library.iterdir())
    (library / ".box.4194305.part").mkdir()  # what a kill leaves behind
    assert len(Library.open([library])) == 0 and not Library.open([library]).skipped
    monkeypatch.undo()
    import_asset(source, library)
    with pytest.raises(AssetError, match="has an asset"):
        import_asset(source, library)
    heavier = import_asset(source, library, ImportOptions(mass=2.0, replace=True)).asset
    facts = json.loads((heavier.mesh.parent / "asset.json").read_text())
    assert facts["mass_from"] == "person" and heavier.mass == 2.0
    assert facts["mass_range"][0] < 2 < facts["mass_range"][1]


CASES = FRAMES.parent / "cases"
CARTON, YELLOW = (0.06, 0.09, 0.16), "yellow"


def textured_box(size: tuple[float, ...], at: tuple[float, ...]) -> trimesh.Trimesh:
    box = trimesh.creation.box(size).apply_translation(at)
    image = Image.new("RGB", (32, 32), (230, 200, 30))
    box.visual = trimesh.visual.TextureVisuals(uv=np.random.default_rng(0).uniform(size=(8, 2)), image=image)
    return box


@pytest.mark.parametrize("kind", ["obj", "urdf", "mjcf"])
def test_all_groups_of_a_file_and_its_texture_in_another_folder_are_read(kind: str, tmp_path: Path):
    parts = [textured_box((0.1, 0.08, 0.02), (0.3, 0, 0)), textured_box((0.02, 0.02, 0.2), (0.3, 0.05, 0.1))]
    (textures := tmp_path / "tray" / "materials" / "textures").mkdir(parents=True)
    (file := tmp_path / "tray" / "meshes" / "thing.obj").parent.mkdir()
    trimesh.Scene({"one": parts[0], "other": parts[1]}).export(file)
    for picture in file.parent.glob("*.png"):
        picture.rename(textures / picture.name)
    links = '<geometry><mesh filename="package://tray/meshes/thing.obj" scale="0.5 0.5 0.5"/></geometry>'
    model = {
        "obj": "",
        "urdf": '<robot name="t"><link name="a"><inertial><mass value="0.1"/><inertia ixx="1" iyy="1"/></inertial>'
        f"<visual>{links}</visual><collision>{links}</collision></link></robot>",
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
    assert read.volume == pytest.approx(factor**3 * whole.volume, rel=1e-3)
    assert ["no possible inertia" in one for one in added.warnings] == [True] * (kind == "urdf")
    assert YELLOW in added.asset.caption
    touching = trimesh.util.concatenate([trimesh.load_mesh(p) for p in added.asset.collision or (added.asset.mesh,)])
    np.testing.assert_allclose(touching.extents, factor * whole.extents, atol=2e-3)


BULLET = """<robot name="t"><link name="a"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="0"/></inertial>
<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>
<joint name="j" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0, 0, 0.2"/><axis xyz="1 0 0"/>
<limit lower="1" upper="-1" effort="1" velocity="1"/></joint>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><geometry><mesh filename="box.obj"/></geometry></visual></link></robot>"""


def test_a_urdf_that_bullet_reads_and_mujoco_refuses_is_repaired(tmp_path: Path):
    textured_box((0.1, 0.1, 0.1), (0, 0, 0)).export(tmp_path / "box.obj")
    text = (tmp_path / "box.obj").read_text()
    (tmp_path / "box.obj").write_text(re.sub(r"(?<=\d)/\d+", "", text, count=3))  # its first face is bare
    (tmp_path / "a.urdf").write_text(BULLET)
    read = read_model(tmp_path / "a.urdf")
    assert len(read.repairs) == 4 and read.mass == pytest.approx(3) and read.mesh.extents[2] == pytest.approx(0.1)
    assert read.joints[0].range == (-np.inf, np.inf) and has_texture(read.mesh)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(read.source, "unicode"), dict(read.files))
    assert sorted(model.body("a").inertia * 12 / 2) == pytest.approx([0.05, 0.1, 0.13])
    assert model.body("b").pos == pytest.approx([0, 0, 0.2])


def test_a_folder_as_ycb_unpacks_it_is_one_textured_object(tmp_path: Path):
    for scan in ("google_16k", "tsdf", "clouds"):
        for name in ("textured.obj", "nontextured.stl", "nontextured.ply")[scan == "clouds" :]:
            saved(trimesh.creation.box([0.1, 0.1, 0.1]), tmp_path / "019_pitcher" / scan / name)
        (tmp_path / "019_pitcher" / scan / "kinbody.xml").write_text("<KinBody/>")
    assert find_sources(tmp_path) == [tmp_path / "019_pitcher" / "google_16k" / "textured.obj"]


def read_case(name: str, library: Path) -> list[tuple[Asset, str, dict]]:
    """Import a case; return each asset with its warnings and the content of its asset.json."""
    added = [import_asset(source, library, root=CASES / name) for source in find_sources(CASES / name)]
    facts = [json.loads((one.asset.mesh.parent / "asset.json").read_text()) for one in added]
    return [(one.asset, "; ".join(one.warnings), told) for one, told in zip(added, facts, strict=True)]


@pytest.mark.frames
@pytest.mark.parametrize(
    ("name", "size", "caption", "warning", "mass"),
    [
        ("asset_glb_quantized", (0.08, 0.1, 0.08), "mug", "", None),
        ("asset_glb_draco", (0.08, 0.102, 0.08), "mug", "", None),
        ("asset_glb_ktx2", (0.06, 0.16, 0.09), "grey carton", "image/ktx2 and was left out", None),
        ("asset_obj_backslash_path", CARTON, "yellow carton", "", None),
        ("asset_obj_missing_mtl", CARTON, "grey carton", "its material.mtl is missing", None),
        ("asset_obj_spaces_unicode", CARTON, "yellow", "", None),
        ("asset_urdf_primitive", CARTON, "thing", "", 0.4),
        ("asset_urdf_scale_mm", CARTON, "thing", "", 0.4),
        ("asset_urdf_zero_mass", CARTON, "thing", "link base has no mass", None),
        ("asset_urdf_drawer", (0.2, 0.2, 0.12), "1 drawer", "link drawer has no mass", None),
        ("asset_ycb_layout", CARTON, "cracker box, yellow", "", None),
    ],
)
def test_a_file_of_a_known_kind_has_its_size_look_mass_and_name(name, size, caption, warning, mass, tmp_path):
    found = read_case(name, tmp_path)
    asset, said, facts = found[0]
    if name == "asset_ycb_layout":
        assert [asset.id for asset, *_ in found] == ["003_cracker_box", "006_mustard_bottle"]
    np.testing.assert_allclose(asset.size, size, atol=1e-3)
    assert caption in asset.caption and warning in said and bool(said) == bool(warning)
    assert mass is None or (asset.mass, facts["mass_from"]) == (mass, "asset")


@pytest.mark.frames
def test_a_file_that_cannot_be_read_names_the_cure(tmp_path: Path):
    for name, cure in (
        ("asset_glb_millimetres", r"cm \(1.60 m\) or mm \(16 cm\); give --units"),
        ("asset_flat_card", "is flat"),
        ("asset_mjcf_zero_mass", "its part a moves and has no mass; give its shapes a mass"),
        ("asset_urdf_dae", "convert it to OBJ"),
        ("asset_urdf_xacro", "run xacro thing.urdf > thing_plain.urdf"),
    ):
        with pytest.raises(AssetError, match=cure):
            read_case(name, tmp_path)

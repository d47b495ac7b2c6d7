"""Models that other packages keep on this machine come in as packs, and single ones from Objaverse."""

import gzip
import json
import shutil
import tempfile
import threading
from pathlib import Path

import mujoco
import pytest
import trimesh
from PIL import Image

from pipeline.assets import AssetError, Library
from pipeline.assets.importers import confined_import, import_child
from pipeline.assets.importers.asset_import import ImportOptions, import_asset
from pipeline.assets.importers.import_staging import licence_name
from pipeline.assets.packs.install import import_objaverse, install_pack
from pipeline.assets.packs.objaverse import look_up_object, parse_uid
from pipeline.assets.packs.pack import find_menagerie, unpack_wheels
from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.untrusted.confined import Progress
from tests.models.hostile import serving

MIT = "Copyright (c) 2021 A Lab\n\nPermission is hereby granted, free of charge, to any person"
BSD = "Copyright 2018 Some Robots.\n\nRedistribution and use in source and binary forms ..."
BREAD = """<mujoco model="bread"><asset>
  <mesh file="meshes/bread.stl" name="bread_mesh" scale="0.8 0.8 0.8"/>
  <texture file="../textures/bread.png" type="2d" name="tex"/>
  <material name="bread" texrepeat="15 15" texture="tex" texuniform="true"/>
</asset><worldbody><body><body name="object">
  <geom mesh="bread_mesh" type="mesh" density="400" friction="0.95 0.3 0.1" material="bread" group="0" condim="4"/>
</body><site name="bottom_site" pos="0 0 -0.045" rgba="0 0 0 0" size="0.005"/></body></worldbody></mujoco>"""
ARM = """<mujoco model="arm">
  <compiler angle="radian" meshdir="assets" autolimits="true"/>
  <include file="shared.xml"/>
  <asset><mesh class="arm" file="base.stl"/><mesh class="arm" file="link.stl"/></asset>
  <worldbody><body name="base" childclass="arm">
    <geom mesh="base" class="visual"/><geom type="cylinder" size="0.04 0.03" class="collision"/>
    <body name="link" pos="0 0 0.04"><joint name="lift" class="lift"/>
      <geom mesh="link" class="visual"/><geom type="box" size="0.02 0.02 0.1" pos="0 0 0.1" class="collision"/></body>
  </body></worldbody>
  <actuator><position name="lift" joint="lift" kp="10"/></actuator>
  <keyframe><key name="home" qpos="0.2" ctrl="0.2"/></keyframe>
</mujoco>"""
SHARED = """<mujocoinclude><default><default class="arm"><mesh scale="0.001 0.001 0.001"/>
  <default class="lift"><joint axis="0 1 0" range="-0.5 1.5" damping="0.1"/></default>
  <default class="visual"><geom type="mesh" contype="0" conaffinity="0" group="2" rgba="0.8 0.2 0.2 1"/></default>
  <default class="collision"><geom group="3"/></default>
</default></default></mujocoinclude>"""


@pytest.fixture
def menagerie(tmp_path, monkeypatch):
    top = tmp_path / "given"
    for maker, licence in (("one", BSD), ("two", MIT)):
        folder = top / f"{maker}_arm"
        (folder / "assets").mkdir(parents=True)
        trimesh.creation.cylinder(40, 60).export(folder / "assets" / "base.stl")
        trimesh.creation.box([40, 40, 200]).apply_translation([0, 0, 100]).export(folder / "assets" / "link.stl")
        (folder / "arm.xml").write_text(ARM)
        (folder / "shared.xml").write_text(SHARED)
        (folder / "up.xml").write_text(ARM)
        (folder / "scene.xml").write_text('<mujoco><include file="arm.xml"/><worldbody/></mujoco>')
        (folder / "LICENSE").write_text(licence)
    (top / "README.md").touch()
    monkeypatch.setenv("MENAGERIE_ROOT", str(top))


def test_an_object_has_its_textures_mean_colour_and_no_site_geoms(tmp_path):
    for folder in ("objects/meshes", "textures"):
        (tmp_path / folder).mkdir(parents=True)
    trimesh.creation.box([0.06, 0.05, 0.05]).export(tmp_path / "objects" / "meshes" / "bread.stl")
    Image.new("RGB", (8, 8), (180, 110, 50)).save(tmp_path / "textures" / "bread.png")
    (tmp_path / "objects" / "bread.xml").write_text(BREAD)
    bread = import_asset(tmp_path / "objects" / "bread.xml", tmp_path / "library", ImportOptions(), tmp_path).asset
    assert (bread.id, bread.name, bread.category) == ("bread", "bread", "bread") and "brown" in bread.caption
    assert sorted(bread.size) == pytest.approx([0.04, 0.04, 0.048], abs=1e-3) and bread.friction == 0.95


def test_menagerie_models_are_imported_with_their_joints_and_licences(menagerie, tmp_path):
    assert not [step.error for step in install_pack("menagerie", tmp_path) if step.error]
    one, two = Library.open([tmp_path / "menagerie"])
    assert (one.id, two.id) == ("one_arm", "two_arm")
    assert (one.licence, two.licence) == ("BSD-2-Clause (Copyright 2018 Some Robots)", "MIT (Copyright (c) 2021 A Lab)")
    assert (one.name, one.category) == ("one arm", "robot")
    (lift,) = one.joints
    assert (lift.name, lift.kind, lift.range, lift.part) == ("lift", "hinge", (-0.5, 1.5), "link")
    assert one.size[2] == pytest.approx(0.27, abs=1e-3) and "red" in one.caption and one.model is not None
    assert mujoco.MjModel.from_xml_path(str(one.model)).njnt == 1, "what it included is in it"
    assert "already there" in next(iter(install_pack("menagerie", tmp_path))).message


def test_a_menagerie_folder_imports_its_main_model_and_what_is_missing_or_broken_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    folder = tmp_path / "the_panda_arm"
    for files, main in (
        ("hand.xml panda.xml mjx_panda.xml", "panda.xml"),
        ("left_hand.xml right_hand.xml scene_left.xml", "left_hand.xml"),
        ("the_panda_arm.xml a.xml", "the_panda_arm.xml"),
        ("scene.xml", None),
    ):
        folder.mkdir()
        for name in files.split():
            (folder / name).write_text("<mujoco><worldbody/></mujoco>")
        (folder / "x.xml").write_text("<mujoco><actuator/></mujoco>")
        found = find_menagerie()
        assert [model.name for model in found.models] == [main] if found else main is None
        shutil.rmtree(folder)
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "nowhere"))
    assert find_menagerie() is None
    with pytest.raises(AssetError, match=r"\A.*set MENAGERIE_ROOT.*\Z"):
        next(iter(install_pack("menagerie", tmp_path)))
    with pytest.raises(AssetError, match="contains no wheels"):
        unpack_wheels(tmp_path, tmp_path)
    (tmp_path / "part.whl").write_bytes(b"cut off")
    *_, last = install_pack("libero", tmp_path / "library", tmp_path)
    assert "part.whl cannot be unpacked" in last.error and "\n" not in last.error


def test_a_broken_model_is_named_and_the_others_are_imported(menagerie, imported_here, tmp_path):
    (tmp_path / "secret.xml").write_text(SHARED)
    for included, message in (
        ("gone.xml", "is missing"), ("arm.xml", "twice"), ("../../secret.xml", "was not given with it")
    ):  # fmt: skip
        (tmp_path / "given" / "one_arm" / "arm.xml").write_text(ARM.replace("shared.xml", included))
        failed, done = install_pack("menagerie", tmp_path / message)
        assert message in failed.error and not failed.id and done.id


@pytest.fixture
def imported_here(monkeypatch, tmp_path_factory):
    """Let this process do the work of an import's confined child, which takes a second to start."""

    def call(function, arguments, readable, *_, writable, **__):
        request = arguments["request"]
        assert function == confined_import.FUNCTION
        assert ([Path(request["root"]), *SYSTEM_LIBRARIES], [Path(request["staging"])]) == (readable, writable)
        for event in import_child.events(request, lambda _: None):
            yield Progress(json.loads(json.dumps(event)))

    monkeypatch.setattr(confined_import.confined, "call", call)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("scratch")))


UID = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def served(tmp_path) -> Path:
    top = tmp_path / "objaverse"
    (top / "glbs" / "000-001").mkdir(parents=True)
    (top / "metadata").mkdir()
    trimesh.creation.box((0.08, 0.05, 0.1)).export(top / "glbs" / "000-001" / f"{UID}.glb")
    paths = {UID: f"glbs/000-001/{UID}.glb", "f" * 32: "../../etc/passwd"}
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps(paths).encode()))
    user = {"displayName": "Ada", "username": "ada7"}
    about = {UID: {"name": "Tea tin", "license": "by-nc", "user": user, "archives": {"glb": {"size": 1234}}}}
    (top / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top


def test_licences_are_known_by_their_wording_and_explained_and_an_unknown_id_is_one_line(served, tmp_path, monkeypatch):
    for short, name, told in (("by", "CC BY 4.0", "named"), ("cc0", "CC0 1.0", "no conditions"), ("", "unknown", "")):
        about = gzip.compress(json.dumps({UID: {"license": short}}).encode())
        (served / "metadata" / "000-001.json.gz").write_bytes(about)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache of {short}"))
        item = look_up_object(UID, served.as_uri())
        assert item.licence.startswith(name) and told in item.terms and bool(told) == bool(item.terms)
    none = "no object with the id"
    for uid, message in (("mug", "not an Objaverse id"), ("a" * 32, none), ("f" * 32, none)):
        with pytest.raises(AssetError, match=rf"\A.*({message}).*\Z"):
            look_up_object(uid, served.as_uri())
    for text, name in (
        (BSD + "Neither the name of", "BSD-3-Clause (Copyright 2018 Some Robots)"),
        ("      Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        ("Creative Commons Attribution-NonCommercial 4.0 International", "CC BY-NC 4.0"),
        ("\n Ask Ada before you use this.\nPlease", "Ask Ada before you use this."),
        ("", ""),
    ):
        assert licence_name(text) == name


def test_any_server_answer_gives_one_line_and_nothing_broken_is_saved(tmp_path):
    for reply, message in (
        ((404, b"", 0), "no longer has this file"),
        ((200, b"<html>", 6), "not an Objaverse table"),
        ((200, b"half", 900), "was cut off|cannot be reached"),
        ((200, b"", 500 << 20), "more than 400 MB"),
    ):
        with serving(lambda *_, reply=reply: reply) as address, pytest.raises(AssetError, match=message) as caught:
            look_up_object(UID, address)
        assert "\n" not in str(caught.value) and not [one for one in (tmp_path / "cache").rglob("*") if one.is_file()]


def test_a_confined_import_offers_terms_and_imports_once_agreed(served, imported_here, tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_OBJAVERSE", served.as_uri())

    def last(agreed: bool):
        return list(import_objaverse(UID, agreed, tmp_path / "library", threading.Event()))[-1]

    offer = last(False).offer
    assert offer == {
        "name": "Tea tin", "licence": "CC BY-NC 4.0 (Ada, by way of Objaverse)", "size": 1234,
        "terms": "its author must be named; not for commercial use",
    }  # fmt: skip
    assert not (tmp_path / "library").exists() and not list((tmp_path / "cache").rglob(f"{UID}.glb"))
    done = last(True)
    assert done.id == "objaverse_01234567" and "longest side" in done.warnings[-1]
    asset = Library.open([tmp_path / "library" / "objaverse"])[done.id]
    assert (asset.name, asset.licence, asset.provenance) == ("Tea tin", offer["licence"], f"Objaverse {UID}")
    assert sorted(asset.size) == pytest.approx([0.05, 0.08, 0.1], abs=1e-3)
    assert parse_uid(f" https://sketchfab.com/3d-models/tea-tin-{UID.upper()}?x=1 ") == UID
    with pytest.raises(AssetError, match="is this machine online") as caught:
        look_up_object(UID, "http://127.0.0.1:9")
    assert "urlopen" not in str(caught.value)

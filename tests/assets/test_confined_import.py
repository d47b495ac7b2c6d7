"""Confined imports report one line per file, leave none behind, and open nothing that was not given with the model."""

import ctypes
import json
import os
import shutil
import sys
import threading
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from pipeline.assets import AssetError, Library
from pipeline.assets.importers.asset_import import ImportOptions, import_asset, unpack
from pipeline.assets.importers.confined_import import import_confined
from pipeline.assets.importers.import_staging import staging_folder, take_over
from pipeline.assets.library import BUILTIN_LIBRARY, read_asset
from pipeline.untrusted.confined import network_environment

IMPORTED_IDS = {"ball", "ball_2", "holed_2", "red_cube"}


def input_file(tmp_path: Path, name: str) -> Path:
    (tmp_path / "given").mkdir(exist_ok=True)
    return tmp_path / "given" / name


def test_each_dropped_file_becomes_an_asset_or_one_line(tmp_path):
    trimesh.creation.box([80, 60, 120]).export(input_file(tmp_path, "carton.stl"))
    trimesh.creation.icosphere(2, 0.04).export(input_file(tmp_path, "ball.ply"))
    input_file(tmp_path, "broken.glb").write_bytes(b"glTF" + bytes(40))
    holed = trimesh.creation.box([0.1, 0.1, 0.1])
    holed.update_faces(np.arange(len(holed.faces)) > 1)
    holed.export(input_file(tmp_path, "holed.obj"))
    shutil.copytree(BUILTIN_LIBRARY / "red_cube", input_file(tmp_path, "red_cube"))
    (tmp_path / "given" / "more").mkdir()
    shutil.copy(input_file(tmp_path, "ball.ply"), tmp_path / "given" / "more")
    given, library = tmp_path / "given", tmp_path / "library"
    files, options = sorted(given.iterdir()), {"provenance": "a friend"}
    steps = list(import_confined(files, given, library, options, threading.Event(), ("holed",)))
    assert {one.id for one in steps if one.id} == IMPORTED_IDS, "an id that is taken is not taken again"
    errors = {one.source: one for one in steps if one.error}
    assert set(errors) == {"broken.glb", "carton.stl"}
    assert not [one for one in errors.values() if "\n" in one.error or len(one.error) > 250]
    assert errors["carton.stl"].longest == pytest.approx(120)
    assert {folder.name for folder in library.iterdir()} == IMPORTED_IDS
    library, (before,) = Library.open([library]), Library.open([BUILTIN_LIBRARY / "red_cube"])
    assert any("holes" in warning for warning in library["holed_2"].warnings), "what is wrong is kept with the asset"
    cube = library["red_cube"]
    assert cube.provenance == "a friend" and cube.folder == tmp_path / "library" / "red_cube"
    assert (cube.name, cube.caption, cube.licence) == (before.name, before.caption, before.licence)
    np.testing.assert_allclose(cube.size, before.size, atol=1e-4)


def test_a_stop_ends_the_import_at_once_and_leaves_no_files(tmp_path):
    stop, mesh = threading.Event(), trimesh.creation.annulus(0.05, 0.1, 0.03)
    mesh.export(input_file(tmp_path, "ring.obj"))
    steps = import_confined([input_file(tmp_path, "ring.obj")], tmp_path / "given", tmp_path / "library", {}, stop)
    events = []
    for step in steps:
        events.append(step)
        if step.total:
            stop.set()
    assert not any(step.id for step in events)
    assert not (tmp_path / "library").exists() or not list((tmp_path / "library").iterdir())


def test_staging_takes_over_plain_files_only_and_a_download_gets_the_proxy_but_no_key(tmp_path, monkeypatch):
    dead = tmp_path / ".import.999999999.0123abcd"
    dead.mkdir()
    with staging_folder(tmp_path):
        assert not dead.exists() and len(list(Path(tmp_path).iterdir())) == 1
    with staging_folder(tmp_path / "library") as staging:
        (staging / "leak").mkdir()
        (staging / "leak" / "mesh.obj").symlink_to("/etc/hostname")
        (staging / "good").mkdir()
        (staging / "good" / "mesh.obj").write_text("v 0 0 0")
        for id, message in (("leak", "more than plain files"), ("../x", "id is"), ("none", "cannot be read")):
            with pytest.raises(AssetError, match=message):
                take_over(staging, id, tmp_path / "library", may_replace=True)
        take_over(staging, "good", tmp_path / "library", may_replace=False)
        (staging / "good").mkdir()
        with pytest.raises(AssetError, match="has an asset"):
            take_over(staging, "good", tmp_path / "library", may_replace=False)
    assert [path.name for path in (tmp_path / "library").iterdir()] == ["good"]
    for name in ("OPENAI_API_KEY", "GRS_AUTH", "AWS_SECRET_ACCESS_KEY", "GRS_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    environment = network_environment()
    assert environment["https_proxy"] == "http://proxy:1" and "secret" not in environment.values()


SECRET = b"BEGIN PRIVATE KEY 4711"
BODY = '<body><joint name="lid" axis="0 0 1"/><geom type="box" size=".05 .05 .05" {material}/>{more}</body>'
IN_ACCESS, IN_OPEN = 0x1, 0x20


class Watch:
    """Notices, by inotify, every opening of a file in a folder: by Python, by a library, by another process."""

    def __init__(self, folder: Path):
        self._library = ctypes.CDLL(None)
        self._watch = self._library.inotify_init1(os.O_NONBLOCK)
        for file in folder.iterdir():
            assert self._library.inotify_add_watch(self._watch, bytes(file), IN_OPEN | IN_ACCESS) >= 0

    @property
    def opened(self) -> bool:
        try:
            return bool(os.read(self._watch, 4096))
        except BlockingIOError:
            return False
        finally:
            os.close(self._watch)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A drop beside secrets: a mesh, a picture, a model and a text, each with the secret words in it."""
    (tmp_path / "drop").mkdir()
    secret = tmp_path / "secret"
    secret.mkdir()
    mesh = trimesh.creation.box([0.05, 0.05, 0.05]).export(file_type="stl")
    (secret / "s.stl").write_bytes(SECRET.ljust(80, b" ") + mesh[80:])
    (secret / "s.obj").write_bytes(b"# " + SECRET + b"\n" + trimesh.creation.box().export(file_type="obj").encode())
    Image.new("RGB", (8, 8), (11, 222, 33)).save(secret / "s.png")
    (secret / "s.xml").write_text(f"<mujoco><!--{SECRET.decode()}--><worldbody><geom size='.1'/></worldbody></mujoco>")
    (secret / "s.mtl").write_bytes(b"newmtl m\nKd 0 0 0\nmap_Kd s.png\n# " + SECRET)
    return tmp_path


def mjcf(assets: str = "", more: str = "", head: str = "", material: str = "") -> str:
    body = BODY.format(more=more, material=material)
    return f"<mujoco>{head}<asset>{assets}</asset><worldbody>{body}</worldbody></mujoco>"


MESH = '<geom type="mesh" mesh="m"/>'
PAINT, PAINTED = '<material name="p" texture="t"/>', 'material="p"'
WAYS = ("../secret/{}", "{secret}/{}", "link_{}", "linked/{}", "..\\secret\\{}", "sub/../../secret/{}")
REFERENCES = {
    "a mesh": lambda way: mjcf(f'<mesh name="m" file="{way("s.stl")}"/>', MESH),
    "an OBJ mesh": lambda way: mjcf(f'<mesh name="m" file="{way("s.obj")}"/>', MESH),
    "a texture": lambda way: mjcf(f'<texture name="t" type="2d" file="{way("s.png")}"/>{PAINT}', material=PAINTED),
    "a cube texture": lambda way: mjcf(
        f'<texture name="t" type="cube" fileup="{way("s.png")}"/>{PAINT}', material=PAINTED
    ),
    "a model": lambda way: mjcf(f'<model name="x" file="{way("s.xml")}"/>'),
    "an include": lambda way: mjcf(head=f'<include file="{way("s.xml")}"/>'),
    "a height field": lambda way: mjcf(f'<hfield name="h" file="{way("s.png")}" size="1 1 1 1"/>'),
    "a mesh folder": lambda way: mjcf(
        '<mesh name="m" file="s.stl"/>', MESH, f'<compiler meshdir="{os.path.dirname(way("x"))}"/>'
    ),
    "a texture folder": lambda way: mjcf(
        f'<texture name="t" type="2d" file="s.png"/>{PAINT}',
        head=f'<compiler texturedir="{os.path.dirname(way("x"))}"/>', material=PAINTED,
    ),
    "a skin": lambda way: mjcf(head=f'<deformable><skin name="k" file="{way("s.stl")}"/></deformable>'),
    "a flex": lambda way: mjcf(more=f'<flexcomp name="f" type="mesh" file="{way("s.obj")}"/>'),
    "a URDF mesh": lambda way: (
        f'<robot name="r"><link name="l"><visual><geometry><mesh filename="file://{way("s.stl")}"/></geometry></visual>'
        f'<collision><geometry><mesh filename="package://{way("s.stl")}"/></geometry></collision></link></robot>'
    ),
}  # fmt: skip


def plant_links(drop: Path, secret: Path) -> None:
    for file in secret.iterdir():
        (drop / f"link_{file.name}").symlink_to(file)
    (drop / "linked").symlink_to(secret)


def assert_nothing_of_the_secret_is_read(source: Path, place: Path) -> None:
    watch = Watch(place / "secret")
    with suppress(AssetError):
        import_asset(source, place / "library", ImportOptions(id="x"))
    assert not watch.opened
    for file in (place / "library").rglob("*"):
        if file.is_file():
            assert not file.is_symlink() and SECRET not in file.read_bytes(), file
            if file.suffix == ".png":
                assert (11, 222, 33) not in set(Image.open(file).convert("RGB").get_flattened_data()), file


@pytest.mark.parametrize("kind", REFERENCES)
@pytest.mark.parametrize("way", WAYS)
def test_no_reference_of_a_model_opens_a_file_outside_the_drop(kind, way, place):
    drop, secret = place / "drop", place / "secret"
    plant_links(drop, secret)
    text = REFERENCES[kind](lambda name: way.format(name, secret=secret))
    source = drop / ("m.urdf" if text.startswith("<robot") else "m.xml")
    source.write_text(text)
    assert_nothing_of_the_secret_is_read(source, place)


TETRAHEDRON = (
    "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nvt 0 0\nusemtl m\n"
    "f 1/1 3/1 2/1\nf 1/1 2/1 4/1\nf 1/1 4/1 3/1\nf 2/1 3/1 4/1\n"
)


@pytest.mark.parametrize("way", WAYS[:-2])
@pytest.mark.parametrize("kind", ["mtllib", "map_Kd", "glTF buffer", "glTF image"])
def test_no_reference_of_a_mesh_opens_a_file_outside_the_drop(kind, way, place):
    drop, secret = place / "drop", place / "secret"
    plant_links(drop, secret)
    source = drop / "m.obj"
    if kind == "mtllib":
        source.write_text(f"mtllib {way.format('s.mtl', secret=secret)}\n{TETRAHEDRON}")
    elif kind == "map_Kd":
        (drop / "a.mtl").write_text(f"newmtl m\nKd 1 1 1\nmap_Kd {way.format('s.png', secret=secret)}\n")
        source.write_text(f"mtllib a.mtl\n{TETRAHEDRON}")
    else:
        source = drop / "m.gltf"
        data = json.loads(trimesh.creation.box([0.1, 0.1, 0.1]).export(file_type="gltf")["model.gltf"])
        image = kind == "glTF image"
        (secret / "s.bin").write_bytes(SECRET * 100)
        (drop / "link_s.bin").symlink_to(secret / "s.bin")
        if image:
            data |= {"images": [{"uri": way.format("s.png", secret=secret)}], "textures": [{"source": 0}]}
            data["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
        else:
            data["buffers"][0]["uri"] = way.format("s.bin", secret=secret)
        source.write_text(json.dumps(data))
    assert_nothing_of_the_secret_is_read(source, place)


def test_links_of_a_zip_and_files_outside_a_library_asset_are_not_read(place):
    packed = place / "drop" / "z.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        link = zipfile.ZipInfo("mesh.stl")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, str(place / "secret" / "s.stl"))
        archive.writestr("m.xml", mjcf())
    out = place / "out"
    out.mkdir()
    unpack(packed, out)
    assert [file.name for file in out.iterdir()] == ["m.xml"]
    asset = place / "drop" / "thing"
    asset.mkdir()
    (asset / "asset.json").write_text('{"id": "thing", "size": [0.1, 0.1, 0.1]}')
    (asset / "mesh.xml").write_text(mjcf(f'<mesh name="m" file="{place}/secret/s.stl"/>', MESH))
    with pytest.raises(AssetError, match="was not given with it"):
        read_asset(asset, place / "cache")

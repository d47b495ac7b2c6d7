"""Reconstructed and generated assets are closed, of the measured size and pose, in the colours of the object."""

import io
import json
import threading
from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest
import trimesh
from http_server import serving
from PIL import Image

from pipeline.assets import AssetError, load_mesh
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.image_to_3d import ProviderCancelled, ProviderError, TrellisProvider, provider_from_environment
from pipeline.assets.library import BUILTIN_LIBRARY, read_asset
from pipeline.assets.reconstruct import PROVENANCE_PREFIX, RECONSTRUCTION_METHODS, reconstruct
from pipeline.assets.reconstruct.generated_asset import find_generated, generate_asset, object_picture
from pipeline.description import Attributes, Description, Shape, describe
from pipeline.frame import find_support, load
from pipeline.segmentation import Segment
from pipeline.segmentation.coco import decode_rle

SCENE = Path(__file__).resolve().parents[2] / "sample_scenes" / "kitchen"
MEASURED = [method for method in RECONSTRUCTION_METHODS if method != "provider"]


@pytest.fixture(scope="module")
def observed():
    frame = load(SCENE)
    objects = json.loads((SCENE / "expected.json").read_text())["objects"]
    return frame, find_support(frame), [(Segment(k + 1, decode_rle(o["mask"])), o) for k, o in enumerate(objects)]


def described(segment, truth, shape: Shape = "box", yaw=0.0):
    size = np.array(truth["size"], float)
    centre = np.array([*truth["world_from_object"]["pos"][:2], size[2] / 2])
    about = Attributes("red", (180, 60, 50), shape, size, yaw, centre, 0.001)
    return Description(segment.id, True, f"red_{shape}", f"a red {shape}", about)


@pytest.mark.parametrize("method", MEASURED)
def test_a_reconstruction_is_closed_rests_on_the_table_and_has_the_observed_size(observed, method, tmp_path):
    frame, support, objects = observed
    for segment, _ in objects[:3] if method == "best" else objects[1:2]:
        measured = describe(frame, support, segment)
        made = reconstruct(frame, support, segment, measured, tmp_path, method)
        asset, mesh = made.asset, load_mesh(made.asset)
        assert asset.id == f"view_{segment.id}" and asset.provenance.startswith(PROVENANCE_PREFIX) and not asset.licence
        assert (made.method == method or method == "best") and 0 < len(mesh.faces) <= 4000
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        solid.merge_vertices(merge_tex=True, merge_norm=True)
        assert solid.is_watertight and solid.volume > 0
        np.testing.assert_allclose(mesh.bounds.sum(axis=0), 0, atol=1e-4)
        box = made.world_from_object
        assert box.pos[2] - asset.size[2] / 2 == pytest.approx(0, abs=2e-3)
        assert np.linalg.norm(box.pos[:2] - measured.attributes.centre[:2]) < 0.3 * max(asset.size[:2])
        for file in asset.collision:
            part = trimesh.load_mesh(file)
            assert part.volume > 0.98 * part.convex_hull.volume


def test_observed_surface_is_textured_by_the_photograph_and_a_bowls_wall_is_about_as_thick_as_it_is(observed, tmp_path):
    frame, support, objects = observed
    for segment, truth in objects[:3]:
        made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path, "box")
        own = frame.rgb[segment.mask].mean(axis=0)
        towards = support.world_from_camera[:3, 3] - made.world_from_object.pos
        azimuth = np.degrees(np.arctan2(*(made.world_from_object.rotation.T @ towards)[[1, 0]]))
        views = render_views(made.asset, camera_rotations(np.array([azimuth]), np.array([40.0])), 48)
        pictured = np.mean([rgb[mask].mean(axis=0) for rgb, mask in zip(views.rgb, views.masks, strict=True)], axis=0)
        assert np.abs(own / own.sum() - pictured / pictured.sum()).max() < 0.12, truth["name"]
    segment = next(segment for segment, truth in objects if truth["asset_id"] == "teal_bowl")
    made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path).asset
    volume, true = (
        sum(trimesh.load_mesh(part).convex_hull.volume for part in asset.collision)
        for asset in (made, read_asset(BUILTIN_LIBRARY / "teal_bowl"))
    )
    assert volume == pytest.approx(true, rel=0.2)


def test_what_a_model_calls_a_cup_is_open_although_its_inside_is_not_seen(tmp_path):
    frame, support, (segment,) = make.photograph(
        make.scene(make.placement(make.can(tmp_path), "can", shape="cylinder"))
    )
    measured = describe(frame, support, segment)
    named = replace(measured, name="yellow_cup", source="eyes-1")
    closed, cup = (reconstruct(frame, support, segment, one, tmp_path / one.name).asset for one in (measured, named))
    assert cup.container and not closed.container
    np.testing.assert_allclose(cup.size, closed.size, atol=0.006)
    assert cup.mass < closed.mass
    as_asked = reconstruct(frame, support, segment, named, tmp_path / "asked", "cylinder").asset
    assert not as_asked.container, "a person's method is not changed"


@pytest.mark.parametrize(("other", "is_printed"), [((30, 60, 200), True), ((100, 15, 15), False)], ids=["blue", "dark"])
def test_the_back_of_a_print_shows_it_and_that_of_a_shaded_thing_does_not(observed, tmp_path, other, is_printed):
    frame, support, objects = observed
    segment, stripes = objects[0][0], np.arange(frame.rgb.shape[1]) // 6 % 2 == 0
    painted = np.where(stripes[None, :, None], (200, 30, 30), other)
    rgb = np.where(segment.mask[..., None], painted, frame.rgb).astype(np.uint8)
    frame = replace(frame, rgb=rgb)
    made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path, "box")
    x, y, _ = made.world_from_object.rotation.T @ (made.world_from_object.pos - support.world_from_camera[:3, 3])
    azimuth = np.degrees(np.arctan2(y, x))
    views = render_views(made.asset, camera_rotations(np.array([azimuth]), np.array([20.0])), 48)
    colours = np.concatenate([rgb[mask] for rgb, mask in zip(views.rgb, views.masks, strict=True)]).astype(float)
    assert (0.15 < (colours[:, 2] > colours[:, 0]).mean() < 0.85) == is_printed


def test_it_loads_like_any_asset_is_memoised_while_its_inputs_stay_and_has_a_body_without_depth(observed, tmp_path):
    frame, support, objects = observed
    made = reconstruct(frame, support, objects[0][0], described(*objects[0]), tmp_path, "layered")
    reread = read_asset(made.asset.mesh.parent)
    assert reread.id == made.asset.id and reread.digest == made.asset.digest and len(reread.collision) > 1
    stamp = made.asset.mesh.stat().st_mtime_ns
    same = reconstruct(frame, support, objects[0][0], described(*objects[0]), tmp_path, "layered")
    assert same.asset.mesh.stat().st_mtime_ns == stamp
    assert np.array_equal(same.world_from_object.matrix, made.world_from_object.matrix)
    other = reconstruct(frame, support, objects[0][0], described(*objects[0]), tmp_path, "box")
    assert other.method == "box" and other.asset.digest != made.asset.digest
    blind = replace(frame, depth=np.zeros_like(frame.depth))
    made = reconstruct(blind, support, objects[0][0], described(*objects[0], shape="irregular"), tmp_path)
    np.testing.assert_allclose(made.asset.size, objects[0][1]["size"], atol=1e-3)
    with pytest.raises(AssetError, match="available: best, box"):
        reconstruct(frame, support, objects[0][0], described(*objects[0]), tmp_path, "magic")


def glb(size=(0.5, 1.0, 0.25)) -> bytes:
    mesh, image = trimesh.creation.box(size), Image.new("RGB", (8, 8), (200, 40, 40))
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    mesh.visual = trimesh.visual.TextureVisuals(uv=np.zeros((len(mesh.vertices), 2)), material=material)
    data = mesh.export(file_type="glb")
    assert isinstance(data, bytes)
    return data


class Service:
    """A TRELLIS server with prepared answers; a silent one answers nothing before it is interrupted."""

    def __init__(self, model: bytes = b"", states=("COMPLETE",), code=200, page: bytes | None = None, silent=False):
        self.model, self.states, self.code, self.page, self.silent = model, list(states), code, page, silent
        self.asked: list[tuple[str, bytes]] = []
        self.interrupted = threading.Event()

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append((path, body))
        if path == "/interrupt":
            self.interrupted.set()
            return 200, b"{}"
        if self.silent:
            self.interrupted.wait(60)
        if self.page is not None:
            return self.code, self.page
        if path == "/download/model":
            return 200, self.model
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return self.code, json.dumps({"status": state, "progress": 50, "message": "out of memory\nand more"}).encode()


def test_a_picture_is_posted_the_model_downloaded_when_done_and_a_stop_cancels_the_job(monkeypatch):
    monkeypatch.setattr("pipeline.assets.image_to_3d.POLL_INTERVAL_S", 0.01)
    service = Service(glb(), states=("PROCESSING", "PROCESSING", "COMPLETE"))
    with serving(service.answer) as url:
        assert TrellisProvider(url).make(b"a png") == service.model
    paths = [path for path, _ in service.asked]
    assert paths == ["/generate_no_preview", "/status", "/status", "/download/model"]
    assert b'name="file"; filename="thing.png"' in service.asked[0][1] and b"a png" in service.asked[0][1]
    service = Service(silent=True)
    with serving(service.answer) as url:
        with pytest.raises(ProviderCancelled):
            TrellisProvider(url, seconds=60.0).make(b"a png", lambda: bool(service.asked))
        assert service.interrupted.wait(60)


def test_an_invalid_reply_is_reported_in_one_line():
    for service, message in (
        (Service(page=b"<html>It works!</html>"), "without the status of a TRELLIS server; check GRS_IMAGE_TO_3D"),
        (Service(page=b"[1, 2]"), "without the status of a TRELLIS server"),
        (Service(code=500), "HTTP 500"),
        (Service(code=503), "busy with another object; try again"),
        (Service(states=("FAILED",)), "failed: out of memory and more; choose another method"),
        (Service(b"\0" * 3_000_000), "sent more than 2 MB, too much for one object"),
        (Service(b"junk" * 100), "is not a GLB"),
        (Service(b""), "is not a GLB"),
        (Service(glb()[:-100]), r"cut off \([\d,]+ of [\d,]+ bytes\); try again"),
        (Service(silent=True), "took longer than 1 s"),
    ):
        with serving(service.answer) as url, pytest.raises(ProviderError, match=message) as caught:
            TrellisProvider(url, seconds=1.0 if service.silent else 60.0, largest=2_000_000).make(b"a png")
        service.interrupted.set()
        assert "\n" not in str(caught.value)


def test_the_environment_names_the_service_and_an_unreachable_one_is_reported(monkeypatch):
    monkeypatch.setenv("GRS_IMAGE_TO_3D", "")
    assert provider_from_environment() is None
    monkeypatch.setenv("GRS_IMAGE_TO_3D", "http://localhost:7960/")
    found = provider_from_environment()
    assert found is not None and (found.name, found.address) == ("TRELLIS", "http://localhost:7960")
    monkeypatch.setenv("GRS_IMAGE_TO_3D", "localhost:7960")
    with pytest.raises(ProviderError, match="it takes an address such as"):
        provider_from_environment()
    with pytest.raises(ProviderError, match=r"cannot be reached .* is it running at http://127.0.0.1:9\?"):
        TrellisProvider("http://127.0.0.1:9").make(b"a png")


class Maker:
    name = "the stand-in"

    def __init__(self, data: bytes):
        self.data, self.times = data, 0

    def make(self, picture, stopped=lambda: False) -> bytes:
        self.times += 1
        return self.data


def test_the_model_is_imported_upright_at_the_measured_size_once_and_with_nan_vertices_not_at_all(tmp_path):
    frame, support, (segment,) = make.photograph(make.scene(make.placement(make.box(tmp_path), yaw=0.6)))
    description = describe(frame, support, segment)
    maker = Maker(glb((0.75, 1.0, 0.5)))
    assert find_generated(frame, segment, tmp_path / "kept") is None
    asset = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    second = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    np.testing.assert_allclose(asset.size, [0.06, 0.04, 0.08], rtol=0.12)
    assert asset.provenance == "made from the view by the stand-in; what the camera did not see is its guess"
    assert second.digest == asset.digest and maker.times == 1
    shown = np.asarray(Image.open(io.BytesIO(object_picture(frame, segment))))
    assert shown.shape == (512, 512, 4) and shown[0, 0, 3] == 0 and shown[256, 256, 3] == 255
    data = bytearray(glb())
    start = data.rindex(b"BIN\0") + 4
    data[start:] = np.full((len(data) - start) // 4, np.nan, np.float32).tobytes()
    with pytest.raises(AssetError, match="what the stand-in made cannot be used"):
        generate_asset(Maker(bytes(data)), frame, segment, description, tmp_path / "broken")
    assert not (tmp_path / "broken").exists() or not list((tmp_path / "broken").iterdir())

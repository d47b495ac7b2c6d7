"""Assets reconstructed from the photograph, or made by image-to-3D services, are of the measured size and pose."""

import base64
import io
import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import drawn_scene as make
import gradio as gr
import numpy as np
import pytest
import trimesh
from fastapi import FastAPI
from PIL import Image
from served_studio import serving as serving_app

from pipeline.assets import AssetError, Library, load_mesh
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.image_to_3d import ObjectView, ServiceCancelled, ServiceError, service_from_environment
from pipeline.assets.image_to_3d.posted import Hunyuan3D, PlainService, Sam3D
from pipeline.assets.image_to_3d.trellis import Trellis, TrellisProjectorz
from pipeline.assets.library import BUILTIN_LIBRARY, read_asset
from pipeline.assets.reconstruct import PROVENANCE_PREFIX, RECONSTRUCTION_METHODS, reconstruct
from pipeline.assets.reconstruct.generated_asset import find_generated, generate_asset
from pipeline.description import Attributes, Description, Shape, describe
from pipeline.frame import Observation, find_support, load
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.segmentation import Segment, decode_rle
from tests.models import hostile
from tests.models.hostile import HostileServer, serving

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
    both = made, read_asset(BUILTIN_LIBRARY / "teal_bowl")
    volume, true = (sum(trimesh.load_mesh(part).convex_hull.volume for part in one.collision) for one in both)
    assert volume == pytest.approx(true, rel=0.2)


def test_a_bin_whose_inside_is_seen_is_an_open_box(tmp_path):
    frame = load(SCENE.parent / "stack")
    objects = json.loads((SCENE.parent / "stack" / "expected.json").read_text())["objects"]
    (number,) = (k for k, one in enumerate(objects) if one["asset_id"] == "white_bin")
    support, segment = find_support(frame), Segment(number + 1, decode_rle(objects[number]["mask"]))
    made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path).asset
    true = read_asset(BUILTIN_LIBRARY / "white_bin")
    assert (made.category, made.container) == ("bin", True)
    np.testing.assert_allclose(sorted(made.size), sorted(true.size), atol=0.01)
    volume, expected = (
        sum(trimesh.load_mesh(part).convex_hull.volume for part in one.collision) for one in (made, true)
    )
    assert volume == pytest.approx(expected, rel=0.5)


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


def glb(mesh: trimesh.Trimesh | None = None) -> bytes:
    mesh = (mesh or trimesh.creation.box((0.5, 1.0, 0.25))).copy()
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=Image.new("RGB", (8, 8), (200, 40, 40)))
    mesh.visual = trimesh.visual.TextureVisuals(uv=np.zeros((len(mesh.vertices), 2)), material=material)
    data = mesh.export(file_type="glb")
    assert isinstance(data, bytes)
    return data


def written(folder: Path, data: bytes) -> Path:
    file = folder / "made.glb"
    file.write_bytes(data)
    return file


def view(stopped=lambda: False) -> ObjectView:
    mask = np.zeros((48, 64), bool)
    mask[10:30, 20:50] = True
    depth = np.where(mask, 0.5, 0).astype(np.float32)
    k = np.array([[60.0, 0, 32], [0, 60, 24], [0, 0, 1]])
    return ObjectView(np.full((48, 64, 3), 90, np.uint8), mask, depth, k, "mug", "a red mug", stopped)


class Service:
    """A trellis-projectorz server with prepared answers; a silent one answers nothing before it is interrupted."""

    def __init__(self, model: bytes = b"", states=("COMPLETE",), page: bytes | None = None, silent=False):
        self.model, self.states, self.page, self.silent = model, list(states), page, silent
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
            return 200, self.page
        if path == "/download/model":
            return 200, self.model
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return 200, json.dumps({"status": state, "progress": 50, "message": "out of memory\nand more"}).encode()


def test_a_picture_is_posted_the_model_downloaded_when_done_and_a_stop_cancels_the_job(monkeypatch):
    monkeypatch.setattr("pipeline.assets.image_to_3d.trellis.POLL_INTERVAL_S", 0.01)
    service = Service(glb(), states=("PROCESSING", "PROCESSING", "COMPLETE"))
    with serving(service.answer) as url:
        assert TrellisProjectorz(url).make(view()).mesh == service.model
    paths = [path for path, _ in service.asked]
    assert paths == ["/generate_no_preview", "/status", "/status", "/download/model"]
    assert b'name="file"; filename="thing.png"' in service.asked[0][1] and view().picture() in service.asked[0][1]
    service = Service(silent=True)
    with serving(service.answer) as url:
        with pytest.raises(ServiceCancelled):
            TrellisProjectorz(url).make(view(lambda: bool(service.asked)))
        assert service.interrupted.wait(60)


@contextmanager
def gradio_app(folder: Path, fails: str = ""):
    """The interface of TRELLIS' app.py: the model stays in the session between two endpoints; `fails` is an error."""
    model = str(written(folder, glb()))

    def image_to_3d(image, multiimages, seed, steps, algorithm):
        if fails:
            raise gr.Error(fails)
        assert image.mode == "RGBA" and image.getpixel((0, 0))[3] == 0 and (seed, steps, algorithm) == (0, 12, "fast")
        return {"made": image.size}, None

    def extract_glb(state, simplify, texture):
        assert state["made"] == (38, 38) and (simplify, texture) == (0.95, 1024)
        return model, model

    with gr.Blocks() as blocks:
        picture, gallery, state = gr.Image(type="pil", image_mode="RGBA"), gr.Gallery(), gr.State()
        seed, steps, kind = gr.Slider(0, 9, 0), gr.Slider(1, 50, 12), gr.Radio(["fast", "opt"], value="fast")
        simplify, texture = gr.Slider(0, 1, 0.95), gr.Slider(512, 2048, 1024)
        video, shown, file = gr.Video(), gr.Model3D(), gr.DownloadButton()
        gr.Button().click(lambda: None, api_name="start_session")
        gr.Button().click(lambda image: image, [picture], [picture], api_name="preprocess_image")
        gr.Button().click(image_to_3d, [picture, gallery, seed, steps, kind], [state, video], api_name="image_to_3d")
        gr.Button().click(extract_glb, [state, simplify, texture], [shown, file], api_name="extract_glb")
    with serving_app(gr.mount_gradio_app(FastAPI(), blocks, "/", allowed_paths=[str(folder)])) as address:
        yield address


def test_trellis_own_gradio_app_is_asked_step_by_step_in_one_session(tmp_path):
    with gradio_app(tmp_path) as url:
        assert Trellis(url).make(view()).mesh == glb()
    with gradio_app(tmp_path, "CUDA out\nof memory") as url, pytest.raises(ServiceError, match=r"to_3d: .*CUDA"):
        Trellis(url).make(view())
    other = json.dumps({"named_endpoints": {"/predict": {}}}).encode()
    with serving(lambda path, body: (200, other)) as url, pytest.raises(ServiceError, match="is it TRELLIS"):
        Trellis(url).make(view())


def test_services_that_answer_one_post_get_what_they_take_and_their_refusals_are_told():
    asked = []

    def hunyuan(path, body):
        asked.append((path, json.loads(body)))
        return (200, glb()) if not asked[-1][1]["texture"] else (404, b'{"text": "NETWORK ERROR", "error_code": 1}')

    with serving(hunyuan) as url:
        assert Hunyuan3D(url).make(view()).mesh == glb()
    assert [(path, question["texture"]) for path, question in asked] == [("/generate", True), ("/generate", False)]
    assert base64.b64decode(asked[0][1]["image"]) == view().picture()

    def sam(path, body):
        with np.load(io.BytesIO(body), allow_pickle=False) as sent:
            assert sent["rgb"].shape == (48, 64, 3) and np.isnan(sent["points"][0, 0]).all()
            np.testing.assert_allclose(sent["points"][24, 32], [0, 0, 0.5])
        fields = {"mesh": base64.b64encode(glb()).decode(), "pose": np.eye(4).tolist(), "scale": 0.2, "splats": "cGx5"}
        return 200, json.dumps(fields).encode()

    with serving(sam) as url:
        made = Sam3D(url).make(view())
    assert made.mesh == glb() and made.scale == 0.2 and made.splats == b"ply" and np.array_equal(made.pose, np.eye(4))
    with serving(lambda path, body: (200, glb()) if body == view().picture() else (400, b"{}")) as url:
        assert PlainService(f"{url}/make").make(view()).mesh == glb()
    for service in (PlainService, Hunyuan3D, Sam3D, Trellis, TrellisProjectorz):
        for status, body, message in (
            (500, b'{"error": "no\\nGPU"}', r"HTTP 500 .*no GPU"), (503, b"", "busy .*; try again"),
            (200, b"hello", "GLB|without"),
        ):  # fmt: skip
            with serving(lambda *_: (status, body)) as url, pytest.raises(ServiceError, match=message):  # noqa: B023
                service(url).make(view())


def test_the_environment_names_the_service_and_none_that_is_there_or_an_invalid_reply_is_one_line(monkeypatch):
    for value, expected in (
        ("", None),
        ("http://localhost:7960/", ("TRELLIS", "http://localhost:7960")),
        ("hunyuan3d:http://user:secret@gpu:8081", ("Hunyuan3D", "http://gpu:8081")),
        ("sam3d:http://localhost:8082", ("SAM 3D Objects", "http://localhost:8082")),
    ):
        monkeypatch.setenv("GRS_IMAGE_TO_3D", value)
        found = service_from_environment()
        assert expected == (found and (found.name, found.address))
    for value in ("localhost:7960", "magic:http://localhost:1", "trellis", "trellis:gpu"):
        monkeypatch.setenv("GRS_IMAGE_TO_3D", value)
        with pytest.raises(ServiceError, match=r"it takes NAME:ADDRESS, .* NAME is one of .*trellis"):
            service_from_environment()
    with pytest.raises(ServiceError, match=r"cannot be reached .* is it running at http://127.0.0.1:9\?"):
        TrellisProjectorz("http://127.0.0.1:9").make(view())
    for service, message in (
        (Service(page=b"<html>It works!</html>"), "without status; check GRS_IMAGE_TO_3D"),
        (Service(states=("FAILED",)), "failed: out of memory and more; choose another method"),
        (Service(b"\0" * 3_000_000), "sent more than 2 MB, too much for one object"),
        (Service(b"junk" * 100), "is not a GLB"),
        (Service(glb()[:-100]), r"cut off \([\d,]+ of [\d,]+ bytes\); try again"),
        (Service(silent=True), "took longer than 1 s"),
    ):
        with serving(service.answer) as url, pytest.raises(ServiceError, match=rf"\A.*({message}).*\Z"):
            TrellisProjectorz(url, seconds=1.0 if service.silent else 60.0, largest=2_000_000).make(view())
        service.interrupted.set()


@pytest.mark.parametrize("service", [PlainService, Hunyuan3D, Sam3D, Trellis, TrellisProjectorz])
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [(hostile.drips, "took longer"), (hostile.drips_headers, "took longer"), (hostile.floods, "sent more than 2 MB")],
)
def test_a_service_that_answers_without_end_is_given_up(service, behaviour, message):
    with HostileServer(behaviour) as server, pytest.raises(ServiceError, match=message):
        server.models = []
        service(server.url, seconds=1.0, largest=2_000_000).make(view())


def stand_in(*answer, name="the stand-in") -> SimpleNamespace:
    """A plug-in's service with a prepared answer."""
    return SimpleNamespace(name=name, address="", make=Mock(return_value=answer))


@pytest.fixture(scope="module")
def boxed(tmp_path_factory):
    box = make.placement(make.box(tmp_path_factory.mktemp("box")), yaw=0.6)
    frame, support, (segment,) = make.photograph(make.scene(box))
    return frame, support, segment, describe(frame, support, segment)


def test_the_model_is_imported_upright_at_the_measured_size_once_and_with_what_the_service_told(boxed, tmp_path):
    frame, _, segment, description = boxed
    pose = np.eye(4)
    maker = stand_in(glb(trimesh.creation.box((0.75, 1.0, 0.5))), pose, 0.08, b"ply\n")
    assert find_generated(frame, segment, tmp_path / "kept") is None
    asset = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    again = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    np.testing.assert_allclose(asset.size, [0.06, 0.04, 0.08], rtol=0.12)
    assert asset.provenance == "made from the view by the stand-in; what the camera did not see is its guess"
    assert again.digest == asset.digest and maker.make.call_count == 1
    told = json.loads((asset.mesh.parent / "service.json").read_text())
    assert told == {"camera_from_mesh": pose.tolist(), "metres_per_unit": 0.08}
    assert (asset.mesh.parent / "splats.ply").read_bytes() == b"ply\n"
    shown = np.asarray(Image.open(io.BytesIO(maker.make.call_args.args[0].picture())))
    assert shown.shape[0] == shown.shape[1] and shown[0, 0, 3] == 0 and shown[tuple(np.array(shown.shape[:2]) // 2)][3]
    other = stand_in(written(tmp_path, glb()), None, None, name="another service")
    assert "another service" in generate_asset(other, frame, segment, description, tmp_path / "kept").provenance


def test_what_cannot_be_imported_is_refused_in_one_line_and_leaves_nothing(boxed, tmp_path):
    frame, _, segment, description = boxed
    data = bytearray(glb())
    start = data.rindex(b"BIN\0") + 4
    data[start:] = np.full((len(data) - start) // 4, np.nan, np.float32).tobytes()
    for answer, error, message in (
        ((bytes(data), None, None), AssetError, "what the stand-in made cannot be used"),
        ((tmp_path / "nowhere.obj", None, None), ServiceError, "named no mesh file"),
        ((), ServiceError, "the stand-in failed: TypeError"),
    ):
        with pytest.raises(error, match=message) as caught:
            generate_asset(stand_in(*answer), frame, segment, description, tmp_path)
        assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def spoilt(kind: str) -> trimesh.Trimesh:
    """What a service made of a box of 6 x 4 x 8 cm, y up."""
    mesh = trimesh.creation.box((0.06, 0.08, 0.04))
    if kind == "with its table":
        mesh = mesh + trimesh.creation.box((0.18, 0.006, 0.15)).apply_translation([0, -0.043, 0])
    elif kind == "an open shell":
        mesh = mesh.submesh([np.flatnonzero(mesh.face_normals @ [0.2, 0.5, 0.8] > 0.1)], append=True)
    return mesh


@pytest.mark.parametrize("kind", ("right", "with its table", "an open shell"))
def test_a_made_shape_that_the_photograph_contradicts_is_not_placed_and_why_is_told(boxed, tmp_path, kind):
    frame, support, segment, description = boxed
    inputs = SceneInputs(Observation(frame, support), (segment,), (description,), (), Library(()), tmp_path)
    generate_asset(stand_in(glb(spoilt(kind)), None, None), frame, segment, description, tmp_path)
    (placed,) = place_objects(inputs).placements
    assert ("the stand-in" in placed.provenance) == (kind == "right") == (not placed.overruled)
    assert kind == "right" or "image-to-3D service made is not used: it" in placed.overruled
    np.testing.assert_allclose(np.sort(placed.size), [0.04, 0.06, 0.08], atol=0.008)

"""Image-to-3D services are asked as they are served today; what they make is imported, judged and kept, or refused."""

import base64
import io
import json
import threading
from contextlib import contextmanager
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

from pipeline.assets import AssetError, Library
from pipeline.assets.image_to_3d import ObjectView, ServiceCancelled, ServiceError, service_from_environment
from pipeline.assets.image_to_3d.posted import Hunyuan3D, PlainService, Sam3D
from pipeline.assets.image_to_3d.trellis import Trellis, TrellisProjectorz
from pipeline.assets.reconstruct.generated_asset import find_generated, generate_asset
from pipeline.description import describe
from pipeline.frame import Observation
from pipeline.scene.place_objects import SceneInputs, place_objects
from tests.models.hostile import serving


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


def test_an_invalid_reply_is_reported_in_one_line():
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


def test_the_environment_names_the_service_and_an_unreachable_one_is_reported(monkeypatch):
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

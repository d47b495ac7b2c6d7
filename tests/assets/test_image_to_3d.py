"""The image-to-3D client returns a model or an error of one line, whatever the service answers."""

import io
import json
import threading

import drawn_scene as make
import numpy as np
import pytest
import trimesh
from http_server import serving
from PIL import Image

from pipeline.assets import AssetError
from pipeline.assets.image_to_3d import ProviderCancelled, ProviderError, TrellisProvider, provider_from_environment
from pipeline.assets.reconstruct.generated_asset import find_generated, generate_asset, object_picture
from pipeline.description import describe


def glb(size=(0.5, 1.0, 0.25)) -> bytes:
    mesh = trimesh.creation.box(size)
    image = Image.new("RGB", (8, 8), (200, 40, 40))
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


def test_a_picture_is_posted_as_a_file_and_the_model_is_downloaded_when_done(monkeypatch):
    monkeypatch.setattr("pipeline.assets.image_to_3d.POLL_INTERVAL_S", 0.01)
    service = Service(glb(), states=("PROCESSING", "PROCESSING", "COMPLETE"))
    with serving(service.answer) as url:
        assert TrellisProvider(url).make(b"a png") == service.model
    paths = [path for path, _ in service.asked]
    assert paths == ["/generate_no_preview", "/status", "/status", "/download/model"]
    assert b'name="file"; filename="thing.png"' in service.asked[0][1] and b"a png" in service.asked[0][1]


@pytest.mark.parametrize(
    ("service", "message"),
    [
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
    ],
    ids=["html", "list", "500", "503", "failed", "too much", "junk", "nothing", "truncated", "slow"],
)
def test_an_invalid_reply_is_reported_in_one_line(service, message):
    with serving(service.answer) as url, pytest.raises(ProviderError, match=message) as caught:
        TrellisProvider(url, seconds=1.0 if service.silent else 60.0, largest=2_000_000).make(b"a png")
    service.interrupted.set()
    assert "\n" not in str(caught.value)


def test_a_stop_ends_the_wait_at_once_and_cancels_the_job_at_the_service():
    service = Service(silent=True)
    with serving(service.answer) as url:
        with pytest.raises(ProviderCancelled):
            TrellisProvider(url, seconds=60.0).make(b"a png", lambda: bool(service.asked))
        assert service.interrupted.wait(60)


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


@pytest.fixture
def observed(tmp_path):
    frame, support, (segment,) = make.photograph(make.scene(make.placement(make.box(tmp_path), yaw=0.6)))
    return frame, segment, describe(frame, support, segment)


def test_the_model_is_imported_upright_at_the_measured_size_and_requested_once(observed, tmp_path):
    frame, segment, description = observed
    maker = Maker(glb((0.75, 1.0, 0.5)))
    assert find_generated(frame, segment, tmp_path / "kept") is None
    asset = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    second = generate_asset(maker, frame, segment, description, tmp_path / "kept")
    np.testing.assert_allclose(asset.size, [0.06, 0.04, 0.08], rtol=0.12)
    assert asset.provenance == "made from the view by the stand-in; what the camera did not see is its guess"
    assert second.digest == asset.digest and maker.times == 1
    shown = np.asarray(Image.open(io.BytesIO(object_picture(frame, segment))))
    assert shown.shape == (512, 512, 4) and shown[0, 0, 3] == 0 and shown[256, 256, 3] == 255


def test_a_model_with_nan_vertices_leaves_no_files(observed, tmp_path):
    frame, segment, description = observed
    data = bytearray(glb())
    start = data.rindex(b"BIN\0") + 4
    data[start:] = np.full((len(data) - start) // 4, np.nan, np.float32).tobytes()
    with pytest.raises(AssetError, match="what the stand-in made cannot be used"):
        generate_asset(Maker(bytes(data)), frame, segment, description, tmp_path / "kept")
    assert not (tmp_path / "kept").exists() or not list((tmp_path / "kept").iterdir())

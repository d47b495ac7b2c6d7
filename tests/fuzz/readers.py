"""Every reader of something foreign, by name, with real small files to start from."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

from pipeline.assets.importers.asset_import import find_sources, unpack
from pipeline.assets.importers.confined_import import parse_event
from pipeline.assets.importers.mesh_import import clean_mesh, read_mesh
from pipeline.assets.importers.model_import import read_model
from pipeline.assets.library import read_asset
from pipeline.errors import StudioError
from pipeline.frame import confined_reader
from pipeline.frame.load import open_in_process
from pipeline.models.client.reply import ReplyReader, events_of
from pipeline.segmentation.exchange import read_masks, write_masks
from pipeline.segmentation.prompts import read_prompts
from pipeline.segmentation.segment import NamedMask
from pipeline.store import parse_json
from pipeline.untrusted.confined import ConfinedError, Result
from studio.viewer.commands import parse_command
from tests.frame import written
from tests.frame.conftest import subsampled
from tests.fuzz.project_readers import PROJECT_READERS
from tests.fuzz.reader import Files, Reader, each_text, files_in, text_seed
from tests.fuzz.robot_readers import ROBOT_READERS

ROOT = Path(__file__).resolve().parents[2]
BAG = ROOT / "tests" / "frame" / "synthetic.bag"
DEPTHS = ("float_tiff", "float_npy", "float_exr", "npz_integer_depth")
RECORDINGS = ("mcap", "tum", "bop", "open3d", "flat_pairs", "r3d", "video")
WRITERS = ("plain", "plain_zip", *DEPTHS, *RECORDINGS)
"""Names in tests.frame.written.FORMATS."""


def run(name: str, folder: str) -> Result:
    """Call a reader in the child, on each folder in `folder`; return the message of each StudioError, else None."""
    errors: list[str | None] = []
    for files in sorted(Path(folder).iterdir()):
        try:
            READERS[name].read(files)
            errors.append(None)
        except StudioError as error:
            errors.append(str(error))
    return Result({"errors": errors})


def prepare() -> None:
    """Compute once in the server what all examples share."""
    confined_reader.prepare()
    _frame()


@cache
def _frame():
    return subsampled(open_in_process(ROOT / "sample_scenes" / "blocks").frame(0), 16)


def _seed_of(writer: str) -> Callable[[], Files]:
    """Return a function that returns the files that a writer of tests.frame.written makes of a small frame."""

    def seed() -> Files:
        with tempfile.TemporaryDirectory() as folder:
            made = written.FORMATS[writer](_frame(), Path(folder))
            top = made if made.is_dir() else made.parent
            files = [file for file in made.rglob("*") if file.is_file()] if made.is_dir() else [made]
            return {file.relative_to(top).as_posix(): file.read_bytes() for file in files}

    return seed


def _read_frame(folder: Path) -> object:
    files = [file for file in folder.iterdir() if file.is_file()]
    single = (".zip", ".npz", ".r3d", ".bag", ".mcap", ".ply", ".glb", ".jpg")
    recording = open_in_process(files[0] if len(files) == 1 and files[0].suffix in single else folder)
    frame = recording.frame(0)
    assert np.isfinite(frame.depth).all() and frame.rgb.shape[:2] == frame.depth.shape
    return frame


def _cloud(kind: str) -> Callable[[], Files]:
    def seed() -> Files:
        frame = _frame()
        known = frame.depth > 0
        cloud = trimesh.PointCloud(*(np.tile(values[known], (4, 1)) for values in (frame.points, frame.rgb)))
        return {f"f.{kind}": bytes(cloud.export(file_type=kind))}  # type: ignore[arg-type]

    return seed


def _photo() -> Files:
    raw, exif = io.BytesIO(), Image.Exif()
    exif.get_ifd(0x8769)[0xA405] = 26
    Image.fromarray(_frame().rgb).save(raw, "JPEG", exif=exif)
    return {"rgb.jpg": raw.getvalue(), **{k: v for k, v in _seed_of("plain")().items() if k != "rgb.png"}}


def _mesh(kind: str) -> Callable[[], Files]:
    def seed() -> Files:
        box = trimesh.creation.box([0.08, 0.05, 0.1])
        if kind == "obj":
            uv = np.random.default_rng(0).random((len(box.vertices), 2))
            image = Image.fromarray(np.full((8, 8, 3), 90, np.uint8))
            box.visual = trimesh.visual.TextureVisuals(uv=uv, image=image)
            text, files = trimesh.exchange.obj.export_obj(box, return_texture=True)
            return {"mesh.obj": text.encode(), **{name: bytes(content) for name, content in files.items()}}
        exported = box.export(file_type=kind)
        if isinstance(exported, dict):
            return {("mesh.gltf" if name.endswith(".gltf") else name): bytes(c) for name, c in exported.items()}
        return {f"mesh.{kind}": exported.encode() if isinstance(exported, str) else bytes(exported)}

    return seed


def _read_mesh(folder: Path) -> object:
    (source, *_) = find_sources(folder)
    return clean_mesh(read_mesh(source)[0], source.name, "m", "z")


def _mjcf() -> Files:
    from tests.assets.test_importers import CABINET

    return {"cabinet.xml": CABINET.encode(), "knob.stl": KNOB}


KNOB = bytes(trimesh.creation.box([8, 8, 8]).export(file_type="stl"))  # type: ignore[arg-type]
URDF = """<robot name="box"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://box/knob.stl" scale="0.001 0.001 0.001"/></geometry></visual>
<collision><origin xyz="0 0 0" rpy="0 0 0"/><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="lid"><visual><geometry><cylinder radius="0.03" length="0.02"/></geometry></visual>
<inertial><mass value="0.1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="lid"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def _urdf() -> Files:
    return {"box.urdf": URDF.encode(), "knob.stl": KNOB}


def _read_model(folder: Path) -> object:
    return read_model(find_sources(folder)[0], folder)


def _zip() -> Files:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _urdf().items():
            archive.writestr(f"box/{name}", content)
    return {"drop.zip": raw.getvalue()}


def _read_zip(folder: Path) -> object:
    with tempfile.TemporaryDirectory() as out:
        return find_sources(unpack(folder / "drop.zip", Path(out)))


def _library_asset() -> Files:
    return files_in(ROOT / "sample_scenes" / "library" / "red_cube")


def _read_asset(folder: Path) -> object:
    with tempfile.TemporaryDirectory() as cache:
        return read_asset(folder, Path(cache))


def _masks(form: str) -> Callable[[], Files]:
    def seed() -> Files:
        mask = np.zeros((12, 16), bool)
        mask[2:6, 3:9] = True
        objects = [NamedMask(1, "cup", mask), NamedMask(2, "box", mask[::-1, ::-1])]
        return {"masks": write_masks(form, objects, mask.shape, image_url="data:,")[1]}  # type: ignore[arg-type]

    return seed


def _label_studio() -> Files:
    packed = _masks("label-studio")()["masks"]
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {"masks": archive.read("tasks.json")}


def _read_masks(folder: Path) -> object:
    return read_masks((folder / "masks").read_bytes(), (12, 16))


def _prompts() -> Files:
    objects = [{"id": 1, "points": [[5, 5, 1], [9, 9, 0]], "box": None}, {"id": 2, "points": [], "box": [1, 1, 9, 9]}]
    return {"prompts.json": json.dumps({"objects": objects}).encode()}


def read_completion(text: str) -> object:
    reader = ReplyReader(lambda text: None)
    try:
        for event in events_of(text):
            reader.add(event)
    except (ValueError, RecursionError) as error:  # the client says that the server does not speak the API
        raise StudioError(str(error)) from None
    return reader.reply("model").text.encode()


COMPLETION = json.dumps({
    "id": "1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None,
                 "message": {"role": "assistant", "content": "{\"a\": 1}", "refusal": None}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
})  # fmt: skip


def read_event(text: str) -> object:
    """Read an event of a confined import; None where the studio says that it is nonsense."""
    try:
        return parse_event(parse_json(text))
    except (ConfinedError, ValueError):
        return None


COMMANDS = (
    '{"op": "push", "body": 1, "point": [0, 0, 0.1], "target": [0.1, 0, 0.2]}', '{"op": "seek", "time": 1.5}',
    '{"op": "joint", "number": 0, "value": 0.3}',
)  # fmt: skip
EVENT = json.dumps({"message": "m", "done": 1, "total": 2, "id": "cup", "warnings": ["w"], "longest": 2.0,
                    "outlines": {"x": {"path": "M0,0Z", "wide": 1.0, "tall": 0.5}}})  # fmt: skip


READERS: dict[str, Reader] = {
    **{f"frame {name}": Reader(_read_frame, _seed_of(name), name != "plain") for name in WRITERS},
    **{f"frame {kind}": Reader(_read_frame, _cloud(kind), True) for kind in ("ply", "glb")},
    "frame bag": Reader(_read_frame, lambda: {"f.bag": BAG.read_bytes()}, True),
    "frame jpeg": Reader(_read_frame, _photo, False),
    **{f"mesh {kind}": Reader(_read_mesh, _mesh(kind), True) for kind in ("obj", "stl", "ply", "glb", "gltf")},
    "model mjcf": Reader(_read_model, _mjcf, True),
    "model urdf": Reader(_read_model, _urdf, True),
    "model zip": Reader(_read_zip, _zip, True),
    "library asset": Reader(_read_asset, _library_asset),
    **{f"masks {form}": Reader(_read_masks, _masks(form), True) for form in ("coco", "cvat", "labels", "images")},
    "masks label studio": Reader(_read_masks, _label_studio, True),
    "prompts": Reader(lambda folder: read_prompts(folder / "prompts.json", _frame()), _prompts),
    **PROJECT_READERS,
    **ROBOT_READERS,
    "model completion": Reader(each_text(read_completion), text_seed(COMPLETION)),
    "viewer commands": Reader(each_text(parse_command), text_seed(*COMMANDS)),
    "import events": Reader(each_text(read_event), text_seed(EVENT)),
}

"""Every reader of something foreign, by name, with real small files to start from."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from PIL import Image

from pipeline.errors import StudioError
from pipeline.untrusted.isolated import Reply
from tests.fuzz import messages
from tests.fuzz.messages import Files

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Reader:
    read: Callable[[Path], object]
    """Reads the files in a folder. Raises StudioError."""
    seed: Callable[[], Files]
    is_contained: bool = False
    """Whether the studio calls it in a confined child, which may be ended by a limit or crash."""


def run(name: str, folder: str) -> Reply:
    """Call a reader in the child; return whether it returned a value, and the message of its StudioError."""
    try:
        READERS[name].read(Path(folder))
    except StudioError as error:
        return Reply({"error": str(error)})
    return Reply({"error": None})


def prepare() -> None:
    """Import everything once in the server, and compute what all examples share."""
    import pipeline.frame.confined_reader

    pipeline.frame.confined_reader.prepare()
    import pipeline.assets.importers.import_worker
    import pipeline.models.client.reply
    import pipeline.project
    import pipeline.simulation.sandbox.child_report
    import studio.viewer.commands  # noqa: F401

    _frame()


@cache
def _frame():
    from pipeline.frame.load import open_in_process
    from tests.frame.conftest import subsampled

    return subsampled(open_in_process(ROOT / "sample_scenes" / "blocks").frame(0), 16)


def _written(write: Callable) -> Files:
    """Return the files that a writer of tests.frame.written makes of a small frame."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = write(_frame(), Path(folder))
        top = made if made.is_dir() else made.parent
        files = [file for file in top.rglob("*") if file.is_file()] if made.is_dir() else [made]
        return {file.relative_to(top).as_posix(): file.read_bytes() for file in files}


def _read_frame(folder: Path) -> object:
    from pipeline.frame.load import open_in_process

    files = [file for file in folder.iterdir() if file.is_file()]
    single = (".zip", ".npz", ".r3d", ".bag", ".ply", ".glb", ".jpg")
    recording = open_in_process(files[0] if len(files) == 1 and files[0].suffix in single else folder)
    frame = recording.frame(0)
    assert np.isfinite(frame.depth).all() and frame.rgb.shape[:2] == frame.depth.shape
    return frame


def _frame_reader(writer: str, is_contained: bool = True) -> Reader:
    def seed() -> Files:
        from tests.frame import written

        return _written(getattr(written, writer))

    return Reader(_read_frame, seed, is_contained)


def _cloud(kind: str) -> Callable[[], Files]:
    def seed() -> Files:
        frame = _frame()
        known = frame.depth > 0
        points, colours = frame.points[known], frame.rgb[known]
        points, colours = np.tile(points, (4, 1)), np.tile(colours, (4, 1))
        cloud = trimesh.PointCloud(points, colours)
        return {f"f.{kind}": bytes(cloud.export(file_type=kind))}  # type: ignore[arg-type]

    return seed


def _photo() -> Files:
    raw = io.BytesIO()
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0xA405] = 26
    Image.fromarray(_frame().rgb).save(raw, "JPEG", exif=exif)
    return {"rgb.jpg": raw.getvalue(), **{k: v for k, v in _written(_plain).items() if k != "rgb.png"}}


def _plain(frame: Any, path: Path) -> Path:
    from tests.frame import written

    return written.plain(frame, path)


# ---------------------------------------------------------------------- meshes and models


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
    from pipeline.assets.importers.asset_import import find_sources
    from pipeline.assets.importers.mesh_import import clean_mesh, read_mesh

    (source, *_) = find_sources(folder)
    return clean_mesh(read_mesh(source), source.name, "m", "z")


def _knob() -> bytes:
    exported = trimesh.creation.box([8, 8, 8]).export(file_type="stl")
    assert isinstance(exported, bytes)
    return exported


def _mjcf() -> Files:
    from tests.assets.test_importers import CABINET

    return {"cabinet.xml": CABINET.encode(), "knob.stl": _knob()}


URDF = """<robot name="box"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://box/knob.stl" scale="0.001 0.001 0.001"/></geometry></visual>
<collision><origin xyz="0 0 0" rpy="0 0 0"/><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="lid"><visual><geometry><cylinder radius="0.03" length="0.02"/></geometry></visual>
<inertial><mass value="0.1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="lid"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def _urdf() -> Files:
    return {"box.urdf": URDF.encode(), "knob.stl": _knob()}


def _read_model(folder: Path) -> object:
    from pipeline.assets.importers.asset_import import find_sources
    from pipeline.assets.importers.model_import import read_model

    return read_model(find_sources(folder)[0], folder)


def _zip() -> Files:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _urdf().items():
            archive.writestr(f"box/{name}", content)
    return {"drop.zip": raw.getvalue()}


def _read_zip(folder: Path) -> object:
    import tempfile

    from pipeline.assets.importers.asset_import import find_sources, unpack

    with tempfile.TemporaryDirectory() as out:
        return find_sources(unpack(folder / "drop.zip", Path(out)))


def _library_asset() -> Files:
    home = ROOT / "sample_scenes" / "library" / "red_cube"
    return {file.relative_to(home).as_posix(): file.read_bytes() for file in home.rglob("*") if file.is_file()}


def _read_asset(folder: Path) -> object:
    import tempfile

    from pipeline.assets.library import read_asset

    with tempfile.TemporaryDirectory() as cache:
        return read_asset(folder, Path(cache))


# ---------------------------------------------------------------------- masks and prompts


def _masks(form: str) -> Callable[[], Files]:
    def seed() -> Files:
        from pipeline.segmentation.exchange import write_masks
        from pipeline.segmentation.named_mask import NamedMask

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
    from pipeline.segmentation.exchange import read_masks

    return read_masks((folder / "masks").read_bytes(), (12, 16))


def _prompts() -> Files:
    objects = [{"id": 1, "points": [[5, 5, 1], [9, 9, 0]], "box": None}, {"id": 2, "points": [], "box": [1, 1, 9, 9]}]
    return {"prompts.json": json.dumps({"objects": objects}).encode()}


def _read_prompts(folder: Path) -> object:
    from pipeline.segmentation.prompts import read_prompts

    return read_prompts(folder / "prompts.json", _frame())


# ---------------------------------------------------------------------- files of a project


@cache
def _kept_project() -> Mapping[str, bytes]:
    top = sorted((ROOT / "tests" / "reliability" / "kept_projects").glob("*/project.json"))[0].parent
    blocks = ROOT / "sample_scenes" / "blocks"
    pictures = {f"frame/{name}": (blocks / name).read_bytes() for name in ("rgb.png", "depth.png")}
    files = {file.relative_to(top).as_posix(): file.read_bytes() for file in top.rglob("*") if file.is_file()}
    return pictures | files


def _project_file(*names: str) -> Callable[[], Files]:
    """Return a seed of these files; the rest of the project is `_read_project`'s."""
    return lambda: {name: _kept_project()[name] for name in names if name in _kept_project()}


def _read_project(folder: Path) -> object:
    """Open a project with the files in `folder` in place of its own, and read everything in it."""
    import tempfile

    from pipeline.project import Project

    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "project")
        changed = {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for name, content in {**{Path(name): kept for name, kept in _kept_project().items()}, **changed}.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)
        project = Project.open(home)
        return [
            project.name, project.stages(), project.segments(), project.descriptions(), project.matches(),
            project.scene(), project.tasks(), project.task(), project.rounds(), project.best_round(),
            project.solution(), project.asset_overrides(), project.question_overrides(),
        ]  # fmt: skip


def _read_trace(folder: Path) -> object:
    from pipeline.models.costs.budget import spent_usd
    from pipeline.models.model import ModelError
    from pipeline.models.trace.call_log import CallLog, totals
    from pipeline.models.trace.openinference import spans
    from pipeline.models.trace.recorder import _is_answer, read_trace
    from pipeline.models.trace.replay import ReplayModel

    calls = CallLog(folder / "trace.jsonl").read()
    parts = [
        (one.kind, one.subject, one.error, one.seconds, one.messages, one.pictures, one.attempts, one.tokens, one.cost,
         one.raw_reply, one.model, one.stage, one.started_at)
        for one in calls
    ]  # fmt: skip
    lines = list(read_trace(folder / "trace.jsonl"))
    answers = [(line["asked"], line["output.value"]) for line in lines if _is_answer(line)]
    with suppress(ModelError):
        ReplayModel(folder / "trace.jsonl")
    return parts, totals(calls), spans(folder / "trace.jsonl"), answers, spent_usd(lines)


def _trace() -> Files:
    path = next((name for name in _kept_project() if name == "trace.jsonl"), None)
    if path is not None and _kept_project()[path].strip():
        return {"trace.jsonl": _kept_project()[path]}
    start = {
        "span_id": "a", "trace_id": "t", "event": "start", "name": "describe", "start_time": "2026-01-01T00:00:00Z",
        "attributes": {"llm.model_name": "m", "llm.input_messages.0.message.role": "user",
                       "llm.input_messages.0.message.content": "x"},
    }  # fmt: skip
    end = {"span_id": "a", "event": "end", "end_time": "2026-01-01T00:00:01Z",
           "attributes": {"llm.token_count.prompt": 3, "llm.output_messages.0.message.content": "{}"}}  # fmt: skip
    return {"trace.jsonl": (json.dumps(start) + "\n" + json.dumps(end) + "\n").encode()}


def _bag() -> Files:
    return {"f.bag": (ROOT / "tests" / "frame" / "synthetic.bag").read_bytes()}


READERS: dict[str, Reader] = {
    "frame plain": _frame_reader("plain", is_contained=False),
    "frame zip": _frame_reader("plain_zip"),
    "frame tiff": _frame_reader("float_tiff"),
    "frame npy": _frame_reader("float_npy"),
    "frame exr": _frame_reader("float_exr"),
    "frame npz": _frame_reader("npz_integer_depth"),
    "frame tum": _frame_reader("tum"),
    "frame bop": _frame_reader("bop"),
    "frame open3d": _frame_reader("open3d"),
    "frame pairs": _frame_reader("flat_pairs"),
    "frame record3d": _frame_reader("r3d"),
    "frame video": _frame_reader("video"),
    "frame ply": Reader(_read_frame, _cloud("ply"), True),
    "frame glb": Reader(_read_frame, _cloud("glb"), True),
    "frame bag": Reader(_read_frame, _bag, True),
    "frame jpeg": Reader(_read_frame, _photo, False),
    "mesh obj": Reader(_read_mesh, _mesh("obj"), True),
    "mesh stl": Reader(_read_mesh, _mesh("stl"), True),
    "mesh ply": Reader(_read_mesh, _mesh("ply"), True),
    "mesh glb": Reader(_read_mesh, _mesh("glb"), True),
    "mesh gltf": Reader(_read_mesh, _mesh("gltf"), True),
    "model mjcf": Reader(_read_model, _mjcf, True),
    "model urdf": Reader(_read_model, _urdf, True),
    "model zip": Reader(_read_zip, _zip, True),
    "library asset": Reader(_read_asset, _library_asset),
    "masks coco": Reader(_read_masks, _masks("coco"), True),
    "masks cvat": Reader(_read_masks, _masks("cvat"), True),
    "masks label studio": Reader(_read_masks, _label_studio, True),
    "masks labels": Reader(_read_masks, _masks("labels"), True),
    "masks images": Reader(_read_masks, _masks("images"), True),
    "prompts": Reader(_read_prompts, _prompts),
    "project.json": Reader(_read_project, _project_file("project.json")),
    "decisions.jsonl": Reader(_read_project, _project_file("decisions.jsonl")),
    "descriptions.json": Reader(_read_project, _project_file("descriptions.json")),
    "matches.json": Reader(_read_project, _project_file("matches.json")),
    "scene.json": Reader(_read_project, _project_file("scene.json")),
    "task.json": Reader(_read_project, _project_file("task.json", "tasks.json")),
    "masks of a project": Reader(_read_project, _project_file("segments/coco.json", "segments/automatic/coco.json")),
    "rounds": Reader(_read_project, _project_file("rounds/000/report.json", "rounds.jsonl")),
    "solution": Reader(_read_project, _project_file("solution.json", "solution.npz")),
    "trace": Reader(_read_trace, _trace),
    "model answer": Reader(messages.each_text(messages.read_answer), messages.text_seed(messages.ANSWER)),
    "model completion": Reader(messages.each_text(messages.read_completion), messages.text_seed(messages.COMPLETION)),
    "sandbox messages": Reader(messages.each_text(messages.read_sandbox_message), messages.text_seed(messages.SANDBOX)),
    "viewer commands": Reader(messages.each_text(messages.read_command), messages.text_seed(*messages.COMMANDS)),
    "import events": Reader(messages.each_text(messages.read_event), messages.text_seed(messages.EVENT)),
}  # fmt: skip

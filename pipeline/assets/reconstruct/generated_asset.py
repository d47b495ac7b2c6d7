"""Makes an asset from an image-to-3D service's model: imported in isolation, upright, scaled to the measured size."""

import json
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.categories import default_mass
from pipeline.assets.image_to_3d import ImageTo3D, Made, ObjectView, ServiceCancelled, ServiceError
from pipeline.assets.image_to_3d.service import MAX_REPLY_BYTES
from pipeline.assets.importers.confined_import import import_confined
from pipeline.assets.library import read_asset
from pipeline.description import Description
from pipeline.errors import StudioError, single_line
from pipeline.frame import Frame
from pipeline.geometry import bounding_box
from pipeline.segmentation import Segment
from pipeline.store import digest, parse_json, write_json


def find_generated(frame: Frame, segment: Segment, folder: Path) -> Asset | None:
    """Return the asset generated from this picture before, below `folder`; None if there is none."""
    try:
        return read_asset(_asset_folder(frame, segment, folder))
    except AssetError:
        return None


def generate_asset(
    service: ImageTo3D,
    frame: Frame,
    segment: Segment,
    description: Description,
    folder: Path,
    stopped: Callable[[], bool] = lambda: False,
) -> Asset:
    """Return the asset that a service makes of a segment, cached below `folder` by what the photograph shows of it.

    The pose, scale and splats that the service tells are kept beside it. Raises ServiceError if the service fails, and
    AssetError if its model cannot be imported.
    """
    existing = find_generated(frame, segment, folder)
    if existing is not None and service.name in existing.provenance:
        return existing
    target = _asset_folder(frame, segment, folder)
    k = frame.intrinsics.matrix
    view = ObjectView(frame.rgb, segment.mask, frame.depth, k, description.name, description.caption, stopped)
    made = _answer(service, view)
    with tempfile.TemporaryDirectory(prefix="grs-provided-") as scratch:
        source = _mesh_file(made.mesh, Path(scratch), service.name)
        asset_folder = _import_mesh(source, description, service.name, stopped)
        _resize_asset(asset_folder, np.nan_to_num(description.attributes.size))
        _keep_answer(made, asset_folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(asset_folder, target)
    return read_asset(target)


def _answer(service: ImageTo3D, view: ObjectView) -> Made:
    """Return what a service made. A plug-in is a stranger's code: whatever it raises or returns is told in one line."""
    try:
        return Made(*service.make(view))
    except StudioError:
        raise
    except Exception as error:
        why = single_line(f"{type(error).__name__}: {error}")[:200]
        raise ServiceError(f"{service.name} failed: {why}; choose another method") from error


def _mesh_file(mesh: bytes | Path, scratch: Path, name: str) -> Path:
    """Return a file in `scratch` with the service's mesh. Raises ServiceError."""
    if isinstance(mesh, bytes):
        source = scratch / "thing.glb"
        source.write_bytes(mesh)
        return source
    file = Path(mesh)
    if not file.is_file() or file.stat().st_size > MAX_REPLY_BYTES:
        raise ServiceError(f"{name} named no mesh file of up to {MAX_REPLY_BYTES // 1_000_000} MB: {file.name}")
    return Path(shutil.copyfile(file, scratch / f"thing{file.suffix.lower()}"))


def _keep_answer(made: Made, folder: Path) -> None:
    pose = None if made.pose is None else np.asarray(made.pose, float).round(6).tolist()
    write_json(folder / "service.json", {"camera_from_mesh": pose, "metres_per_unit": made.scale})
    if made.splats:
        (folder / "splats.ply").write_bytes(made.splats)


def _asset_folder(frame: Frame, segment: Segment, folder: Path) -> Path:
    part = bounding_box(segment.mask).slices
    return folder / f"provided_{digest('provided', frame.rgb[part], segment.mask[part])}"


def _import_mesh(source: Path, description: Description, name: str, stopped: Callable[[], bool]) -> Path:
    """Import a mesh in a separate process and return its asset folder."""
    options = {
        "id": source.stem,
        "name": description.name.replace("_", " "),
        "caption": description.caption,
        "up": "y" if source.suffix in (".glb", ".gltf") else "z",
        "units": "m",
        "provenance": f"made from the view by {name}; what the camera did not see is its guess",
    }
    for step in import_confined([source], source.parent, source.parent / "library", options, _CallbackEvent(stopped)):
        if step.error:
            raise AssetError(f"what {name} made cannot be used: {step.error}")
        if step.id:
            return source.parent / "library" / step.id
    if stopped():
        raise ServiceCancelled("the generation from the picture was cancelled")
    raise AssetError(f"no object could be read from what {name} made; try again, or choose another method")


class _CallbackEvent(threading.Event):
    """An event that is set when a callback returns True."""

    def __init__(self, stopped: Callable[[], bool]):
        super().__init__()
        self._stopped = stopped

    def is_set(self) -> bool:
        return self._stopped()


def _resize_asset(folder: Path, size: np.ndarray) -> None:
    """Scale an asset folder to approximately a size (3,) in metres, in any orientation."""
    facts = parse_json((folder / "asset.json").read_text(encoding="utf-8"))
    extents = np.array(facts["size"], float)
    factor = size_factor(extents, size)
    for file in folder.rglob("*.obj"):
        lines = file.read_text(encoding="utf-8").splitlines()
        file.write_text("\n".join(_scaled_line(line, factor) for line in lines) + "\n", encoding="utf-8")
    mass = default_mass(extents * factor, bool(facts.get("container")))
    facts |= {"size": [round(float(e), 5) for e in extents * factor], "mass": round(mass, 5), "id": "provided"}
    facts = {key: value for key, value in facts.items() if key != "mass_range"} | {"mass_from": "size"}
    (folder / "asset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def size_factor(extents: np.ndarray, size: np.ndarray) -> float:
    """Return the factor that brings extents (3,) to about a size (3,) in metres, in any orientation."""
    return float(np.exp(np.mean(np.log(np.sort(np.maximum(size, 1e-3)) / np.sort(np.maximum(extents, 1e-6))))))


def _scaled_line(line: str, factor: float) -> str:
    if not line.startswith("v "):
        return line
    numbers = line.split()[1:]
    return " ".join(["v", *(f"{float(n) * factor:.6f}" for n in numbers[:3]), *numbers[3:]])

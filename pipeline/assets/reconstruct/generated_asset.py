"""Makes an asset from an image-to-3D service's model: imported in isolation, upright, scaled to the measured size."""

import io
import json
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.categories import default_mass
from pipeline.assets.image_to_3d import Provider, ProviderCancelled
from pipeline.assets.importers.confined_import import import_confined
from pipeline.assets.library import read_asset
from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.geometry import bounding_box
from pipeline.segmentation import Segment
from pipeline.store import digest, parse_json

PICTURE_PIXELS = 512
"""Side of the picture."""
PICTURE_MARGIN = 0.1
"""Transparent margin around the object, over the side of the picture."""


def object_picture(frame: Frame, segment: Segment) -> bytes:
    """Return the object alone as a square PNG, RGBA, with a transparent background."""
    part = bounding_box(segment.mask).slices
    alpha = cv2.GaussianBlur(segment.mask[part].astype(np.uint8) * 255, (3, 3), 0)
    cropped = Image.fromarray(np.dstack([frame.rgb[part], alpha]))
    room = round(PICTURE_PIXELS * (1 - 2 * PICTURE_MARGIN))
    factor = room / max(cropped.size)
    cropped = cropped.resize(
        (max(1, round(cropped.width * factor)), max(1, round(cropped.height * factor))), Image.Resampling.LANCZOS
    )
    picture = Image.new("RGBA", (PICTURE_PIXELS, PICTURE_PIXELS))
    picture.paste(cropped, ((PICTURE_PIXELS - cropped.width) // 2, (PICTURE_PIXELS - cropped.height) // 2))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def find_generated(frame: Frame, segment: Segment, folder: Path) -> Asset | None:
    """Return the asset generated from this picture before, below `folder`; None if there is none."""
    try:
        return read_asset(_asset_folder(frame, segment, folder))
    except AssetError:
        return None


def generate_asset(
    provider: Provider,
    frame: Frame,
    segment: Segment,
    description: Description,
    folder: Path,
    stopped: Callable[[], bool] = lambda: False,
) -> Asset:
    """Return the asset that a service makes of a segment's picture, cached below `folder` by the picture.

    Raises ProviderError if the service fails, and AssetError if its model cannot be imported.
    """
    if (existing := find_generated(frame, segment, folder)) is not None:
        return existing
    target = _asset_folder(frame, segment, folder)
    glb = provider.make(object_picture(frame, segment), stopped)
    with tempfile.TemporaryDirectory(prefix="grs-provided-") as scratch:
        source = Path(scratch) / "thing.glb"
        source.write_bytes(glb)
        asset_folder = _import_glb(source, description, provider.name, stopped)
        _resize_asset(asset_folder, np.nan_to_num(description.attributes.size))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(asset_folder, target)
    return read_asset(target)


def _asset_folder(frame: Frame, segment: Segment, folder: Path) -> Path:
    return folder / f"provided_{digest('provided', object_picture(frame, segment))}"


def _import_glb(source: Path, description: Description, name: str, stopped: Callable[[], bool]) -> Path:
    """Import a GLB in a separate process and return its asset folder."""
    options = {
        "id": source.stem, "name": description.name.replace("_", " "), "caption": description.caption, "up": "y",
        "units": "m", "provenance": f"made from the view by {name}; what the camera did not see is its guess",
    }  # fmt: skip
    for step in import_confined([source], source.parent, source.parent / "library", options, _CallbackEvent(stopped)):
        if step.error:
            raise AssetError(f"what {name} made cannot be used: {step.error}")
        if step.id:
            return source.parent / "library" / step.id
    if stopped():
        raise ProviderCancelled("the generation from the picture was cancelled")
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
    factor = float(np.exp(np.mean(np.log(np.sort(np.maximum(size, 1e-3)) / np.sort(np.maximum(extents, 1e-6))))))
    for file in folder.rglob("*.obj"):
        lines = file.read_text(encoding="utf-8").splitlines()
        file.write_text("\n".join(_scaled_line(line, factor) for line in lines) + "\n", encoding="utf-8")
    mass = default_mass(extents * factor, bool(facts.get("container")))
    facts |= {"size": [round(float(e), 5) for e in extents * factor], "mass": round(mass, 5), "id": "provided"}
    facts = {key: value for key, value in facts.items() if key != "mass_range"} | {"mass_from": "size"}
    (folder / "asset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _scaled_line(line: str, factor: float) -> str:
    if not line.startswith("v "):
        return line
    numbers = line.split()[1:]
    return " ".join(["v", *(f"{float(n) * factor:.6f}" for n in numbers[:3]), *numbers[3:]])

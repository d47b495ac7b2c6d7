"""An asset that an image-to-3D service made of a thing's picture: read apart, cleaned, upright, large as measured."""

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
from pipeline.assets.categories import usual_mass
from pipeline.assets.importing_apart import bring_apart
from pipeline.assets.library import read_asset
from pipeline.assets.provider import Provider, ProviderStopped
from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.segmentation import Segment
from pipeline.store import digest

SIDE = 512
"""Pixels of the picture's sides."""
MARGIN = 0.1
"""Clear share of it around the thing."""


def picture(frame: Frame, segment: Segment) -> bytes:
    """The thing alone as a square PNG, RGBA, clear around it."""
    rows, columns = np.flatnonzero(segment.mask.any(axis=1)), np.flatnonzero(segment.mask.any(axis=0))
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    alpha = cv2.GaussianBlur(segment.mask[part].astype(np.uint8) * 255, (3, 3), 0)
    cut = Image.fromarray(np.dstack([frame.rgb[part], alpha]))
    room = round(SIDE * (1 - 2 * MARGIN))
    factor = room / max(cut.size)
    cut = cut.resize((max(1, round(cut.width * factor)), max(1, round(cut.height * factor))), Image.Resampling.LANCZOS)
    sheet = Image.new("RGBA", (SIDE, SIDE))
    sheet.paste(cut, ((SIDE - cut.width) // 2, (SIDE - cut.height) // 2))
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()


def provided(frame: Frame, segment: Segment, folder: Path) -> Asset | None:
    """What a service made of this picture before, kept below `folder`; None where it was not asked yet."""
    try:
        return read_asset(_place(frame, segment, folder))
    except AssetError:
        return None


def provide(
    provider: Provider,
    frame: Frame,
    segment: Segment,
    description: Description,
    folder: Path,
    stopped: Callable[[], bool] = lambda: False,
) -> Asset:
    """The asset that a service makes of a segment's picture, kept below `folder`, found again for the same picture.

    Raises ProviderError where it makes none, AssetError where what it made is no asset.
    """
    if (before := provided(frame, segment, folder)) is not None:
        return before
    target = _place(frame, segment, folder)
    glb = provider.make(picture(frame, segment), stopped)
    with tempfile.TemporaryDirectory(prefix="grs-provided-") as scratch:
        source = Path(scratch) / "thing.glb"
        source.write_bytes(glb)
        made = _read_apart(source, description, provider.name, stopped)
        _resized(made, np.nan_to_num(description.attributes.size))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)
    return read_asset(target)


def _place(frame: Frame, segment: Segment, folder: Path) -> Path:
    return folder / f"provided_{digest('provided', picture(frame, segment))}"


def _read_apart(source: Path, description: Description, name: str, stopped: Callable[[], bool]) -> Path:
    """The asset folder made of a GLB by a process of its own."""
    told = {
        "id": source.stem, "name": description.name.replace("_", " "), "caption": description.caption, "up": "y",
        "units": "m", "provenance": f"made from the view by {name}; what the camera did not see is its guess",
    }  # fmt: skip
    for step in bring_apart([source], source.parent, source.parent / "library", told, _Asked(stopped)):
        if step.error:
            raise AssetError(f"what {name} made cannot be used: {step.error}")
        if step.id:
            return source.parent / "library" / step.id
    if stopped():
        raise ProviderStopped("making it from the picture was stopped")
    raise AssetError(f"nothing could be read of what {name} made; ask again, or choose another way")


class _Asked(threading.Event):
    """An event that is set when asking says so."""

    def __init__(self, stopped: Callable[[], bool]):
        super().__init__()
        self._stopped = stopped

    def is_set(self) -> bool:
        return self._stopped()


def _resized(folder: Path, size: np.ndarray) -> None:
    """An asset folder brought to about a size (3,) in metres, whichever way the thing lies."""
    facts = json.loads((folder / "asset.json").read_text(encoding="utf-8"))
    extents = np.array(facts["size"], float)
    factor = float(np.exp(np.mean(np.log(np.sort(np.maximum(size, 1e-3)) / np.sort(np.maximum(extents, 1e-6))))))
    for file in folder.rglob("*.obj"):
        lines = file.read_text(encoding="utf-8").splitlines()
        file.write_text("\n".join(_scaled(line, factor) for line in lines) + "\n", encoding="utf-8")
    mass = usual_mass(extents * factor, bool(facts.get("container")))
    facts |= {"size": [round(float(e), 5) for e in extents * factor], "mass": round(mass, 5), "id": "provided"}
    facts = {key: value for key, value in facts.items() if key != "mass_range"} | {"mass_from": "size"}
    (folder / "asset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _scaled(line: str, factor: float) -> str:
    if not line.startswith("v "):
        return line
    numbers = line.split()[1:]
    return " ".join(["v", *(f"{float(n) * factor:.6f}" for n in numbers[:3]), *numbers[3:]])

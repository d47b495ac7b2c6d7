"""Masks as other programs write and read them: COCO, CVAT, Label Studio, a label image, one image an object.

CVAT takes "COCO 1.0", a zip with annotations/instances_default.json, whose image names must be those of its task
(https://docs.cvat.ai/docs/manual/advanced/formats/format-coco/). What is read is known by its content, not its name.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

import cv2
import numpy as np
from PIL import Image

from pipeline.segmentation import label_studio
from pipeline.segmentation.files import rle, unrle
from pipeline.segmentation.segment import SegmentationError

Form = Literal["coco", "cvat", "label-studio", "labels", "images"]
READ = "COCO (JSON or CVAT's zip), Label Studio's JSON, a label image, or a zip of one image an object"
MOST_LABELS, MOST_BYTES = 500, 1 << 29


@dataclass(frozen=True, eq=False)
class Named:
    """One object's mask on its way out or in."""

    id: int
    """1, 2, ... unique in a file."""
    name: str
    """What it is called; "" where the file says nothing."""
    mask: np.ndarray
    """Of shape (H, W), bool."""


def write(
    form: Form, objects: Sequence[Named], shape: tuple[int, int], image: str = "rgb.png", picture: str = ""
) -> tuple[str, bytes]:
    """A file's name and content. Masks of shape (H, W) belong to the image of that file name.

    Label Studio shows `picture`, any address it can reach or the picture itself as data:image/jpeg;base64,...
    """
    files: dict[Form, Callable[[], tuple[str, bytes]]] = {
        "coco": lambda: ("coco.json", _json(coco(objects, shape, image))),
        "cvat": lambda: ("cvat_coco.zip", _zip({CVAT: _json(coco(objects, shape, image))})),
        "label-studio": lambda: ("label_studio.zip", _zip(_label_studio(objects, picture or image))),
        "labels": lambda: ("labels.png", _png(labels(objects, shape))),
        "images": lambda: ("masks.zip", _zip({_file_name(o): _png(o.mask.astype(np.uint8) * 255) for o in objects})),
    }
    if form not in files:
        raise SegmentationError(f"Masks cannot be written as {form!r}; there are {', '.join(files)}.")
    return files[form]()


def read(data: bytes, shape: tuple[int, int]) -> tuple[Named, ...]:
    """The objects of a file, for a picture of shape (H, W). Raises SegmentationError: one line, why it does not fit."""
    try:
        if data[:4] == b"PK\x03\x04":
            found = _from_zip(data, shape)
        elif data[:8] == b"\x89PNG\r\n\x1a\n" or data[:4] in (b"II*\x00", b"MM\x00*"):
            found = _from_labels(data, shape)
        else:
            found = _from_json(json.loads(data.decode("utf-8-sig")), shape)
    except SegmentationError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OSError, RecursionError, zipfile.BadZipFile) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise SegmentationError(f"No masks can be read from this file ({why}); it takes {READ}.") from None
    found = [one for one in found if one.mask.any()]
    if not found:
        raise SegmentationError(f"The file holds no masks; it takes {READ}.")
    return tuple(_numbered(found))


# ---------------------------------------------------------------------- COCO

CVAT = "annotations/instances_default.json"


def coco(objects: Sequence[Named], shape: tuple[int, int], image: str) -> dict[str, Any]:
    """COCO's form with uncompressed run lengths (https://cocodataset.org/#format-data); names are the categories.

    `iscrowd` is 1 because COCO's run lengths ask for it; Datumaro, CVAT's reader, makes masks of them either way.
    """
    kinds = {name: i for i, name in enumerate(dict.fromkeys(o.name or "object" for o in objects), 1)}
    return {
        "info": {"description": "GRS Studio"},
        "licenses": [],
        "images": [{"id": 1, "width": shape[1], "height": shape[0], "file_name": image}],
        "categories": [{"id": i, "name": name, "supercategory": ""} for name, i in kinds.items()],
        "annotations": [
            {
                "id": one.id,
                "image_id": 1,
                "category_id": kinds[one.name or "object"],
                "segmentation": rle(one.mask),
                "area": int(one.mask.sum()),
                "bbox": _box(one.mask),
                "iscrowd": 1,
            }
            for one in objects
        ],
    }


def _from_coco(data: dict[str, Any], shape: tuple[int, int]) -> list[Named]:
    images = {image["id"]: image for image in data["images"]}
    fitting = [i for i, image in images.items() if (image["height"], image["width"]) == shape]
    if not fitting:
        sizes = ", ".join(sorted({f"{image['width']} x {image['height']}" for image in images.values()})) or "none"
        raise SegmentationError(f"The masks are of a picture of {sizes} pixels; this one has {shape[1]} x {shape[0]}.")
    if len(images) > 1:
        raise SegmentationError(f"The file holds {len(images)} pictures; export this one alone and take that.")
    names = {kind["id"]: str(kind["name"]) for kind in data.get("categories", ())}
    return [
        Named(int(note["id"]), names.get(note.get("category_id"), ""), _mask(note["segmentation"], shape))
        for note in data["annotations"]
        if note.get("segmentation")
    ]


def _mask(told: Any, shape: tuple[int, int]) -> np.ndarray:
    """Of polygons [[x, y, ...], ...] or run lengths, compressed or not."""
    if isinstance(told, dict):
        counts = told["counts"]
        mask = unrle({"size": told["size"], "counts": uncompressed(counts) if isinstance(counts, str) else counts})
        if mask.shape != shape:
            raise SegmentationError(
                f"A mask has {mask.shape[1]} x {mask.shape[0]} pixels, the picture {shape[1]} x {shape[0]}."
            )
        return mask
    mask = np.zeros(shape, np.uint8)
    for polygon in told:  # the corners between pixels, hence the half
        corners = (np.asarray(polygon, float).reshape(-1, 2) - 0.5) * 16
        cv2.fillPoly(mask, [np.rint(corners).astype(np.int32)], 1, shift=4)
    return mask > 0


def uncompressed(text: str) -> list[int]:
    """Counts of COCO's compressed run lengths: six bits a character, each count from the one two before
    (rleFrString in https://github.com/cocodataset/cocoapi/blob/master/common/maskApi.c)."""
    counts: list[int] = []
    value = shift = 0
    for character in text.encode():
        bits = character - 48
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value |= -1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return counts


def _box(mask: np.ndarray) -> list[int]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return [0, 0, 0, 0]
    return [int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)]


# ---------------------------------------------------------------------- the others


def labels(objects: Sequence[Named], shape: tuple[int, int]) -> np.ndarray:
    """A label image (H, W), uint16: 0 background, else the id; where masks overlap, the later one's."""
    image = np.zeros(shape, np.uint16)
    for one in objects:
        image[one.mask] = one.id
    return image


def _label_studio(objects: Sequence[Named], picture: str) -> dict[str, bytes]:
    named = [(one.id, one.name or "object", one.mask) for one in objects]
    return {
        "tasks.json": _json([label_studio.task(named, picture)]),
        "labeling_config.xml": label_studio.config([name for _, name, _ in named]).encode(),
    }


def _from_json(data: Any, shape: tuple[int, int]) -> list[Named]:
    if isinstance(data, dict) and "images" in data and "annotations" in data:
        return _from_coco(data, shape)
    return [Named(*one) for one in label_studio.masks(data, shape)]


def _from_zip(data: bytes, shape: tuple[int, int]) -> list[Named]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise SegmentationError("The zip unpacks to more than 512 MB; that is not a frame's masks.")
        names = [name for name in archive.namelist() if "__MACOSX" not in name]
        notes = [name for name in names if name.endswith(".json")]
        if notes:
            known = [name for name in notes if PurePosixPath(name).name.startswith("instances")]
            return _from_json(json.loads(archive.read((known or notes)[0]).decode("utf-8-sig")), shape)
        images = sorted(name for name in names if name.lower().endswith((".png", ".tif", ".tiff")))
        if len(images) == 1 and not re.match(r"\d", PurePosixPath(images[0]).stem):
            return _from_labels(archive.read(images[0]), shape)
        return [_from_image(PurePosixPath(name).stem, archive.read(name), i, shape) for i, name in enumerate(images, 1)]


def _from_image(stem: str, data: bytes, i: int, shape: tuple[int, int]) -> Named:
    pixels = _pixels(data, shape, stem)
    number, name = re.fullmatch(r"(\d*)[_-]?(.*)", stem.strip()).groups()  # type: ignore[union-attr]
    return Named(int(number or i), name, (pixels if pixels.ndim == 2 else pixels[..., :3].max(-1)) > 0)


def _from_labels(data: bytes, shape: tuple[int, int]) -> list[Named]:
    pixels = _pixels(data, shape, "The label image")
    if pixels.ndim == 3:
        pixels = pixels[..., :3].astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    values = np.unique(pixels)
    if len(values) > MOST_LABELS:
        raise SegmentationError(f"The image has {len(values)} different values: a photograph, not labels.")
    return [Named(int(value), "", pixels == value) for value in values if value]


def _pixels(data: bytes, shape: tuple[int, int], what: str) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        if image.size != shape[::-1]:
            raise SegmentationError(
                f"{what} has {image.width} x {image.height} pixels, the picture {shape[1]} x {shape[0]}."
            )
        return np.asarray(image)


def _numbered(found: list[Named]) -> list[Named]:
    """As they are where the ids are ours to use, else numbered from 1."""
    ids = [one.id for one in found]
    if len(set(ids)) == len(ids) and min(ids) > 0 and max(ids) < 1 << 16:
        return found
    return [Named(i, one.name, one.mask) for i, one in enumerate(found, 1)]


def _file_name(one: Named) -> str:
    return f"{one.id:03d}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', one.name or 'object')}.png"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()

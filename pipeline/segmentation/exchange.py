"""Export and import masks as other programs use them: COCO, CVAT, Label Studio, a label image, one image per object.

CVAT takes "COCO 1.0", a zip with annotations/instances_default.json, whose image names must be those of its task
(https://docs.cvat.ai/docs/manual/advanced/formats/format-coco/). Imported files are recognised by their content.
"""

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from PIL import Image

from pipeline.segmentation import label_studio
from pipeline.segmentation.coco import from_coco, to_coco
from pipeline.segmentation.segment import NamedMask, SegmentationError
from pipeline.store import parse_json
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result
from pipeline.untrusted.zips import ZipError, read_open_member

MaskFormat = Literal["coco", "cvat", "label-studio", "labels", "images"]
READABLE = "COCO (JSON or CVAT's zip), Label Studio's JSON, a label image, or a zip of one image per object"
CVAT_FILE = "annotations/instances_default.json"
MAX_LABELS, MAX_BYTES = 500, 1 << 27

LIMITS = Limits(seconds=60, memory_mb=2048)


def write_masks(
    form: MaskFormat, objects: Sequence[NamedMask], shape: tuple[int, int], image: str = "rgb.png", image_url: str = ""
) -> tuple[str, bytes]:
    """Return the name and content of a file with masks of shape (H, W), which belong to the image of that file name.

    Label Studio shows the image at `image_url`: an address it can reach, or data:image/jpeg;base64,...
    """
    writers: dict[MaskFormat, Callable[[], tuple[str, bytes]]] = {
        "coco": lambda: ("coco.json", _json(to_coco(objects, shape, image))),
        "cvat": lambda: ("cvat_coco.zip", _zip({CVAT_FILE: _json(to_coco(objects, shape, image))})),
        "label-studio": lambda: ("label_studio.zip", _zip(_label_studio_files(objects, image_url or image))),
        "labels": lambda: ("labels.png", _png(_label_image(objects, shape))),
        "images": lambda: (
            "masks.zip",
            _zip({_file_name(item): _png(item.mask.astype(np.uint8) * 255) for item in objects}),
        ),
    }
    if form not in writers:
        raise SegmentationError(f"Masks cannot be written as {form!r}; choose one of {', '.join(writers)}.")
    return writers[form]()


def read_masks(data: bytes, shape: tuple[int, int]) -> tuple[NamedMask, ...]:
    """Return the masks in a file, for an image of shape (H, W). Raises SegmentationError: one line with the reason."""
    try:
        if data[:4] == b"PK\x03\x04":
            masks = _from_zip(data, shape)
        elif data[:8] == b"\x89PNG\r\n\x1a\n" or data[:4] in (b"II*\x00", b"MM\x00*"):
            masks = _from_labels(data, shape)
        else:
            masks = _from_json(parse_json(data), shape)
    except (SegmentationError, MemoryError):
        raise
    except Exception as error:  # decoders raise errors of many kinds: SyntaxError, NotImplementedError, struct.error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise SegmentationError(f"No masks can be read from this file ({reason}); it should be {READABLE}.") from None
    masks = [item for item in masks if item.mask.any()]
    if len(masks) > MAX_LABELS:
        raise SegmentationError(f"The file holds {len(masks)} masks; at most {MAX_LABELS} are read.")
    if not masks:
        raise SegmentationError(f"The file holds no masks; it should be {READABLE}.")
    return tuple(_with_valid_ids(masks))


def _label_image(objects: Sequence[NamedMask], shape: tuple[int, int]) -> np.ndarray:
    """Return a label image (H, W), uint16: 0 background, else the id; where masks overlap, the later one's."""
    image = np.zeros(shape, np.uint16)
    for item in objects:
        image[item.mask] = item.id
    return image


def _label_studio_files(objects: Sequence[NamedMask], image_url: str) -> dict[str, bytes]:
    named = [NamedMask(item.id, item.name or "object", item.mask) for item in objects]
    return {
        "tasks.json": _json([label_studio.build_task(named, image_url)]),
        "labeling_config.xml": label_studio.labeling_config(item.name for item in named).encode(),
    }


def _from_json(data: Any, shape: tuple[int, int]) -> list[NamedMask]:
    if isinstance(data, dict) and "images" in data and "annotations" in data:
        return from_coco(data, shape)
    return label_studio.read_task(data, shape)


def _from_zip(data: bytes, shape: tuple[int, int]) -> list[NamedMask]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if "__MACOSX" not in name]
        if len(names) > MAX_LABELS:
            raise SegmentationError(f"The zip holds {len(names)} files; that is too many for a frame's masks.")
        json_files = [name for name in names if name.endswith(".json")]
        if json_files:
            instances = [name for name in json_files if PurePosixPath(name).name.startswith("instances")]
            return _from_json(parse_json(_read(archive, (instances or json_files)[0])), shape)
        images = sorted(name for name in names if name.lower().endswith((".png", ".tif", ".tiff")))
        if len(images) == 1 and not re.match(r"\d", PurePosixPath(images[0]).stem):
            return _from_labels(_read(archive, images[0]), shape)
        parts = ((PurePosixPath(name).stem, _read(archive, name)) for name in images)
        return [_from_image(stem, content, i, shape) for i, (stem, content) in enumerate(parts, 1)]


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return one file of a zip, at most MAX_BYTES as they are unpacked. Raises SegmentationError."""
    try:
        return read_open_member(archive, archive.getinfo(name), MAX_BYTES)
    except ZipError as error:
        raise SegmentationError(f"{error}.") from None


def _from_image(stem: str, data: bytes, i: int, shape: tuple[int, int]) -> NamedMask:
    """Return the mask of one image; its file name gives id and name, as in 001_red_cube."""
    pixels = _pixels(data, shape, stem)
    number, name = re.fullmatch(r"(\d*)[_-]?(.*)", stem.strip()).groups()  # type: ignore[union-attr]
    return NamedMask(int(number or i), name, (pixels if pixels.ndim == 2 else pixels[..., :3].max(-1)) > 0)


def _from_labels(data: bytes, shape: tuple[int, int]) -> list[NamedMask]:
    pixels = _pixels(data, shape, "The label image")
    if pixels.ndim == 3:
        pixels = pixels[..., :3].astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    values = np.unique(pixels)
    if len(values) > MAX_LABELS:
        raise SegmentationError(f"The image has {len(values)} different values: a photograph, not labels.")
    return [NamedMask(int(value), "", pixels == value) for value in values if value]


def _pixels(data: bytes, shape: tuple[int, int], name: str) -> np.ndarray:
    with Image.open(io.BytesIO(data), formats=("PNG", "TIFF")) as image:
        if image.size != shape[::-1]:
            raise SegmentationError(
                f"{name} has {image.width} x {image.height} pixels, the image {shape[1]} x {shape[0]}."
            )
        return np.asarray(image)


def _with_valid_ids(masks: list[NamedMask]) -> list[NamedMask]:
    """Return the masks with their ids if these are unique and in range, else numbered from 1."""
    ids = [item.id for item in masks]
    if len(set(ids)) == len(ids) and min(ids) > 0 and max(ids) < 1 << 16:
        return masks
    return [NamedMask(i, item.name, item.mask) for i, item in enumerate(masks, 1)]


def _file_name(item: NamedMask) -> str:
    return f"{item.id:03d}_{re.sub(r'[^A-Za-z0-9_.-]+', '_', item.name or 'object')}.png"


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


def read_masks_confined(data: bytes, shape: tuple[int, int]) -> tuple[NamedMask, ...]:
    """Return the masks in a file, for an image of shape (H, W). Raises SegmentationError: one line with the reason."""
    if not confined.is_supported():
        return read_masks(data, shape)
    with tempfile.TemporaryDirectory(prefix="grs-masks-") as folder:
        file = Path(folder, "masks")
        file.write_bytes(data)
        arguments = {"path": str(file), "shape": shape}
        with confined.errors_as(SegmentationError, "the file"):
            events = confined.call(f"{__name__}:send_masks", arguments, [file], limits=LIMITS, warm=[__name__])
            return _masks(confined.result_of(events), shape)


def _masks(reply: Result, shape: tuple[int, int]) -> tuple[NamedMask, ...]:
    """Return the masks that a child sent. Raises ValueError if there are none."""
    names, (ids, packed) = reply.value["names"], reply.arrays
    expected = len(names), shape[0], (shape[1] + 7) // 8
    if packed.dtype != np.uint8 or packed.shape != expected or len(ids) != len(names):
        raise ValueError
    masks = np.unpackbits(packed, axis=2, count=shape[1]).astype(bool)
    return tuple(NamedMask(int(id), str(name), mask) for id, name, mask in zip(ids, names, masks, strict=True))


def send_masks(path: str, shape: list[int]) -> Result:
    """Return the masks' names, ids and bits. Raises SegmentationError."""
    height, width = shape
    masks = read_masks(Path(path).read_bytes(), (height, width))
    bits = np.stack([np.packbits(item.mask, axis=1) for item in masks])
    return Result({"names": [item.name for item in masks]}, (np.array([item.id for item in masks]), bits))

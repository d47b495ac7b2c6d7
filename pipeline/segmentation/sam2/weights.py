"""Find SAM 2's weights: a local checkpoint, or the hub's cache. Nothing is downloaded."""

from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

from pipeline.segmentation.sam2.device_queue import EncodingState
from pipeline.segmentation.segment import SegmentationError

SIZES = ("tiny", "small", "base-plus", "large")
HUB_FILES = {
    f"facebook/sam2{version}-hiera-{size}": f"sam2{version}_hiera_{size.replace('-', '_')}.pt"
    for version in (".1", "")
    for size in SIZES
}
"""Weights file by hub name (https://huggingface.co/facebook/sam2.1-hiera-tiny and others)."""
TINY = "facebook/sam2.1-hiera-tiny"
INSTALL = "run make setup (without LIGHT=1), or use the depth segmenter"
FIRST_LAYER = b"image_encoder.trunk.patch_embed.proj.weight"
"""A layer of every SAM 2 checkpoint."""


def weights_state(checkpoint: str) -> EncodingState:
    """Return whether the weights are "ready" or "missing", with advice. Uses neither the network nor torch."""
    try:
        path = find_checkpoint(checkpoint)
    except SegmentationError as error:
        return EncodingState("missing", 0.0, str(error))
    return EncodingState("ready", 1.0, f"weights found: {path.name}")


def find_checkpoint(checkpoint: str) -> Path:
    """Return the path of the checkpoint. Raises SegmentationError: what is missing, and how to get it."""
    missing = [name for name in ("torch", "torchvision", "sam2") if find_spec(name) is None]
    if missing:
        raise SegmentationError(f"SAM 2 is not installed ({', '.join(missing)} missing): {INSTALL}.")
    if not checkpoint:
        raise SegmentationError(f"No SAM 2 checkpoint is set: set GRS_SAM2 to a .pt file or a hub name such as {TINY}.")
    path = Path(checkpoint).expanduser()
    if path.is_file():
        return _checked(path)
    if checkpoint in HUB_FILES:
        return _checked(_find_in_cache(checkpoint))
    raise SegmentationError(
        f"SAM 2 weights not found: there is no file {checkpoint}; give a .pt file or one of "
        f"facebook/sam2.1-hiera-{{{','.join(SIZES)}}} (or facebook/sam2-hiera-...)."
    )


def first_line(error: Exception) -> str:
    """Return the first sentence of an error's message, shortened."""
    return (str(error).strip() or type(error).__name__).split("\n")[0].split(". ")[0][:140]


def _find_in_cache(name: str) -> Path:
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(name, HUB_FILES[name])
    if isinstance(path, str):
        return Path(path)
    raise SegmentationError(
        f"SAM 2 weights not found: {name} is not on this machine; get it with "
        f"'hf download {name} {HUB_FILES[name]}', or give a local .pt file."
    )


def _checked(path: Path) -> Path:
    """Return the path if its file is complete and its index lists SAM 2's layers. Raises SegmentationError."""
    try:
        if not is_zipfile(path):
            raise BadZipFile
        with ZipFile(path) as archive:
            index = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            layers = archive.read(index)
    except (BadZipFile, StopIteration, OSError):
        raise SegmentationError(
            f"{path.name} is not a complete PyTorch checkpoint (cut short, or another kind of file): download it again."
        ) from None
    if FIRST_LAYER not in layers:
        raise SegmentationError(
            f"{path.name} holds no SAM 2 network: give one of {', '.join(HUB_FILES)} or a fine-tuned copy."
        )
    return path

"""Where SAM 2's weights are: a local checkpoint or the hub's cache. Only `fetch` ever touches the network."""

from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

from pipeline.segmentation.sam2.state import State
from pipeline.segmentation.segment import SegmentationError

SIZES = ("tiny", "small", "base-plus", "large")
HUB = {
    f"facebook/sam2{version}-hiera-{size}": f"sam2{version}_hiera_{size.replace('-', '_')}.pt"
    for version in (".1", "")
    for size in SIZES
}
"""File of the weights by hub name (https://huggingface.co/facebook/sam2.1-hiera-tiny and its siblings)."""
TINY = "facebook/sam2.1-hiera-tiny"
INSTALL = "run make setup (without LIGHT=1), or use the depth segmenter"
FIRST_LAYER = b"image_encoder.trunk.patch_embed.proj.weight"
"""Stands in the index of every SAM 2 checkpoint."""


def available(checkpoint: str) -> State:
    """ "ready", or "missing" with what to do about it. Opens no connection and imports no torch: milliseconds."""
    try:
        found = find(checkpoint)
    except SegmentationError as error:
        return State("missing", 0.0, str(error))
    return State("ready", 1.0, f"weights found: {found.name}")


def find(checkpoint: str) -> Path:
    """The checkpoint's file, looked at from outside. Raises SegmentationError: what is missing, and how to get it."""
    absent = [name for name in ("torch", "torchvision", "sam2") if find_spec(name) is None]
    if absent:
        raise SegmentationError(f"SAM 2 is not installed ({', '.join(absent)} missing): {INSTALL}.")
    if not checkpoint:
        raise SegmentationError(f"No SAM 2 checkpoint named: set GRS_SAM2 to a .pt file or a hub name such as {TINY}.")
    path = Path(checkpoint).expanduser()
    if path.is_file():
        return _examined(path)
    if checkpoint in HUB:
        return _examined(_cached(checkpoint))
    raise SegmentationError(
        f"SAM 2 weights not found: there is no file {checkpoint}; give a .pt file or one of "
        f"facebook/sam2.1-hiera-{{{','.join(SIZES)}}} (or facebook/sam2-hiera-...)."
    )


def fetch(checkpoint: str, timeout: float = 5.0) -> Path:
    """Download a hub name's weights, on a person's request: the cache first, then the hub if it answers within timeout.

    Raises SegmentationError where the hub cannot be reached; a download that was cut goes on where it stopped.
    """
    try:
        return find(checkpoint)
    except SegmentationError:
        if checkpoint not in HUB:
            raise
    from huggingface_hub import constants, get_session, hf_hub_download

    try:  # the download itself tries six times over half a minute before it gives up
        get_session().head(constants.ENDPOINT, timeout=timeout)
        return Path(hf_hub_download(checkpoint, HUB[checkpoint], etag_timeout=timeout))
    except Exception as error:  # the client's, the hub's and the disk's own kinds
        raise SegmentationError(
            f"{checkpoint} could not be fetched from {constants.ENDPOINT} ({one_line(error)}); "
            f"copy {HUB[checkpoint]} here from elsewhere and name the file."
        ) from None


def one_line(error: Exception) -> str:
    """What an error of another package says first."""
    return (str(error).strip() or type(error).__name__).split("\n")[0].split(". ")[0][:140]


def _cached(name: str) -> Path:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, HUB[name])
    if isinstance(found, str):
        return Path(found)
    raise SegmentationError(
        f"SAM 2 weights not found: {name} is not on this machine; get it with "
        f"'hf download {name} {HUB[name]}', or give a local .pt file."
    )


def _examined(path: Path) -> Path:
    """The path again, if its file is whole and an index of SAM 2's layers is in it."""
    try:
        if not is_zipfile(path):
            raise BadZipFile
        with ZipFile(path) as archive:
            index = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            told = archive.read(index)
    except (BadZipFile, StopIteration, OSError):
        raise SegmentationError(
            f"{path.name} is not a whole PyTorch checkpoint (cut short, or another kind of file): fetch it again."
        ) from None
    if FIRST_LAYER not in told:
        raise SegmentationError(f"{path.name} holds no SAM 2 network: give one of {', '.join(HUB)} or a tuned copy.")
    return path

"""Segmenters that the studio offers: their names and titles, what each still needs, and how each is made."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from pipeline import plugins
from pipeline.segmentation import DepthSegmenter, Sam2Segmenter, SegmentationError, Segmenter
from pipeline.segmentation.sam2 import AutomaticSettings, weights_state
from studio.services.sam2_install import INSTALLATION, Installation
from studio.services.settings import Settings

FALLBACK = DepthSegmenter.name
"""The segmenter that needs nothing. It answers where the chosen one fails on a frame."""


@dataclass(frozen=True)
class SegmenterInfo:
    """What the studio knows of a segmenter before it is made."""

    name: str
    title: str
    """On buttons and at the beginning of sentences."""
    note: str
    """One sentence for the top bar: where its outlines come from."""
    create: Callable[[Settings], Segmenter]
    """Makes the segmenter. Raises SegmentationError if something is missing."""
    origin: str
    """Completes "segmented by ..."."""
    missing: Callable[[Settings], str] = lambda settings: ""
    """Returns what is missing and how to get it, or ""."""
    missing_short: str = ""
    installation: Installation | None = None
    """Installs the packages that are missing, where that can be done from the app."""
    idle_note: Callable[[Settings], str] | None = None
    """For a segmenter that encodes a frame when it is chosen: what the list says until then."""
    ready_note: str = ""
    is_stand_in: bool = False
    """Whether it stands in for a better one that is not set up."""


@cache
def catalogue() -> dict[str, SegmenterInfo]:
    """Return every segmenter by name: the built-in ones, then those of installed packages."""
    added = {name: part for name, part in plugins.available("segmenters").items() if name not in _BUILT_IN}
    return _BUILT_IN | {name: _of_plugin(name, part) for name, part in added.items()}


def title_of(name: str) -> str:
    """Return the title of a segmenter, its name if it is not in the catalogue."""
    info = catalogue().get(name)
    return info.title if info else name


def origin_of_masks(name: str) -> str:
    """Return the words that complete "segmented by"."""
    info = catalogue().get(name)
    return info.origin if info else name


def create_segmenter(name: str, settings: Settings) -> Segmenter:
    """Make a segmenter. Raises SegmentationError if there is none of that name, or if something is missing."""
    info = catalogue().get(name)
    if info is None:
        raise SegmentationError(f"There is no segmenter '{name}'; there are: {', '.join(catalogue())}.")
    if settings.keep_all and name != Sam2Segmenter.name:
        raise SegmentationError(f"--keep-all keeps every mask of SAM 2; {name} has none to keep: add --segmenter sam2.")
    return info.create(settings)


def _of_plugin(name: str, make: Callable[[], Segmenter]) -> SegmenterInfo:
    """Describe a plug-in's class by its optional attributes `title`, `note` and `missing()`."""
    title = str(getattr(make, "title", name))
    note = str(getattr(make, "note", f"Outlines come from {title}."))
    missing = getattr(make, "missing", str)
    return SegmenterInfo(
        name, title, note, lambda settings: make(), title, missing=lambda settings: missing(), ready_note=note
    )


@cache
def _sam2(checkpoint: str, device: str, keep_all: bool) -> Sam2Segmenter:
    """Make SAM 2 once for all frames."""
    return Sam2Segmenter(checkpoint, device, automatic=AutomaticSettings(keep_all=keep_all))


def _sam2_missing(settings: Settings) -> str:
    state = weights_state(settings.sam2)
    return f"{state.message} {_SAM2_HELP}" if state.status == "missing" else ""


_SAM2_HELP = (
    "Or set GRS_SAM2 to a checkpoint file or to another hub name (facebook/sam2.1-hiera-small, base-plus, large) and "
    "GRS_SAM2_DEVICE to cpu, cuda, mps or auto, and start the studio again."
)
_BUILT_IN = {
    info.name: info
    for info in (
        SegmenterInfo(
            DepthSegmenter.name,
            "Depth and colour",
            "Outlines come from depth and colour; no SAM 2 weights are loaded.",
            lambda settings: DepthSegmenter(),
            "depth and colour, a stand-in for SAM 2",
            ready_note="Needs no weights; works on every machine.",
            is_stand_in=True,
        ),
        SegmenterInfo(
            Sam2Segmenter.name,
            "SAM 2",
            "Outlines come from SAM 2.",
            lambda settings: _sam2(settings.sam2, settings.device, settings.keep_all),
            "SAM 2",
            missing=_sam2_missing,
            installation=INSTALLATION,
            missing_short="weights not found; open Segmenter to see how to get them",
            idle_note=lambda settings: f"Weights are installed, for {settings.device}. Choose it to encode this frame.",
        ),
    )
}

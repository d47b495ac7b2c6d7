"""Who answers clicks on a frame: the embedded segmenter or SAM 2, chosen by a person; how each stands, in words."""

import threading
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Frame
from pipeline.segmentation import (
    DepthSegmenter,
    DepthView,
    Prompt,
    Sam2Segmenter,
    Segment,
    SegmentationError,
    Segmenter,
    View,
)
from pipeline.segmentation.finding import Stepwise
from pipeline.segmentation.sam2 import Everything, available
from studio.services import Settings

TITLES = {"depth": "Depth and colour", "sam2": "SAM 2"}
GET = (
    "Or set GRS_SAM2 to a checkpoint file or to another hub name (facebook/sam2.1-hiera-small, base-plus, large) and "
    "GRS_SAM2_DEVICE to cpu, cuda, mps or auto, and start the studio again."
)


class Views:
    """One frame, opened by each segmenter that was asked for. May be called from any thread."""

    def __init__(self, frame: Frame, first: Segmenter, chosen: str | None = None):
        """`first` answers until another is chosen; SAM 2's checkpoint and device are those of the settings."""
        settings = Settings.from_environment()
        self.frame, self._known = frame, {first.name: first}
        self._checkpoint, self._device = settings.sam2, settings.device
        self._missing = "" if "sam2" in self._known else _missing(self._checkpoint)
        self._open: dict[str, View] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self.chosen = chosen or first.name

    @property
    def names(self) -> tuple[str, ...]:
        """Every segmenter that could be chosen, the first one first."""
        return tuple(dict.fromkeys((*self._known, "depth", "sam2")))

    def choose(self, name: str) -> None:
        """From now on this one answers; SAM 2 begins to encode at once. Raises SegmentationError: what is missing."""
        if self.state(name)["word"] in ("failed", "stopped"):
            with self._lock:
                self._open.pop(name)
        self.open(name)
        self.chosen = name

    def stop(self, name: str) -> None:
        """Stops what this one does with the frame; choosing it again, or a click, starts anew."""
        view = self._open.get(name)
        if isinstance(view, Stepwise):
            view.cancel()

    def segmenter(self, name: str) -> "Opened":
        """One of them, which opens this frame only once: finding and clicks share it. Raises SegmentationError."""
        self._check(name)
        return Opened(self, name)

    def open(self, name: str) -> View:
        self._check(name)
        with self._lock:
            if name not in self._open:
                if name not in self._known:
                    self._known[name] = _segmenter(name, self._checkpoint, self._device)
                self._open[name] = self._known[name].open(self.frame)
                self._locks[name] = threading.Lock()
                if isinstance(view := self._open[name], DepthView):
                    threading.Thread(target=view.prepare, daemon=True, name="prepare").start()
            return self._open[name]

    def _check(self, name: str) -> None:
        if name not in self.names:
            raise SegmentationError(f"There is no segmenter '{name}'; there are {', '.join(self.names)}.")

    def ask(self, prompt: Prompt, name: str | None = None) -> tuple[Segment, ...]:
        """Readings of the prompt, best first; where SAM 2 failed on this frame, the embedded segmenter answers."""
        name = name or self.chosen
        if self.state(name)["word"] == "failed":
            name = "depth"
        view = self.open(name)
        with self._locks[name]:
            return view.segment(prompt)

    def parted(self, mask: np.ndarray) -> list[np.ndarray]:
        """What a mask (H, W) may be made of, as the embedded segmenter sees it; itself alone where it is one thing."""
        try:
            view = self.open("depth")
        except StudioError:  # no table, say
            return [mask]
        return view.parted(mask) if isinstance(view, DepthView) else [mask]

    def compare(self, mask: np.ndarray) -> list[tuple[str, Segment | str]]:
        """What each segmenter takes for the thing whose mask (H, W) this is, asked with its box; or why it cannot."""
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        box = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], float)
        found: list[tuple[str, Segment | str]] = []
        for name in self.names:
            if name == "sam2" and self._missing:
                found.append((TITLES[name], "weights not found, see Segmenter for how to get them."))
                continue
            try:
                readings = self.ask(Prompt(box=box), name)
                best = max(
                    readings, key=lambda one: np.count_nonzero(one.mask & mask) / np.count_nonzero(one.mask | mask)
                )
                found.append((TITLES.get(name, name), best))
            except SegmentationError as error:
                found.append((TITLES.get(name, name), str(error)))
        return found

    def state(self, name: str) -> dict[str, Any]:
        """How one stands: {name, title, word, share, note}; word is missing, idle, queued, loading, encoding, ready,
        stopped or failed."""
        said: dict[str, Any] = {
            "name": name,
            "title": TITLES.get(name, name),
            "word": "ready",
            "share": 1.0,
            "note": "",
        }
        if name == "sam2" and self._missing:  # they may have come since
            self._missing = _missing(self._checkpoint)
        if name == "sam2" and self._missing:
            return said | {"word": "missing", "share": 0.0, "note": f"{self._missing} {GET}"}
        if name == "sam2" and name not in self._open:
            return said | {
                "word": "idle",
                "share": 0.0,
                "note": f"Weights are there, for {self._device}. Choose it and it encodes this frame.",
            }
        state = getattr(self._open.get(name), "state", None)
        if state is None:
            return said | {"note": "Needs no weights; works on every machine."}
        return said | {"word": state.word, "share": state.share, "note": state.message}

    def standing(self) -> dict[str, Any]:
        """All of them, and which one is chosen."""
        return {"chosen": self.chosen, "segmenters": [self.state(name) for name in self.names]}


def _missing(checkpoint: str) -> str:
    state = available(checkpoint)
    return state.message if state.word == "missing" else ""


class Opened:
    """A segmenter whose view of one frame is made once."""

    def __init__(self, views: Views, name: str):
        self.name, self._views = name, views

    def open(self, frame: Frame) -> View:
        """The view of the frame that `views` has."""
        return self._views.open(self.name)


def everything(told: Mapping[str, Any]) -> Everything:
    """SAM 2's settings out of what a browser sent; what is not said stays as it is. Raises SegmentationError."""
    kinds = {field.name: type(getattr(Everything(), field.name)) for field in fields(Everything)}
    try:
        return Everything(**{name: kinds[name](value) for name, value in told.items() if name in kinds})
    except (TypeError, ValueError, OverflowError):
        raise SegmentationError("The settings of SAM 2 are numbers; correct the one that is not.") from None


def _segmenter(name: str, checkpoint: str, device: str) -> Segmenter:
    return _sam2(checkpoint, device) if name == "sam2" else DepthSegmenter()


@cache
def _sam2(checkpoint: str, device: str) -> Segmenter:
    """One network for all frames."""
    return Sam2Segmenter(checkpoint, device)

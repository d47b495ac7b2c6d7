"""Who answers clicks on a frame: the embedded segmenter or SAM 2, chosen by a person; how each stands, in words."""

import threading
from functools import cache
from typing import Any

import numpy as np

from pipeline.frame import Frame
from pipeline.segmentation import DepthSegmenter, Prompt, Sam2Segmenter, Segment, SegmentationError, Segmenter, View
from pipeline.segmentation.sam2 import available
from studio.services import Settings

TITLES = {"depth": "Depth and colour", "sam2": "SAM 2"}
GET = (
    "Or set GRS_SAM2 to a checkpoint file or to another hub name (facebook/sam2.1-hiera-small, base-plus, large) and "
    "start the studio again. Runs on cpu, cuda or mps."
)


class Views:
    """One frame, opened by each segmenter that was asked for. May be called from any thread."""

    def __init__(self, frame: Frame, first: Segmenter, checkpoint: str | None = None):
        """`first` answers until another is chosen; `checkpoint` is SAM 2's, by default the one of the settings."""
        self._frame, self._known = frame, {first.name: first}
        self._checkpoint = Settings.from_environment().sam2 if checkpoint is None else checkpoint
        self._missing = "" if "sam2" in self._known else _missing(self._checkpoint)
        self._open: dict[str, View] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self.chosen = first.name

    @property
    def names(self) -> tuple[str, ...]:
        """Every segmenter that could be chosen, the first one first."""
        return tuple(dict.fromkeys((*self._known, "depth", "sam2")))

    def choose(self, name: str) -> None:
        """From now on this one answers; SAM 2 begins to encode at once. Raises SegmentationError: what is missing."""
        if name not in self.names:
            raise SegmentationError(f"There is no segmenter '{name}'; there are {', '.join(self.names)}.")
        self.open(name)
        self.chosen = name

    def open(self, name: str) -> View:
        with self._lock:
            if name not in self._open:
                self._known.setdefault(name, _segmenter(name, self._checkpoint))
                self._open[name] = self._known[name].open(self._frame)
                self._locks[name] = threading.Lock()
            return self._open[name]

    def ask(self, prompt: Prompt, name: str | None = None) -> tuple[Segment, ...]:
        """Readings of the prompt, best first; where SAM 2 failed on this frame, the embedded segmenter answers."""
        name = name or self.chosen
        if self.state(name)["word"] == "failed":
            name = "depth"
        view = self.open(name)
        with self._locks[name]:
            return view.segment(prompt)

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
        if name == "sam2" and self._missing:
            return said | {"word": "missing", "share": 0.0, "note": f"{self._missing} {GET}"}
        if name == "sam2" and name not in self._open:
            return said | {
                "word": "idle",
                "share": 0.0,
                "note": "Weights are there. Choose it and it encodes this frame.",
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


def _segmenter(name: str, checkpoint: str) -> Segmenter:
    return _sam2(checkpoint) if name == "sam2" else DepthSegmenter()


@cache
def _sam2(checkpoint: str) -> Segmenter:
    """One network for all frames."""
    return Sam2Segmenter(checkpoint)

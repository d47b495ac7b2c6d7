"""The segmenters of one frame: which one answers clicks, and the state of each."""

import threading
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Frame
from pipeline.geometry import bounding_box
from pipeline.segmentation import DepthView, Prompt, Segment, SegmentationError, Segmenter, View
from pipeline.segmentation.automatic import ProgressView
from pipeline.segmentation.sam2 import AutomaticSettings
from pipeline.segmentation.segment import Carrier
from studio.services.segmenter_catalogue import FALLBACK, SegmenterInfo, catalogue, create_segmenter, title_of
from studio.services.settings import Settings
from studio.texts import t, translated
from studio.web import background


def _prepare(view: DepthView) -> None:
    with background.computing:
        view.prepare()


class FrameSegmenters:
    """One frame, opened once by each segmenter that is used on it. May be used from any thread."""

    def __init__(self, frame: Frame, first: Segmenter, chosen: str | None = None):
        """
        Args:
            first: answers until another is chosen; its settings are those of the environment.
            chosen: name of the segmenter that answers, if not `first`.
        """
        self.frame = frame
        self.chosen = chosen or first.name
        """Name of the segmenter that answers."""
        self._settings = Settings.from_environment()
        self._segmenters = {first.name: first}
        self._missing = {
            info.name: info.missing(self._settings) for info in catalogue().values() if info.name != first.name
        }
        self._views: dict[str, View] = {}
        self._view_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Every segmenter that can be chosen, the first one first."""
        return tuple(dict.fromkeys((*self._segmenters, *catalogue())))

    def choose(self, name: str) -> None:
        """Let this segmenter answer and open the frame with it. Raises SegmentationError: what is missing."""
        if self.state(name)["state"] in ("failed", "stopped"):
            with self._lock:
                self._views.pop(name)
        self.open(name)
        self.chosen = name

    def install(self, name: str) -> None:
        """Install the packages that a segmenter lacks, in the background. Raises SegmentationError."""
        info = catalogue().get(name)
        if info is None or info.installation is None:
            raise SegmentationError(f"{title_of(name)} cannot be installed from the app.")
        info.installation.start()

    def stop(self, name: str) -> None:
        """Stop encoding the frame with this segmenter, or its installation; choosing it again restarts the encoding."""
        info = catalogue().get(name)
        if info and info.installation:
            info.installation.stop()
        view = self._views.get(name)
        if isinstance(view, ProgressView):
            view.cancel()

    def segmenter(self, name: str) -> "SharedSegmenter":
        """Return a segmenter that shares this frame's view of it. Raises SegmentationError if there is none."""
        self._check(name)
        return SharedSegmenter(self, name)

    def open(self, name: str) -> View:
        """Return the segmenter's view of the frame, opened at the first call. Raises SegmentationError."""
        self._check(name)
        with self._lock:
            if name not in self._views:
                if name not in self._segmenters:
                    self._segmenters[name] = create_segmenter(name, self._settings)
                view = self._views[name] = self._segmenters[name].open(self.frame)
                self._view_locks[name] = threading.Lock()
                if isinstance(view, DepthView):
                    background.start("prepare", lambda _: _prepare(view))
            return self._views[name]

    def carrier(self, name: str) -> Carrier | None:
        """Return what carries a segmenter's masks through pictures; None of one without. Raises SegmentationError."""
        self._check(name)
        with self._lock:
            if name not in self._segmenters:
                self._segmenters[name] = create_segmenter(name, self._settings)
            return getattr(self._segmenters[name], "carry", None)

    def _check(self, name: str) -> None:
        if name not in self.names:
            raise SegmentationError(f"There is no segmenter '{name}'; there are {', '.join(self.names)}.")

    def segment(self, prompt: Prompt, name: str | None = None) -> tuple[Segment, ...]:
        """Return the readings of a prompt, best first; the fallback's if the segmenter failed on this frame.

        Raises SegmentationError.
        """
        name = name or self.chosen
        if self.state(name)["state"] == "failed":
            name = FALLBACK
        view = self.open(name)
        with self._view_locks[name]:
            return view.segment(prompt)

    def propose_parts(self, mask: np.ndarray) -> list[np.ndarray]:
        """Return the parts that a mask (H, W) may consist of by depth and colour; the mask alone if one object."""
        try:
            view = self.open(FALLBACK)
        except StudioError:  # no table, for example
            return [mask]
        return view.propose_parts(mask) if isinstance(view, DepthView) else [mask]

    def compare(self, mask: np.ndarray) -> list[tuple[str, Segment | str]]:
        """Return each segmenter's title and its reading of the box around a mask (H, W), or why it has none."""
        box = np.array(bounding_box(mask), float)
        readings: list[tuple[str, Segment | str]] = []
        for name in self.names:
            if self._missing.get(name):
                readings.append((title_of(name), f"{catalogue()[name].missing_short or self._missing[name]}."))
                continue
            try:
                best = max(self.segment(Prompt(box=box), name), key=lambda one: _overlap(one.mask, mask))
                readings.append((title_of(name), best))
            except SegmentationError as error:
                readings.append((title_of(name), str(error)))
        return readings

    def state(self, name: str) -> dict[str, Any]:
        """Return {name, title, state, progress, note, installable}.

        `state` is missing, installing, idle, queued, loading, encoding, ready, stopped or failed; `progress` of it is
        from 0 to 1. `installable` says that `install` would bring missing packages.
        """
        state: dict[str, Any] = {"name": name, "title": title_of(name), "state": "ready", "progress": 1.0, "note": ""}
        info = catalogue().get(name)
        if info and self._missing.get(name):  # it may have been installed since
            self._missing[name] = info.missing(self._settings)
            if self._missing[name]:
                return state | _missing_state(info, self._missing[name])
        if info and info.idle_note and name not in self._views:
            return state | {"state": "idle", "progress": 0.0, "note": info.idle_note(self._settings)}
        encoding = getattr(self._views.get(name), "state", None)
        if encoding is None:
            return state | {"note": info.ready_note if info else ""}
        return state | {"state": encoding.status, "progress": encoding.progress, "note": encoding.message}

    def states(self) -> dict[str, Any]:
        """Return the state of every segmenter, and the name of the chosen one: {chosen, segmenters}."""
        return {"chosen": self.chosen, "segmenters": [_in_language(self.state(name)) for name in self.names]}


def _in_language(state: dict[str, Any]) -> dict[str, Any]:
    return state | {"title": t(state["title"]), "note": translated(state["note"])}


class SharedSegmenter:
    """A segmenter whose view of one frame is made once."""

    def __init__(self, segmenters: FrameSegmenters, name: str):
        self.name, self._segmenters = name, segmenters

    def open(self, frame: Frame) -> View:
        """Return the shared view; `frame` is the frame of the segmenters."""
        return self._segmenters.open(self.name)

    @property
    def carry(self) -> Carrier | None:
        """Carries masks through pictures; None of a segmenter that does not."""
        return self._segmenters.carrier(self.name)


def _missing_state(info: SegmenterInfo, missing: str) -> dict[str, Any]:
    """Return what differs in the state of a segmenter that lacks packages or weights."""
    installation = info.installation
    if installation and installation.running:
        return {"state": "installing", "progress": 0.0, "note": installation.message}
    failure = f"{installation.message} " if installation and installation.message else ""
    installable = installation is not None and "not installed" in missing
    return {"state": "missing", "progress": 0.0, "note": failure + missing, "installable": installable}


def parse_automatic_settings(request: Mapping[str, Any]) -> AutomaticSettings:
    """Read SAM 2's settings from a browser's request; those not given keep their default. Raises SegmentationError."""
    kinds = {field.name: type(getattr(AutomaticSettings(), field.name)) for field in fields(AutomaticSettings)}
    try:
        return AutomaticSettings(**{name: kinds[name](value) for name, value in request.items() if name in kinds})
    except (TypeError, ValueError, OverflowError):
        raise SegmentationError("The settings of SAM 2 are numbers; correct the one that is not.") from None


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union of two masks."""
    return np.count_nonzero(a & b) / np.count_nonzero(a | b)

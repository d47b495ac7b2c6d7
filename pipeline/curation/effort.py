"""Human effort: seconds, clicks and corrections per frame and per object, read from the logs of decisions."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.decisions import UNNAMED, Decision, DecisionError, read_log
from pipeline.errors import StudioError
from pipeline.project.curation import read_curation

LONGEST_GAP_SECONDS = 120.0
"""Between two decisions of a person who is at work; a longer one is a break."""
CORRECTIONS = {
    "camera": "Camera", "camera_pose": "Camera", "ground": "Camera", "found": "All masks", "mask": "Mask",
    "delete_segment": "Mask", "merge_segments": "Mask", "not_object": "Object or not", "rename": "Name",
    "display_name": "Name",
    "choose_asset": "Asset", "make": "Asset", "move": "Pose", "resize": "Pose", "refit": "Pose", "physics": "Physics",
    "recolour": "Colour", "bring": "Asset",
    "task": "Task", "fork": "Code", "pin": "Code",
}  # fmt: skip
"""What each kind of decision corrects."""


@dataclass(frozen=True)
class FrameEffort:
    """A person's effort on one project. Undone decisions count: they took time too."""

    name: str
    """Of the project's folder."""
    seconds: float
    """Measured by the page's activity in the review queue; without a review, the time between decisions."""
    is_measured: bool
    presses: int
    """Of pointer and keys in the review queue."""
    objects: Mapping[int, tuple[float, int]] = field(default_factory=dict)
    """Seconds and presses in the review queue of each object, by segment id."""
    corrections: Mapping[str, int] = field(default_factory=dict)
    """Number of decisions by what they correct."""
    corrected_names: Mapping[str, int] = field(default_factory=dict)
    """Number of corrections by the described name of the object."""
    reasons: tuple[str, ...] = ()
    """Why objects or the frame were rejected."""
    people: tuple[str, ...] = ()
    """Logins of those who reviewed it."""


@dataclass(frozen=True)
class EffortSummary:
    """The effort on several frames."""

    frames: int
    """With any decision of a person."""
    measured: int
    """Frames whose seconds were measured."""
    seconds: float
    seconds_per_frame: float | None
    """Median over the measured frames; None without one."""
    presses_per_frame: float | None
    seconds_per_object: float | None
    """Median over the objects that were reviewed one by one; None without one."""
    presses_per_object: float | None
    corrections: tuple[tuple[str, int], ...]
    """What was corrected, most first."""
    corrected_names: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]


def frame_effort(folder: Path) -> FrameEffort | None:
    """Return the effort on the project in a folder; None if no person decided anything, or the log is damaged."""
    try:
        decisions = read_log(folder / "decisions.jsonl")
    except (DecisionError, OSError):
        return None
    if not decisions:
        return None
    reviews = [one for one in decisions if one.kind == "review"]
    objects: dict[int, tuple[float, int]] = {}
    for one in reviews:
        if (id := one.data.get("id")) is not None:
            seconds, presses = objects.get(id, (0.0, 0))
            objects[id] = seconds + one.data["seconds"], presses + _presses(one)
    corrected = [one for one in decisions if one.kind in CORRECTIONS]
    names = _object_names(folder)
    ids = [id for one in corrected if isinstance(id := one.data.get("id"), int)]
    measured = sum(float(one.data["seconds"]) for one in reviews)
    people = {str(one.data["person"]) for one in reviews if one.data.get("person")} | {read_curation(folder).by}
    people |= {one.by for one in decisions} - {UNNAMED}
    return FrameEffort(
        name=folder.name,
        seconds=measured if reviews else sum(working_gaps(one.at for one in decisions)),
        is_measured=bool(reviews),
        presses=sum(map(_presses, reviews)),
        objects=objects,
        corrections=Counter(CORRECTIONS[one.kind] for one in corrected),
        corrected_names=Counter(names.get(id, f"object {id}") for id in ids),
        reasons=tuple(str(one.data["reason"]) for one in reviews if one.data.get("reason")),
        people=tuple(sorted(people - {""})),
    )


def summarise_effort(frames: Sequence[FrameEffort], most: int = 10) -> EffortSummary:
    """Return the effort on several frames; the lists have `most` entries at most."""
    measured = [one for one in frames if one.is_measured]
    objects = [one for frame in measured for one in frame.objects.values()]
    corrections, names, reasons = Counter[str](), Counter[str](), Counter[str]()
    for one in frames:
        corrections.update(one.corrections)
        names.update(one.corrected_names)
        reasons.update(one.reasons)
    return EffortSummary(
        frames=len(frames),
        measured=len(measured),
        seconds=sum(one.seconds for one in frames),
        seconds_per_frame=_median([one.seconds for one in measured]),
        presses_per_frame=_median([one.presses for one in measured]),
        seconds_per_object=_median([seconds for seconds, _ in objects]),
        presses_per_object=_median([presses for _, presses in objects]),
        corrections=tuple(corrections.most_common(most)),
        corrected_names=tuple(names.most_common(most)),
        reasons=tuple(reasons.most_common(most)),
    )


def working_gaps(times: Iterable[float]) -> Iterator[float]:
    """Yield the seconds between decisions that follow each other, breaks left out."""
    for before, after in itertools.pairwise(sorted(times)):
        if after - before <= LONGEST_GAP_SECONDS:
            yield after - before


def _presses(review: Decision) -> int:
    return int(review.data.get("pointer_presses") or 0) + int(review.data.get("key_presses") or 0)


def _median(values: Sequence[float]) -> float | None:
    ordered, half = sorted(values), len(values) // 2
    return None if not ordered else (ordered[half] + ordered[~half]) / 2


def _object_names(folder: Path) -> dict[int, str]:
    with suppress(StudioError, OSError, ValueError, KeyError, TypeError, AttributeError):
        described: list[dict[str, Any]] = json.loads((folder / "descriptions.json").read_bytes())
        return {int(one["segment_id"]): str(one["name"]).replace("_", " ") for one in described}
    return {}

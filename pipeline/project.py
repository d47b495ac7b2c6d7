"""A project: one frame, an ordered log of human decisions, and what was computed from them.

The folder's layout is docs/architecture.md's "Project folder"; outside tools read it.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pipeline import decisions as log
from pipeline import description, matching
from pipeline.decisions import Decision
from pipeline.description import Description
from pipeline.errors import StudioError
from pipeline.frame import Frame, Intrinsics, load, register, save
from pipeline.frame.support import Support, find_support
from pipeline.matching import Match
from pipeline.models import Wish
from pipeline.models.model import STAGE_OF
from pipeline.router import Round, read_rounds
from pipeline.scene import Scene
from pipeline.scene.files import read_scene
from pipeline.scene.naming import in_present_names, present_names
from pipeline.segmentation import Segment
from pipeline.segmentation.files import read_segments, unrle, write_segments
from pipeline.simulation import Program
from pipeline.solving import Solution, read_solution
from pipeline.store import StoreError, digest, read_json, write_json
from pipeline.tasks import Task, reworded, task_from_json

Stage = Literal["frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution"]
State = Literal["todo", "done", "failed", "stale"]

STAGES: tuple[Stage, ...] = ("frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution")

WISHES = ("ask_again", "use_measured")
"""Decisions about a question to a model; they make the stage that asks it stale."""
DECIDED_BY: dict[Stage, tuple[str, ...]] = {
    "descriptions": ("found", "mask", "delete_segment", "merge_segments", "not_object", "rename", *WISHES),
    "matches": ("choose_asset", "make", "matcher"),
    "scene": (
        "move",
        "resize",
        "refit",
        "physics",
    ),
    "rounds": ("task", "fork"),
    "solution": ("pin", "robot"),
}
"""Which decisions make a stage, and all after it, stale. Masks take effect at once; what is told of them does not."""
PARTS = ("stages", "seconds", "keys", "made_with", "errors")
"""What project.json has to tell of the stages."""

MASKS = ("found", "mask", "delete_segment", "merge_segments")
"""Decisions that masks are made by; "found" puts what a segmenter found anew in the place of all there were."""


class ProjectError(StudioError):
    """A folder that is no project, or one that cannot be used."""


class Project:
    """One project folder, open. Every decision is on the disk before `decide` returns."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._lock = threading.RLock()
        self._seen: tuple[tuple[float, ...] | None, Frame] | None = None
        self._table: tuple[Frame, Support] | None = None
        self._log = folder / "decisions.jsonl"
        self.decisions = log.read_log(self._log)
        """All of them, undos included, in order."""
        self._record = read_json(folder / "project.json")

    # ------------------------------------------------------------------ opening

    @staticmethod
    def create(folder: Path, frame: Frame, name: str = "") -> "Project":
        """A new project in an empty or new folder. Raises ProjectError where the folder holds something else."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ProjectError(f"{folder} is not empty and is not a project; choose a new folder")
        save(frame, folder / "frame")
        write_json(
            folder / "project.json",
            {
                "schema": 1,
                "name": name or folder.name,
                "created": time.time(),
                "source": frame.source,
                "stages": {stage: "done" if stage == "frame" else "todo" for stage in STAGES},
                "versions": _versions(),
                "seconds": {},
                "keys": {},
                "made_with": {},
                "errors": {},
            },
        )
        return Project(folder)

    @staticmethod
    def open(folder: Path) -> "Project":
        """An existing project. Raises ProjectError with what is wrong in one line."""
        try:
            record = read_json(folder / "project.json")
        except StoreError:
            raise ProjectError(
                f"{folder / 'project.json'} is not valid JSON; restore it or start a new project"
            ) from None
        if record is None:
            raise ProjectError(f"{folder} is not a project: it has no project.json")
        schema = record.get("schema") if isinstance(record, dict) else None
        if schema != 1:
            raise ProjectError(
                f"{folder} was made by another version of GRS Studio (schema {schema}; this one reads 1)"
            )
        if missing := [part for part in ("name", *PARTS) if part not in record]:
            raise ProjectError(
                f"{folder / 'project.json'} lacks {', '.join(missing)}; restore it or start a new project"
            )
        return Project(folder)

    @property
    def name(self) -> str:
        return self._record["name"]

    @cached_property
    def frame_as_it_came(self) -> Frame:
        """The frame on disk, but for depth that lay beside its colour: that is moved back."""
        return register(load(self.folder / "frame"))

    @property
    def frame(self) -> Frame:
        """The frame as it is worked with: seen by the camera that a person gave last, where one did."""
        decided = self.decided("camera")
        numbers = tuple(float(decided[-1].data[key]) for key in ("fx", "fy", "cx", "cy")) if decided else None
        with self._lock:
            if self._seen is None or self._seen[0] != numbers:
                came = self.frame_as_it_came
                size = came.intrinsics.width, came.intrinsics.height
                self._seen = numbers, replace(came, intrinsics=Intrinsics(*size, *numbers)) if numbers else came
            return self._seen[1]

    @property
    def support(self) -> Support:
        """The table, found anew at each opening: it takes less time than reading it would."""
        frame = self.frame
        if self._table is None or self._table[0] is not frame:
            self._table = frame, find_support(frame)
        return self._table[1]

    # ------------------------------------------------------------------ deciding

    def decide(self, kind: str, /, **data: Any) -> None:
        """Records one human decision; masks take effect in segments/ at once."""
        self._append(Decision(kind, data))

    def undo(self) -> Decision | None:
        """Takes the last decision back and returns it, or None where there is nothing to undo."""
        with self._lock:
            done = log.in_force(self.decisions)
            if done:
                self._append(Decision("undo", {}))
            return done[-1] if done else None

    def redo(self) -> Decision | None:
        with self._lock:
            undone = log.undone(self.decisions)
            if undone:
                self._append(Decision("redo", {}))
            return undone[-1] if undone else None

    @property
    def can_undo(self) -> bool:
        return bool(log.in_force(self.decisions))

    @property
    def can_redo(self) -> bool:
        return bool(log.undone(self.decisions))

    def _append(self, decision: Decision) -> None:
        with self._lock:
            before = self.decided(*MASKS, "camera")  # points are drawn anew once the masks' file changes, by either
            log.append(self._log, decision)
            self.decisions = (*self.decisions, decision)
            if self.decided(*MASKS, "camera") != before and (segments := self.segments()) is not None:
                self._write_segments(segments)

    def decided(self, *kinds: str) -> tuple[Decision, ...]:
        """Decisions of these kinds that are in force, in order."""
        return tuple(d for d in log.in_force(self.decisions) if d.kind in kinds)

    def chosen_assets(self) -> dict[int, str | None]:
        """Which asset a person chose, by segment id; None where it shall be made from the view."""
        return {d.data["id"]: d.data.get("asset_id") for d in self.decided("choose_asset", "make")}

    def wishes(self) -> dict[tuple[str, str], Wish]:
        """What a person wants of questions to a model, by kind and about."""
        wishes: dict[tuple[str, str], Wish] = {}
        for one in self.decided(*WISHES):
            place = one.data["kind"], one.data["about"]
            last = wishes.get(place, Wish())
            asked = Wish(last.attempt + 1, one.data.get("wording", ""))
            wishes[place] = asked if one.kind == "ask_again" else replace(last, measured=True)
        return wishes

    # ------------------------------------------------------------------ values

    def automatic_segments(self) -> tuple[Segment, ...] | None:
        """What the segmenter found, before any decision."""
        folder = self.folder / "segments" / "automatic"
        return read_segments(folder) if folder.exists() else None

    def segments(self) -> tuple[Segment, ...] | None:
        """What the segmenter found with the decisions applied; None before the segmenter ran."""
        automatic = self.automatic_segments()
        return None if automatic is None else edit(automatic, self.decided(*MASKS))

    def keep_segments(self, automatic: tuple[Segment, ...]) -> None:
        write_segments(automatic, self.frame.depth.shape, self.folder / "segments" / "automatic")
        self._write_segments(edit(automatic, self.decided(*MASKS)))

    def _write_segments(self, segments: tuple[Segment, ...]) -> None:
        write_segments(segments, self.frame.depth.shape, self.folder / "segments")

    def descriptions(self) -> tuple[Description, ...] | None:
        path = self.folder / "descriptions.json"
        return description.from_json(path.read_text(encoding="utf-8", errors="replace")) if path.exists() else None

    def matches(self) -> tuple[Match, ...] | None:
        value = read_json(self.folder / "matches.json")
        return None if value is None else matching.from_json(value)

    def scene(self) -> Scene | None:
        return read_scene(self.folder) if (self.folder / "scene.json").exists() else None

    def tasks(self) -> tuple[Task, ...] | None:
        """What was proposed, best first."""
        value = read_json(self.folder / "tasks.json")
        return None if value is None else tuple(task_from_json(one) for one in value)

    def task(self) -> Task | None:
        """The one a person chose or wrote last, else the first proposed one, in the names things have now."""
        chosen = self.decided("task")
        said = dict(chosen[-1].data) if chosen else read_json(self.folder / "task.json")
        return None if said is None else reworded(task_from_json(said), self._renaming())

    def in_present_names(self, text: str) -> str:
        """A person's words with the names that things had before replaced by those they have now."""
        return self._renaming()(text)

    def in_present_program(self, program: Program) -> Program:
        """The program as it reads in the names that things have now: one written before still runs."""
        renamed = self._renaming()
        return Program(renamed(program.simulation), renamed(program.checks))

    def _renaming(self) -> Callable[[str], str]:
        scene = self.scene()
        now = present_names(scene.placements) if scene else {}
        return lambda text: in_present_names(text, now)

    def rounds(self) -> tuple[Round, ...]:
        return read_rounds(self.folder)

    def best_round(self) -> Round | None:
        """The round for the present task that a person pinned, else the last that passed, else the last one for it."""
        task, renamed = self.task(), self._renaming()
        rounds = [one for one in self.rounds() if task is None or renamed(one.task) in ("", task.instruction)]
        pins = self.decided("pin")
        if pins and (pinned := [one for one in rounds if one.number == pins[-1].data["round"]]):
            return pinned[0]
        clean = [one for one in rounds if one.route == "done"]
        return clean[-1] if clean else rounds[-1] if rounds else None

    def solution(self) -> Solution | None:
        return read_solution(self.folder)

    # ------------------------------------------------------------------ stages

    def stages(self) -> dict[Stage, State]:
        """How each stage stands; stale: it ran on other inputs than there are now."""
        kept, keys = self._record["stages"], self._record["keys"]
        return {
            stage: "stale"
            if kept[stage] == "done" and stage in keys and keys[stage] != self.key(stage)
            else kept[stage]
            for stage in STAGES
        }

    def key(self, stage: Stage) -> str:
        """A hash of all that a stage depends on: the frame, what the stages before it were made with, the decisions."""
        before = STAGES[: STAGES.index(stage) + 1]
        kinds = {kind for one in before for kind in DECIDED_BY.get(one, ())}
        made_with = {one: self._record["made_with"].get(one) for one in before[:-1]}
        decided = [
            [d.kind, d.data]
            for d in log.in_force(self.decisions)
            if d.kind in kinds and (d.kind not in WISHES or STAGE_OF.get(d.data["kind"]) in before)
        ]
        return digest(self.frame_key, made_with, decided)

    @property
    def frame_key(self) -> str:
        """A hash of all that is seen: colour, depth and the camera in force."""
        return digest(self._picture_key, self.frame.intrinsics.matrix)

    @cached_property
    def _picture_key(self) -> str:
        return digest(self.frame_as_it_came.rgb, self.frame_as_it_came.depth)

    def made_with(self, stage: Stage) -> str | None:
        """Name of the segmenter, library or model that made this stage's result."""
        return self._record["made_with"].get(stage)

    def error(self, stage: Stage) -> str:
        """Why the stage failed when it last ran; empty where it did not."""
        return self._record["errors"].get(stage, "")

    def finish(self, stage: Stage, key: str, made_with: str, seconds: float) -> None:
        """Marks the stage done. `key` is what the stage had when it began: a decision made meanwhile makes it stale."""
        self._mark(stage, "done", key, made_with, seconds, "")

    def fail(self, stage: Stage, key: str, made_with: str, seconds: float, message: str) -> None:
        """Marks the stage failed, and why."""
        self._mark(stage, "failed", key, made_with, seconds, message)

    def _mark(self, stage: Stage, state: State, key: str, made_with: str, seconds: float, message: str) -> None:
        with self._lock:
            record = self._record
            record["stages"][stage], record["seconds"][stage] = state, round(seconds, 3)
            record["made_with"][stage], record["keys"][stage] = made_with, key
            record["errors"][stage] = message
            write_json(self.folder / "project.json", record)


def edit(automatic: Iterable[Segment], decisions: Iterable[Decision]) -> tuple[Segment, ...]:
    """Segments after the decisions about them. A person's mask takes its pixels from all others."""
    segments = {segment.id: segment for segment in automatic}
    for decision in decisions:
        data = decision.data
        if decision.kind == "found":
            segments = {
                one["id"]: Segment(one["id"], unrle(one["mask"]), one["score"], data["source"]) for one in data["masks"]
            }
            continue
        if decision.kind == "delete_segment":
            segments.pop(data["id"], None)
            continue
        if decision.kind == "merge_segments":
            parts = [segments.pop(i).mask for i in data["ids"] if i in segments]
            if not parts:
                continue
            mine = Segment(data["into"], np.logical_or.reduce(parts), 1.0, "human")
        else:
            mine = Segment(data["id"], unrle(data["mask"]), 1.0, "human")
        segments = {i: replace(s, mask=s.mask & ~mine.mask) for i, s in segments.items() if i != mine.id}
        segments[mine.id] = mine
    return tuple(segments[i] for i in sorted(segments) if segments[i].mask.any())


def safe_name(text: str) -> str:
    """A MuJoCo body name out of a person's words: "My Mug!" -> "my_mug"."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:40] or "object"


def _versions() -> dict[str, str]:
    found = {}
    for package in ("grs-studio", "mujoco", "open3d", "gradio", "sam2", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

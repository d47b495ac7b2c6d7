"""An open project folder: decisions, results of the stages, and their states.

The layout of the folder is given in docs/projects.md, "The project folder". Other tools read it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np

from pipeline import description, matching
from pipeline.decisions import Decision, DecisionError, clean_display_name, ground_pixels
from pipeline.description import Description
from pipeline.errors import without_folders
from pipeline.frame import Doubt, Frame, FurtherView, Observation, Support, find_support, load, register_depth, save
from pipeline.matching import Match
from pipeline.models import AnswerOverride
from pipeline.project.decided_camera import depth_factor, with_camera
from pipeline.project.kept_files import KEPT_FILES
from pipeline.project.project_folder import ProjectFolder, is_free
from pipeline.project.project_masks import ProjectMasks
from pipeline.project.project_views import ProjectViews
from pipeline.project.stage_keys import StageKeys
from pipeline.project.stage_record import (
    KEPT_STAGES,
    MASK_DECISIONS,
    QUESTION_DECISIONS,
    STAGES,
    ProjectError,
    Stage,
    StageRecord,
    StageState,
)
from pipeline.router import Round, read_rounds
from pipeline.scene import Scene
from pipeline.scene.evidence import DOUBTED, Evidence, doubts
from pipeline.scene.mjcf.recorded_models import twin_digest
from pipeline.scene.object_names import current_names, use_current_names
from pipeline.scene.scene_files import read_scene
from pipeline.segmentation import Segment
from pipeline.segmentation.segment import Carrier
from pipeline.simulation import Program
from pipeline.solving import Solution, keep_solution, read_solution, take_up_solution
from pipeline.store import StoreError, digest, read_json, refuse_links, saving, write_bytes, write_json
from pipeline.tasks import Task, TaskError, rename_in_task, task_from_json, task_to_json

CAMERA_DECISIONS = ("camera", "camera_pose", "ground")
UNEXPLAINED = "unexplained.png"
"""Picture over the photograph, in which only the pixels that nothing explains are not transparent."""


class Project(ProjectFolder):
    """An open project folder with its results."""

    def _read(self) -> None:
        super()._read()
        self._keys, self._masks = StageKeys(self._log), ProjectMasks(self.folder)
        self._views = ProjectViews(self.folder)
        self._frame: tuple[list[Decision], Frame] | None = None
        self._original_frame: Frame | None = None
        self._picture_key = ""
        self._replaces_solution = False

    # ------------------------------------------------------------------ opening

    @staticmethod
    def create(folder: Path, frame: Frame, name: str = "") -> "Project":
        """Create a project in an empty or new folder. Raises ProjectError if the folder holds anything else."""
        if folder.exists() and not is_free(folder):
            raise ProjectError(f"{folder} is not empty and is not a project; choose a new folder")
        with saving(f"{folder.name} was not made"):
            folder.mkdir(parents=True, exist_ok=True)
        project = Project(folder)
        project.begin_writing()
        save(frame, folder / "frame")
        StageRecord.create(folder, name or folder.name, frame)
        project._read()
        return project

    @staticmethod
    def open(folder: Path) -> "Project":
        """Open an existing project to look at. Raises ProjectError, StoreError, DecisionError for a damaged log."""
        StageRecord.validate(folder)
        refuse_links(folder)
        return Project(folder)

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def original_frame(self) -> Frame:
        """The frame on disk, its depth registered to its colour image."""
        with self._lock:  # a cached_property would lock all projects together in Python 3.11
            if self._original_frame is None:
                self._original_frame = register_depth(load(self.folder / "frame"))
            return self._original_frame

    @property
    def frame(self) -> Frame:
        """The frame with the camera's intrinsics and pose, and the ground, that the user decided last, if any."""
        decided = [d for kind in CAMERA_DECISIONS for d in self._log.of_kinds(kind)[-1:]]
        with self._lock:
            if self._frame is None or self._frame[0] != decided:
                self._frame = decided, with_camera(self.original_frame, decided)
            return self._frame[1]

    @property
    def support(self) -> Support:
        """The table. Computed when first needed, which takes less time than reading it from disk would."""
        return find_support(self.frame)

    @property
    def observation(self) -> Observation:
        """The frame with its support, and the further views that the user chose."""
        return Observation(self.frame, self.support, self.views())

    def views(self) -> tuple[FurtherView, ...]:
        """Return the further views that the user chose, with the masks of the objects; empty if there are none.

        Raises ViewError if a view's file is missing or damaged.
        """
        chosen = self.active_decisions("views")[-1:]
        if not chosen or not chosen[0].data["views"]:
            return ()
        camera, segments = self.active_decisions("camera")[-1:], self.segments() or ()
        with self._lock:
            return self._views.of(chosen[0], camera, self.original_frame, self.frame, self.support, segments)

    def carry_masks_with(self, carrier: Carrier | None) -> None:
        """Let the masks of further views be carried by a segmenter's `carry` beside geometry."""
        with self._lock:
            self._views.carrier = carrier

    def views_digest(self, segment_id: int) -> tuple[str, ...]:
        """Return a hash of what the further views show of an object, to be part of a key; empty without views."""
        shown = [(one.world_from_camera, one.frame.depth, one.frame.rgb, one.mask(segment_id)) for one in self.views()]
        return (digest(*shown),) if shown else ()

    # ------------------------------------------------------------------ decisions

    def _append(self, *decisions: Decision) -> None:
        kinds = (*MASK_DECISIONS, *CAMERA_DECISIONS)  # the point cloud is drawn again when the masks' files change
        before = self.active_decisions(*kinds)[-1:], len(self._log.of_kinds(*kinds))
        super()._append(*decisions)
        self.take_up_former()
        if (self.active_decisions(*kinds)[-1:], len(self._log.of_kinds(*kinds))) != before:
            try:
                self.update_mask_files(force=True)
            except StoreError as error:
                raise StoreError(f"The decision is saved, but {error}") from error

    def asset_overrides(self) -> dict[int, str | None]:
        """Return the asset that the user chose, by segment id; None for one to be reconstructed from the view."""
        return {d.data["id"]: d.data.get("asset_id") for d in self.active_decisions("choose_asset", "make")}

    def question_overrides(self) -> dict[tuple[str, str], AnswerOverride]:
        """Return what the user decided about questions to a model, by kind and subject of the question."""
        overrides: dict[tuple[str, str], AnswerOverride] = {}
        for decision in self.active_decisions(*QUESTION_DECISIONS):
            question = decision.data["kind"], decision.data["about"]
            last = overrides.get(question, AnswerOverride())
            if decision.kind == "ask_again":
                overrides[question] = AnswerOverride(last.attempt + 1, decision.data.get("wording", ""))
            else:
                overrides[question] = replace(last, use_measured=True)
        return overrides

    def display_names(self) -> dict[int, str]:
        """Return what a person calls the objects, by segment id; objects without such a name are left out."""
        return display_names(self.active_decisions("rename", "display_name"))

    # ------------------------------------------------------------------ results

    def automatic_segments(self) -> tuple[Segment, ...] | None:
        """Return the masks of the segmenter before any decision; None before it ran."""
        return self._masks.automatic()

    def segments(self) -> tuple[Segment, ...] | None:
        """Return the masks of the segmenter with the user's decisions applied; None before it ran."""
        with self._lock:
            return self._masks.after(self._log.of_kinds(*MASK_DECISIONS))

    def save_segments(self, automatic: tuple[Segment, ...]) -> None:
        """Save the masks of the segmenter, and the same with the user's decisions applied."""
        with self._lock:
            self.begin_writing()
            self._masks.save_automatic(automatic, self.frame.depth.shape)
            self.update_mask_files(force=True)

    def update_mask_files(self, force: bool = False) -> None:
        """Write the masks if their files lack the last decisions, as a crash leaves them. Raises StoreError.

        Args:
            force: write them in any case.
        """
        with self._lock:
            segments = self.segments()
            if segments is None:
                return
            shape = self.frame.depth.shape
            if force or not self._masks.are_saved(segments, shape):
                self._masks.save(segments, shape)

    def descriptions(self) -> tuple[Description, ...] | None:
        """Return the description of each segment; None before that stage ran."""
        path = self.folder / "descriptions.json"
        return description.from_json(path.read_text(encoding="utf-8", errors="replace")) if path.exists() else None

    def matches(self) -> tuple[Match, ...] | None:
        """Return the match of each object; None before that stage ran. Raises StoreError."""
        value = read_json(self.folder / "matches.json")
        return None if value is None else matching.from_json(value)

    def scene(self) -> Scene | None:
        """Return the twin; None before that stage ran."""
        return read_scene(self.folder) if (self.folder / "scene.json").exists() else None

    def save_evidence(self, evidence: Evidence) -> None:
        """Save how well the twin explains the photograph, with the doubts that follow from it. Raises StoreError."""
        with self._lock:
            self.begin_writing()
            of_frame = [one for one in self.frame.doubts if one.what != "registration"]  # which was measured again
            of_twin = [Doubt.of_line(DOUBTED.get(term, term), line) for term, line in doubts(evidence).items()]
            tint = np.zeros((*evidence.unexplained.shape, 4), np.uint8)
            # Vermilion of the Okabe-Ito palette, blue first, and opacity
            tint[evidence.unexplained] = (0, 94, 213, 190)
            write_bytes(self.folder / UNEXPLAINED, cv2.imencode(".png", tint)[1].tobytes())
            doubtful = [asdict(one) for one in (*of_twin, *of_frame)]
            self._record.note(evidence=evidence.to_json(), fit=evidence.fit(), doubtful=doubtful)

    def evidence(self) -> Evidence | None:
        """Return how well the twin explains the photograph; None if that was not measured."""
        return Evidence.from_json(self._record.fact("evidence"))

    def doubts(self, solution: Solution | None = None) -> tuple[str, ...]:
        """Return why the twin may not show the photograph, each as "reason; cure"; none if that was not measured.

        With a solution, also what its program failed.
        """
        found = self._record.fact("doubtful") if self.evidence() else None
        lines = map(_doubt_line, found) if isinstance(found, list) else ()
        failed = solution.failed_check if solution else ""
        return (*lines, *([f"the program did not pass its checks: {failed}; repair it"] if failed else []))

    def tasks(self) -> tuple[Task, ...] | None:
        """Return the proposed tasks, best first."""
        value = read_json(self.folder / "tasks.json")
        if not isinstance(value, list | None):
            raise TaskError("tasks.json holds no list; propose the tasks again")
        return None if value is None else tuple(task_from_json(one) for one in value)

    def task(self) -> Task | None:
        """Return the task that the user chose or wrote last, else the first proposed one, in current object names."""
        chosen = self.active_decisions("task")
        value = dict(chosen[-1].data) if chosen else read_json(self.folder / "task.json", KEPT_FILES["task.json"])
        return None if value is None else rename_in_task(task_from_json(value), self._renaming())

    def save_task(self, task: Task) -> None:
        """Save the task that the next stages are for. Raises StoreError."""
        write_json(self.folder / "task.json", {"schema": KEPT_FILES["task.json"], **task_to_json(task)})

    def text_in_current_names(self, text: str) -> str:
        """Return the text with former names of objects replaced by their current names."""
        return self._renaming()(text)

    def program_in_current_names(self, program: Program) -> Program:
        """Return the program with former names of objects replaced, so that it runs after a rename."""
        rename = self._renaming()
        return Program(rename(program.simulation), rename(program.checks))

    def _renaming(self) -> Callable[[str], str]:
        scene = self.scene()
        names = current_names(scene.placements) if scene else {}
        return lambda text: use_current_names(text, names)

    def rounds(self) -> tuple[Round, ...]:
        """Return the rounds of all tasks, in order."""
        return read_rounds(self.folder)

    def best_round(self) -> Round | None:
        """Return the round of the current task that the user pinned, else the last that passed, else the last one.

        Of rounds that passed in different twins, those in the current one come first.
        """
        task, rename = self.task(), self._renaming()
        rounds = [one for one in self.rounds() if task is None or rename(one.task) in ("", task.instruction)]
        pins = self.active_decisions("pin")
        if pins and (pinned := [one for one in rounds if one.number == pins[-1].data["round"]]):
            return pinned[0]
        passed = [one for one in rounds if one.route == "done"]
        twin = twin_digest(self.folder) if len({one.twin for one in passed}) > 1 else ""
        passed = [one for one in passed if one.twin == twin] or passed
        return passed[-1] if passed else rounds[-1] if rounds else None

    def solution(self) -> Solution | None:
        """Return the solution; None before that stage ran."""
        return read_solution(self.folder)

    @contextmanager
    def replacing_solution(self) -> Iterator[None]:
        """Keep the solution while another one is written, and for when its inputs come back.

        It stays the project's solution if the other one is not written to its end.
        """
        key = self._record.key("solution")  # None: a solution that lies there was killed before its end
        with self._lock:
            if key is not None:
                keep_solution(self.folder, key)
            self._replaces_solution = True
        try:
            yield
        except BaseException:
            if key is not None:
                take_up_solution(self.folder, key)
            raise
        finally:
            self._replaces_solution = False

    def take_up_former(self) -> None:
        """Let earlier rounds and an earlier solution count again if their inputs are back. Raises StoreError."""
        with self._lock, saving("The earlier solution was not brought back"):
            if not self._record.has_former or self._replaces_solution:
                return
            for stage in KEPT_STAGES:
                key, before = self.key(stage), self._record.key(stage)
                if stage == "solution" and before not in (None, key):
                    keep_solution(self.folder, before)
                if self._record.take_up(stage, key) and stage == "solution":
                    take_up_solution(self.folder, key)

    # ------------------------------------------------------------------ stages

    def stages(self) -> dict[Stage, StageState]:
        """Return the state of each stage. A stage is stale if its inputs changed since it ran."""
        return {stage: "stale" if self._is_stale(stage) else self._record.state(stage) for stage in STAGES}

    def _is_stale(self, stage: Stage) -> bool:
        key = self._record.key(stage)
        return self._record.state(stage) == "done" and key is not None and key != self.key(stage)

    def key(self, stage: Stage) -> str:
        """Return a hash of the inputs of a stage: frame, producers of the stages before it, and decisions."""
        made_with = {one: self._record.made_with(one) for one in STAGES[: STAGES.index(stage)]}
        with self._lock:
            return self._keys.key(stage, self.frame_key, made_with)

    @property
    def frame_key(self) -> str:
        """Hash of colour, depth and the current camera."""
        factor = [d.data["depth_factor"] for d in self._log.of_kinds("camera")[-1:] if depth_factor(d) != 1]
        pose = [d.data["world_from_camera"] for d in self._log.of_kinds("camera_pose")[-1:]]
        ground = [pixel for d in self._log.of_kinds("ground")[-1:] for pixel in ground_pixels(d)]
        with self._lock:  # as in `original_frame`; taken in another order than a cached_property's, threads deadlock
            if not self._picture_key:
                self._picture_key = digest(self.original_frame.rgb, self.original_frame.depth)
        return digest(self._picture_key, self.frame.intrinsics.matrix, *factor, *pose, *ground)

    def made_with(self, stage: Stage) -> str | None:
        """Return the name of the segmenter, library or model that made the result; None before the stage ran."""
        return self._record.made_with(stage)

    def error(self, stage: Stage) -> str:
        """Return why the stage failed when it last ran; empty if it did not fail."""
        return self._record.error(stage)

    def finish(self, stage: Stage, key: str, made_with: str, seconds: float) -> None:
        """Mark a stage as done. `key` is from its start, so that a decision made meanwhile makes it stale."""
        with self._lock:
            self.begin_writing()
            self._record.update(stage, "done", key, made_with, seconds, "")

    def fail(self, stage: Stage, key: str, made_with: str, seconds: float, message: str) -> None:
        """Mark a stage as failed, with the error to show."""
        with self._lock:
            self.begin_writing()
            self._record.update(stage, "failed", key, made_with, seconds, without_folders(message, self.folder))


def _doubt_line(value: object) -> str:
    """Return a doubt of project.json as "reason; cure"; older versions wrote it so."""
    if not isinstance(value, dict):
        return str(value)
    return Doubt("", *(str(value.get(key, "")) for key in ("why", "cure"))).line


def safe_name(text: str) -> str:
    """Return a MuJoCo body name made from the user's text: "My Mug!" -> "my_mug"."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:40] or "object"


def display_names(decisions: Iterable[Decision]) -> dict[int, str]:
    """Return what a person calls the objects, by segment id, after active decisions "rename" and "display_name"."""
    names: dict[int, str | None] = {}
    for decision in decisions:
        text = decision.data["name"] or ""
        names[decision.data["id"]] = _beyond_id(text) if decision.kind == "rename" else text
    return {id: name for id, name in names.items() if name}


def _beyond_id(text: str) -> str | None:
    """Return the text of a "rename" as a display name; None if the words of its id say as much, or it cannot be one."""
    try:
        name = clean_display_name(text)
    except DecisionError:
        return None
    return None if text.lower().replace("_", " ").split() == safe_name(text).split("_") else name

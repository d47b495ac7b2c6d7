"""The stages of a project and project.json, which records how each of them ended."""

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeGuard

from pipeline.errors import StudioError
from pipeline.frame import Frame
from pipeline.project.kept_files import KEPT_FILES, newer_file, studio_version
from pipeline.store import NewerFileError, StoreError, read_json, write_bytes, write_json

Stage = Literal["frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution"]
StageState = Literal["todo", "done", "failed", "stale"]

STAGES: tuple[Stage, ...] = ("frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution")
"""All stages in the order in which they run."""
QUESTION_DECISIONS = ("ask_again", "use_measured")
"""Decisions about a question to a model. They make the stage that asks it stale."""
MASK_DECISIONS = ("found", "mask", "delete_segment", "merge_segments")
"""Decisions that change masks. "found" replaces all masks by those of a new automatic run."""
STAGE_DECISIONS: dict[Stage, tuple[str, ...]] = {
    "descriptions": (*MASK_DECISIONS, "views", "not_object", "rename", "walls", *QUESTION_DECISIONS),
    "matches": ("choose_asset", "make", "matcher"),
    "scene": ("move", "resize", "refit", "physics", "recolour", "bring", "vary"),
    "rounds": ("task", "fork"),
    "solution": ("pin", "robot"),
}
"""Decisions that make a stage, and all stages after it, stale. Masks change at once, their descriptions do not."""
RESULT_FILES: Mapping[Stage, tuple[str, ...]] = {
    "segments": ("segments/automatic/coco.json",),
    "descriptions": ("descriptions.json",),
    "matches": ("matches.json",),
    "scene": ("scene.json",),
    "task": ("tasks.json", "task.json"),
    "solution": ("solution.json",),
}
"""Files without which a stage is to be done again."""
SCHEMA = 1
KEPT_STAGES: tuple[Stage, ...] = ("rounds", "solution")
"""Stages whose results stay when they are made again, and count again when their inputs come back."""
_TABLES = ("stages", "seconds", "keys", "made_with", "errors")
_PACKAGES = ("grs-studio", "mujoco", "open3d", "gradio", "sam2", "numpy")


class ProjectError(StudioError):
    """A folder is not a project, or cannot be used as one."""


class StageRecord:
    """Contents of project.json: state, input key, producer, duration and error of each stage."""

    def __init__(self, folder: Path):
        """Raises ProjectError if a newer version saved the project.

        A damaged record is made again, with every stage to do: all that cannot be computed is in other files.
        """
        self._folder, self._path = folder, folder / "project.json"
        self.damaged: list[str] = []
        """Names of the files that cannot be read. Their stages are to do."""
        self._values: Any = self._read()

    @staticmethod
    def create(folder: Path, name: str, frame: Frame) -> None:
        """Write the record of a new project, of which only the frame stage is done. Raises StoreError."""
        doubtful = [asdict(one) for one in frame.doubts]
        write_json(folder / "project.json", _new_record(name, frame.source) | {"doubtful": doubtful})

    @staticmethod
    def validate(folder: Path) -> None:
        """Raise ProjectError if the folder is not a project."""
        path = folder / "project.json"
        if not path.exists():
            raise ProjectError(
                f"{folder} is not a project: it has no project.json; name a folder that grs-studio run FRAME --out "
                "FOLDER has made"
            )
        if not (folder / "frame").is_dir() and _is_damaged(path):
            raise ProjectError(f"{path} is damaged and there is no frame; restore it or start a new project")

    def _read(self) -> Any:
        try:
            values: Any = read_json(self._path, SCHEMA)
        except NewerFileError:
            raise self._newer("project.json", read_json(self._path)) from None
        except StoreError:
            values = {}
        if values is None and not self._path.exists():
            return None
        if not _is_record(values):
            self.damaged.append("project.json")
            values = _new_record(self._folder.name, "")
        if newer := newer_file(values.get("files", {})):
            raise self._newer(newer[0], values)
        for stage, files in RESULT_FILES.items():  # whatever its state: a stage may have been killed before its end
            bad = [name for name in files if _is_damaged(self._folder / name)]
            self.damaged += [name for name in bad if (self._folder / name).exists()]
            if bad and values["stages"][stage] == "done":
                values["stages"][stage] = "todo"
        return values

    def _newer(self, name: str, values: Any) -> ProjectError:
        by = values.get("versions", {}).get("grs-studio", "a newer version") if isinstance(values, dict) else ""
        return ProjectError(
            f"{name} in {self._folder} was saved by GRS Studio {by}, which this one ({studio_version()}) cannot read; "
            "open the project with that version. Nothing was changed"
        )

    def begin_writing(self) -> None:
        """Set damaged files aside and record that this version writes the project. Raises StoreError."""
        if self._values is None:
            return
        for name in self.damaged:
            path = self._folder / name
            with suppress(FileNotFoundError):  # already aside
                write_bytes(path.with_name(f"{path.name}.damaged"), path.read_bytes())
                if path != self._path:  # which is replaced below: without it the folder would not be a project
                    path.unlink()
        before = self._values.get("files"), self._values.get("versions", {}).get("grs-studio")
        if self.damaged or before != (dict(KEPT_FILES), studio_version()) or not self._values.get("id"):
            values = {"id": _new_id()} | self._values | {"files": dict(KEPT_FILES), "versions": _versions()}
            write_json(self._path, values)
            self._values = values

    @property
    def name(self) -> str:
        return self._values["name"]

    @property
    def values(self) -> Any:
        """Everything that the file holds, in an object that no change alters; None if there is no file."""
        return self._values

    def state(self, stage: Stage) -> StageState:
        """Return how the stage ended. Never "stale", which depends on the decisions."""
        return self._values["stages"][stage]

    def key(self, stage: Stage) -> str | None:
        """Return the hash of the inputs that the stage ran on; None before it ran."""
        return self._values["keys"].get(stage)

    def made_with(self, stage: Stage) -> str | None:
        """Return the name of the segmenter, library or model that made the result; None before the stage ran."""
        return self._values["made_with"].get(stage)

    def error(self, stage: Stage) -> str:
        """Return why the stage failed when it last ran; empty if it did not fail."""
        return self._values["errors"].get(stage, "")

    def note(self, **facts: Any) -> None:
        """Add facts about the twin to the record, on disk. Raises StoreError."""
        values = self._values | facts
        write_json(self._path, values)
        self._values = values

    def fact(self, name: str) -> Any:
        """Return a fact about the twin as it was noted, or as somebody edited it; None if there is none."""
        return (self._values or {}).get(name)

    def update(self, stage: Stage, state: StageState, key: str, made_with: str, seconds: float, error: str) -> None:
        """Record how a stage ended, on disk; nothing is changed if that fails. Raises StoreError."""
        new = (state, round(seconds, 3), key, made_with, error)
        columns = zip(("stages", "seconds", "keys", "made_with", "errors"), new, strict=True)
        values = self._values | {table: self._values[table] | {stage: value} for table, value in columns}
        if stage in KEPT_STAGES and self.state(stage) == "done" and (before := self.key(stage)) not in (None, key):
            entry = {"made_with": self.made_with(stage), "seconds": self._values["seconds"].get(stage, 0.0)}
            former = self._values.get("former") or {}
            values["former"] = former | {stage: {**former.get(stage, {}), before: entry}}
        write_json(self._path, values)
        self._values = values

    def take_up(self, stage: Stage, key: str) -> bool:
        """Record that an earlier result of a stage counts again, on disk; return whether there is one for these inputs.

        Raises StoreError.
        """
        entry = ((self._values or {}).get("former") or {}).get(stage, {}).get(key)
        if entry is None or self.key(stage) == key:
            return False
        self.update(stage, "done", key, entry["made_with"], entry["seconds"], "")
        return True

    @property
    def has_former(self) -> bool:
        """Whether there are earlier results of any stage."""
        return bool((self._values or {}).get("former"))


def _new_record(name: str, source: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "id": _new_id(),
        "name": name,
        "created": time.time(),
        "source": source,
        "stages": {stage: "done" if stage == "frame" else "todo" for stage in STAGES},
        "versions": _versions(),
        "seconds": {},
        "keys": {},
        "made_with": {},
        "errors": {},
        "files": dict(KEPT_FILES),
    }


def project_id(folder: Path) -> str:
    """Return the random id of the project in a folder, which no other project has; "" if it has none yet."""
    try:
        values = read_json(folder / "project.json")
    except StoreError:
        return ""
    id = values.get("id") if isinstance(values, dict) else None
    return id if isinstance(id, str) else ""


def renew_id(folder: Path) -> None:
    """Give a copy of a project an id of its own. Raises StoreError."""
    path = folder / "project.json"
    values = None if _is_damaged(path) else read_json(path)
    if isinstance(values, dict):  # a damaged record is made again when the project is opened
        write_json(path, values | {"id": _new_id()})


def _new_id() -> str:
    return secrets.token_hex(8)


def _is_record(values: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or not isinstance(values.get("name"), str):
        return False
    tables = [values.get(table) for table in _TABLES]
    return all(isinstance(table, dict) for table in tables) and set(STAGES) <= set(values["stages"])


def _is_damaged(path: Path) -> bool:
    """Whether a JSON file is missing or cannot be read."""
    try:
        return read_json(path) is None
    except StoreError:
        return True


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions

"""A project folder with its decisions and its record, which one process at a time writes."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline import decisions as log
from pipeline.decisions import UNNAMED, Decision, History, clean_display_name
from pipeline.project.kept_files import migrate_decisions
from pipeline.project.stage_record import ProjectError, StageRecord
from pipeline.router import next_round_number, read_rounds
from pipeline.simulation import cameras
from pipeline.store import (
    LOCK_FILE,
    LockedError,
    StoreError,
    WriterLock,
    is_temporary,
    read_json,
    remove_dead_files,
    write_json,
)

FILE = "decisions.jsonl"


class DecisionLog(History):
    """The history of a project's log, which is on the disk before it is in memory."""

    def __init__(self, folder: Path):
        """Read the log. Raises DecisionError."""
        self._path = folder / FILE
        self._size = self._size_on_disk()
        self.largest_id = 0
        """The largest segment id of any decision, undone ones included; 0 if there is none."""
        decisions = log.read_log(self._path)
        rounds = read_rounds(folder) if any(one.kind == "fork" for one in decisions) else ()
        super().__init__(migrate_decisions(decisions, rounds))

    @property
    def is_outdated(self) -> bool:
        """Whether another process has appended to the log."""
        return self._size_on_disk() != self._size

    def append(self, decisions: Iterable[Decision]) -> None:
        """Append decisions to the file and to the history: all, or none if that fails. Raises StoreError."""
        decisions = tuple(decisions)
        log.append(self._path, *decisions)
        self._size = self._size_on_disk()
        for decision in decisions:
            self.add(decision)

    def add(self, decision: Decision) -> None:
        """Append a decision in memory."""
        super().add(decision)
        self.largest_id = max(self.largest_id, _largest_id(decision))

    def _size_on_disk(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


class ProjectFolder:
    """An open project folder. Every decision is on disk before `decide` returns.

    Reading needs nothing. What writes calls `begin_writing` first, so that there is one writer a project.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.author: Callable[[], str] = lambda: UNNAMED
        """Returns the name of the person who decides now; it is kept with each decision."""
        self._lock = threading.RLock()
        self._writer: WriterLock | None = None
        self._read()

    def _read(self) -> None:
        """Read the log and the record, and forget what was computed from the former ones."""
        self._log, self._record = DecisionLog(self.folder), StageRecord(self.folder)

    def begin_writing(self) -> None:
        """Become the one writer of the project, until `close`; returns at once if it is already.

        Reads again what another writer changed, and removes what a killed one left. Raises ProjectError if another
        process writes, StoreError if nothing can be saved.
        """
        with self._lock:
            if self._writer is not None:
                return
            try:
                writer = WriterLock.acquire(self.folder)
            except LockedError as error:
                raise ProjectError(
                    f"{error}, and can only be looked at here. Go on there, or stop that process and try again"
                ) from None
            if self._log.is_outdated:
                self._read()
            self._record = StageRecord(self.folder)
            try:
                self._record.begin_writing()
            except StoreError as error:
                raise StoreError(f"{self.folder.name} can only be looked at: {error}") from error
            remove_dead_files(self.folder)
            self._writer = writer
            self._update_camera_file()  # a crash may have left it behind the decisions

    def close(self) -> None:
        """Let other processes write. The project can still be looked at."""
        with self._lock:
            self._writer = None

    def read_again(self) -> None:
        """Read what another process wrote since; does nothing while this one is the writer."""
        with self._lock:
            if self._writer is None:
                self._read()

    @property
    def in_memory(self) -> tuple[Any, ...]:
        """What this process holds of the log and the record, which follow their files; equal until it has changed."""
        return self._log, len(self._log.all), self._record.values, self.is_writer

    @property
    def is_writer(self) -> bool:
        """Whether this process writes the project."""
        return self._writer is not None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines for the person who opens the project: damaged files, and a disk without locks."""
        damaged = [
            f"{name} is damaged and was set aside as {name}.damaged; it is made again." for name in self._record.damaged
        ]
        if self._writer is not None and not self._writer.enforced:
            damaged.append("This disk has no file locks: do not open the project in two studios at the same time.")
        return tuple(damaged)

    @property
    def decisions(self) -> Sequence[Decision]:
        """All decisions in order, including those undone and the undos."""
        return self._log.all

    @property
    def largest_decided_id(self) -> int:
        """The largest segment id of any decision, undone ones included; 0 if there is none."""
        return self._log.largest_id

    def decide(self, kind: str, /, **data: Any) -> None:
        """Record one decision of the user. Masks in segments/ change at once. Raises ProjectError, StoreError."""
        self.decide_together([(kind, data)])

    def decide_together(self, decisions: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Record several decisions, kind and data: all of them, or none if that fails. Raises as `decide` does."""
        with self._lock:
            self.begin_writing()
            by = self.author()
            self._append(*(Decision(kind, self._complete(kind, data), by=by) for kind, data in decisions))

    def undo(self) -> Decision | None:
        """Undo the last decision and return it; None if there is nothing to undo."""
        return self._step("undo", lambda: self.next_undo)

    def redo(self) -> Decision | None:
        """Redo the decision that was undone last and return it; None if there is nothing to redo."""
        return self._step("redo", lambda: self.next_redo)

    @property
    def next_undo(self) -> Decision | None:
        """The decision that `undo` would undo."""
        return self._log.active[-1] if self._log.active else None

    @property
    def next_redo(self) -> Decision | None:
        """The decision that `redo` would redo."""
        return self._log.undone[-1] if self._log.undone else None

    @property
    def can_undo(self) -> bool:
        return self.next_undo is not None

    @property
    def can_redo(self) -> bool:
        return self.next_redo is not None

    def _step(self, kind: str, following: Callable[[], Decision | None]) -> Decision | None:
        with self._lock:
            self.begin_writing()
            decision = following()
            if decision is not None:
                self._append(Decision(kind, {}, by=self.author()))
            return decision

    def _complete(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data with the number of the round that a fork becomes, and with a clean display name."""
        if kind == "display_name":
            return {**data, "name": clean_display_name(data.get("name") or "")}
        return {"round": next_round_number(self.folder), **data} if kind == "fork" else data

    def _append(self, *decisions: Decision) -> None:
        self._log.append(decisions)
        self._update_camera_file()

    def cameras(self) -> tuple[cameras.Camera, ...]:
        """Return the cameras that a person placed, in order. Raises KitError."""
        placed: dict[str, Mapping[str, Any]] = {}
        for decision in self.active_decisions("place_camera", "remove_camera"):
            placed.pop(decision.data["name"], None)
            if decision.kind == "place_camera":
                placed[decision.data["name"]] = decision.data
        return tuple(cameras.from_json({"body": cameras.WORLD, **data}) for data in placed.values())

    @property
    def has_walls(self) -> bool:
        """Whether the twin has the walls of the bin that the objects stand in, if there are any."""
        return all(decision.data["value"] for decision in self.active_decisions("walls")[-1:])

    def _update_camera_file(self) -> None:
        """Let cameras.json, which programs' worlds are built with, hold the placed cameras. Raises StoreError."""
        path, rows = self.folder / cameras.FILE, [cameras.to_json(camera) for camera in self.cameras()]
        try:
            is_current = rows == (read_json(path) or [])
        except StoreError:  # damaged
            is_current = False
        if not is_current:
            write_json(path, rows)

    def undone_decisions(self, *kinds: str) -> tuple[Decision, ...]:
        """Return the decisions of these kinds that can be redone, the next one last."""
        with self._lock:
            return tuple(one for one in self._log.undone if one.kind in kinds)

    def active_decisions(self, *kinds: str) -> tuple[Decision, ...]:
        """Return the decisions of these kinds that are not undone, in order."""
        with self._lock:
            return tuple(self._log.of_kinds(*kinds))


def is_free(folder: Path) -> bool:
    """Whether a project can be made in a folder: nothing is in it, or what a killed process made of one."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir() if not is_temporary(path)}
    return not names or (LOCK_FILE in names and names <= {LOCK_FILE, "frame"})


def _largest_id(decision: Decision) -> int:
    """Return the largest segment id that a decision gives a mask to or takes it from; 0 if none."""
    if decision.kind in ("mask", "delete_segment"):
        return int(decision.data["id"])
    return max((int(mask["id"]) for mask in decision.data["masks"]), default=0) if decision.kind == "found" else 0

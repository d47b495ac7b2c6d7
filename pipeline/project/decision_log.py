"""The log of a project's decisions in memory and on the disk."""

from collections.abc import Iterable
from pathlib import Path

from pipeline import decisions as log
from pipeline.decisions import Decision, History
from pipeline.project.kept_files import migrate_decisions
from pipeline.router import read_rounds

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


def _largest_id(decision: Decision) -> int:
    """Return the largest segment id that a decision gives a mask to or takes it from; 0 if none."""
    if decision.kind in ("mask", "delete_segment"):
        return int(decision.data["id"])
    return max((int(mask["id"]) for mask in decision.data["masks"]), default=0) if decision.kind == "found" else 0

"""batch.json: the settings of a batch and the state of each frame, replaced as a whole after every change."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from pipeline.store import read_json, write_json
from studio.batch.frames import BatchError

FILE = "batch.json"
SCHEMA = 1
ItemState = Literal["done", "failed", "todo"]


@dataclass(frozen=True)
class BatchItem:
    """One frame of a batch."""

    frame: str
    """Absolute path."""
    project: str
    """Name of its folder in the batch's folder."""
    state: ItemState = "todo"
    stage: str = ""
    """Last stage that is done; empty if none is."""
    seconds: float = 0.0
    """Wall-clock time of all its runs together."""
    message: str = ""
    """Why it failed; empty if it did not."""
    usd: float = 0.0
    """What the models' calls of its project have cost."""
    moved_to: str = ""
    """Name of its project in the studio's workspace, where a batch of the board moves it; empty before."""


class BatchFile:
    """The record of a batch; safe to use from several threads."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], items: Sequence[BatchItem]):
        self.folder, self.settings = folder, dict(settings)
        self._items = {item.project: item for item in items}
        self._lock = threading.Lock()

    @property
    def items(self) -> tuple[BatchItem, ...]:
        with self._lock:
            return tuple(self._items.values())

    def update(self, project: str, **changes: Any) -> BatchItem:
        """Change an item and write the file; return the item."""
        with self._lock:
            self._items[project] = replace(self._items[project], **changes)
            self._write()
            return self._items[project]

    def write(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        rows = [asdict(item) for item in self._items.values()]
        write_json(self.folder / FILE, {"schema": SCHEMA, "settings": self.settings, "items": rows})


def read_batch(folder: Path) -> BatchFile | None:
    """Read a batch; None if there is none. Raises BatchError for a damaged file."""
    data = read_json(folder / FILE, SCHEMA)
    if data is None:
        return None
    try:
        items = TypeAdapter(list[BatchItem]).validate_python(data["items"])
        return BatchFile(folder, data.get("settings", {}), items)
    except (KeyError, TypeError, ValueError):
        raise BatchError(
            f"{folder / FILE} is damaged; delete it and run the batch again: finished stages stay"
        ) from None

"""What a project's folder holds, for tests of its pages."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.segmentation import read_segments


class ProjectFiles:
    """Reads the files of a project of a studio's workspace, in `folder`."""

    studio: Any
    name: str

    @property
    def folder(self) -> Path:
        return self.studio.workspace / self.name

    @property
    def decisions(self) -> list[dict[str, Any]]:
        log = self.folder / "decisions.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def kinds(self) -> list[str]:
        return [decision["kind"] for decision in self.decisions]

    @property
    def masks(self) -> dict[int, np.ndarray]:
        """The masks (H, W), bool, by segment id."""
        return {segment.id: segment.mask for segment in read_segments(self.folder / "segments")}

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

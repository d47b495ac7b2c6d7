"""confidence.json: how certain each object of the twin is, kept so that nothing has to be rendered to list it."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pipeline.store import StoreError, digest, read_json, write_json

FILE = "confidence.json"


def save_confidences(folder: Path, scores: Mapping[int, float]) -> None:
    """Save the confidence in each object by segment id, in [0, 1], for the twin as it is now. Raises StoreError."""
    if twin := _twin(folder):
        write_json(folder / FILE, {"twin": twin, "scores": {str(id): score for id, score in scores.items()}})


def read_confidences(folder: Path) -> dict[int, float]:
    """Return the confidence in each object by segment id; empty if it was not measured since the twin changed."""
    with suppress(StoreError, OSError, KeyError, TypeError, ValueError, AttributeError):
        record = read_json(folder / FILE)
        if record and record["twin"] == _twin(folder):
            scores = {int(id): float(score) for id, score in record["scores"].items()}
            return scores if all(0 <= score <= 1 for score in scores.values()) else {}
    return {}


def least_confidence(folder: Path) -> float | None:
    """Return the least confidence in an object of the twin; None if it was not measured since the twin changed."""
    return min(read_confidences(folder).values(), default=None)


def _twin(folder: Path) -> str:
    path = folder / "scene.json"
    return digest(path.read_bytes()) if path.exists() else ""

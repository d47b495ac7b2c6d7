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


def least_confidence(folder: Path) -> float | None:
    """Return the least confidence in an object of the twin; None if it was not measured since the twin changed."""
    with suppress(StoreError, OSError, KeyError, TypeError, ValueError, AttributeError):
        record = read_json(folder / FILE)
        if record and record["twin"] == _twin(folder):
            least = min((float(score) for score in record["scores"].values()), default=-1.0)
            return least if 0 <= least <= 1 else None
    return None


def _twin(folder: Path) -> str:
    path = folder / "scene.json"
    return digest(path.read_bytes()) if path.exists() else ""

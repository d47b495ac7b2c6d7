"""Requests of the gallery about batches, and the records that it shows of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.project import STAGES
from studio.batch.batch_file import BatchFile, BatchItem
from studio.board.batches import Batches, BatchJob, sends_nothing
from studio.board.board import Board
from studio.sessions.wording import STAGE_TITLES
from studio.texts import t, translated

MAX_FRAMES = 100
"""Frames of a batch that the page lists."""
ORDER = {"running": 0, "failed": 1, "todo": 2, "done": 3}
"""In which the frames of a batch are listed."""


def handlers(batches: Batches) -> dict[str, Callable[[Board, dict], dict]]:
    """Return the handlers of requests about batches, by kind."""

    def answer(board: Board, request: dict) -> dict[str, Any]:
        return batches_answer(batches, board)

    def start(board: Board, request: dict) -> dict[str, Any]:
        batches.start(request.get("files"), str(request.get("until")), str(request.get("task") or ""))
        return answer(board, request)

    def on_one(act: Callable[[object], None]) -> Callable[[Board, dict], dict]:
        return lambda board, request: (act(request.get("batch")), answer(board, request))[1]

    return {
        "batches": answer,
        "start_batch": start,
        "resume_batch": on_one(batches.resume),
        "stop_batch": on_one(batches.stop),
        "remove_batch": on_one(batches.remove),
    }


def batches_answer(batches: Batches, board: Board) -> dict[str, Any]:
    """Return {batches, stages, offline}: the last stages to choose from, and whether the model is not asked."""
    records = [batch_record(*one) for one in batches.all()]
    stages = [{"name": stage, "title": t(STAGE_TITLES[stage])} for stage in STAGES[1:]]
    return {"batches": records, "stages": stages, "offline": sends_nothing(board.sessions.services)}


def batch_record(record: BatchFile, running: BatchJob | None, error: str) -> dict[str, Any]:
    """Return what the page shows of a batch."""
    stages = running.runner.stages if running else {}
    frames = [_frame_record(item, stages) for item in record.items]
    states = [item.state for item in record.items]
    seconds, until = running.runner.seconds_left() if running else None, str(record.settings.get("until"))
    return {
        "id": record.folder.name,
        "title": record.settings.get("title") or record.folder.name,
        "until": _title(until),
        "state": _state(running, states),
        "error": translated(error),
        "done": states.count("done"),
        "failed": states.count("failed"),
        "of": len(frames),
        "share": sum(_share(item, stages.get(item.project), until) for item in record.items) / max(1, len(frames)),
        "seconds_left": None if seconds is None else round(seconds),
        "frames": sorted(frames, key=lambda frame: ORDER[frame["state"]])[:MAX_FRAMES],
        "more": max(0, len(frames) - MAX_FRAMES),
    }


def _state(running: BatchJob | None, states: list[str]) -> str:
    """Return "waiting", "running", "stopping", "stopped" or "ended"."""
    if running is None:
        return "stopped" if "todo" in states or not states else "ended"
    return "stopping" if running.stopping else running.state


def _share(item: BatchItem, stage: str | None, until: str) -> float:
    """Return how many of a frame's stages have ended, in [0, 1]."""
    if item.state != "todo":
        return 1.0
    return STAGES.index(stage) / (STAGES.index(until) + 1) if stage in STAGES and until in STAGES else 0.0


def _frame_record(item: BatchItem, stages: Mapping[str, str]) -> dict[str, Any]:
    stage = stages.get(item.project)
    return {
        "name": Path(item.frame).name,
        "state": item.state if stage is None else "running",
        "stage": _title(stage or item.stage),
        "seconds": round(item.seconds),
        "message": translated(item.message),
        "project": item.moved_to,
    }


def _title(stage: str) -> str:
    return t(STAGE_TITLES[stage]) if stage in STAGES else ""

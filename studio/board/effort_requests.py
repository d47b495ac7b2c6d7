"""Requests of the gallery about human effort and the agreement of people."""

from dataclasses import asdict
from typing import Any

from pipeline.curation.agreement import MAX_PAIRS, Agreement, agreements
from pipeline.curation.effort import FrameEffort, frame_effort, summarise_effort
from pipeline.project.curation import read_curation
from studio.board.board import Board, shown_title
from studio.board.project_index import BoardQuery
from studio.texts import t

MAX_FRAMES = 2000
"""Projects that are looked at, the last changed first."""


def effort_answer(board: Board, query: BoardQuery) -> dict[str, Any]:
    """Return {summary, frames, looked_at, total}: the effort on the projects that the search finds."""
    found = board.index.find(BoardQuery(query.words, query.state, query.verdict, query.tag, limit=MAX_FRAMES))
    workspace = board.sessions.workspace
    efforts = [one for name, _ in found.rows if (one := frame_effort(workspace / name))]
    summary = asdict(summarise_effort(efforts))
    summary["corrections"] = [(t(name), count) for name, count in summary["corrections"]]
    titles = {name: facts.title for name, facts in found.rows}
    frames = [_frame_record(one, titles[one.name]) for one in efforts]
    return {"summary": summary, "frames": frames, "looked_at": len(found.rows), "total": found.total}


def _frame_record(effort: FrameEffort, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "seconds": round(effort.seconds, 1),
        "measured": effort.is_measured,
        "presses": effort.presses,
        "corrections": sum(effort.corrections.values()),
    }


def agreement_answer(board: Board, _: dict) -> dict[str, Any]:
    """Return {pairs}: the agreement of each two projects of one frame that people worked on, MAX_PAIRS at most."""
    workspace = board.sessions.workspace
    names = [name for name, _ in board.index.find(BoardQuery(limit=MAX_FRAMES)).rows]
    efforts = {name: one for name in names if (one := frame_effort(workspace / name))}
    pairs = agreements(workspace / name for name in efforts)
    return {
        "pairs": [
            {"titles": [_who(folder, efforts[folder.name]) for folder in (first, second)]} | _agreement_record(found)
            for first, second, found in pairs
        ],
        "most": MAX_PAIRS,
    }


def _who(folder: Any, effort: FrameEffort) -> str:
    people = ", ".join(effort.people) or read_curation(folder).by
    return f"{shown_title(folder)} ({people})" if people else shown_title(folder)


def _agreement_record(found: Agreement) -> dict[str, Any]:
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(found).items()}

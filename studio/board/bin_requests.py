"""Requests of the gallery about the bin of deleted projects."""

import time
from typing import Any

from pipeline.errors import StudioError
from studio.board.board import Board
from studio.board.project_bin import deleted_projects, empty_bin, restore_project
from studio.sessions.project_folders import BIN
from studio.texts import t, translated
from studio.web.errors import RequestError, error_message


def bin_answer(board: Board, _: dict) -> dict[str, Any]:
    """Return {deleted: [{id, title, at}]}, the one deleted last first."""
    found = deleted_projects(board.sessions.workspace)
    when = (time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at)) for one in found)
    return {"deleted": [{"id": one.id, "title": one.title, "at": at} for one, at in zip(found, when, strict=True)]}


def restore(board: Board, request: dict) -> dict[str, Any]:
    """Move the projects {ids} back to the workspace."""
    ids, workspace, problems, restored = _ids(board, request), board.sessions.workspace, [], 0
    for id in ids:
        try:
            restore_project(workspace / BIN / id, board.sessions.free_folder)
            restored += 1
        except (StudioError, OSError) as error:
            problems.append(translated(error_message(error)))
    board.index.refresh()
    note = t("{n} project restored.|{n} projects restored.", n=restored)
    return bin_answer(board, {}) | {"note": " ".join([note, *problems])}


def empty(board: Board, request: dict) -> dict[str, Any]:
    """Delete the projects {ids} of the bin for good; the page has asked before."""
    emptied = empty_bin(board.sessions.workspace, _ids(board, request))
    return bin_answer(board, {}) | {
        "note": t("{n} project deleted for good.|{n} projects deleted for good.", n=emptied)
    }


def _ids(board: Board, request: dict) -> list[str]:
    """Return the ids of a request that are in the bin. Raises RequestError if none is."""
    asked = request.get("ids")
    known = {one.id for one in deleted_projects(board.sessions.workspace)}
    ids = [id for id in asked if isinstance(id, str) and id in known] if isinstance(asked, list) else []
    if not ids:
        raise RequestError("These projects are no longer in the trash.")
    return ids


HANDLERS = {"bin": bin_answer, "restore": restore, "empty_bin": empty}

"""Requests of the gallery about sets of accepted projects, and their export in the background."""

import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.project_sets import (
    ProjectSet,
    SetSettings,
    export_set,
    make_set,
    read_set,
    read_sets,
    remove_set,
)
from studio.board.board import Board
from studio.texts import t, translated
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing


class SetExport(Job[None]):
    """A set that is written to a zip."""

    def __init__(self, workspace: Path, chosen: ProjectSet, exporter: str):
        listing = Listing("export", lambda: t("Export of the set {name}", name=chosen.name), workspace)
        super().__init__(f"export of {chosen.name}", lambda _: self._write(exporter), listing=listing)
        self.workspace, self._chosen, self.of = workspace, chosen, len(chosen.split)
        self._folder = tempfile.TemporaryDirectory(prefix="grs-studio-set-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / f"{chosen.name}.zip"
        self.left_out: list[str] = []

    def _write(self, exporter: str) -> None:
        with closing(export_set(self.workspace, self._chosen, exporter, self.path)) as steps:
            for step in steps:
                if step in self._chosen.split:
                    self.done += 1
                else:
                    self.left_out.append(step)
                if self.stopping:
                    return


class SetExports:
    """The exports of the sets since the studio started, the last one of each workspace. May be used from any thread."""

    def __init__(self):
        self._exports: dict[str, SetExport] = {}

    def start(self, board: Board, name: str, exporter: str) -> str:
        """Export a set; return a token for it. Raises StudioError."""
        if exporter not in plugins.entries("exporters"):
            raise RequestError("The studio does not know this format; reload the page.")
        workspace = board.sessions.workspace
        for token, other in list(self._exports.items()):
            if other.workspace == workspace:
                other.stop()
                del self._exports[token]
        export = SetExport(workspace, read_set(workspace, name), exporter)
        self._exports[export.id] = export
        return export.start().id

    def get(self, token: object) -> SetExport:
        """Return an export. Raises RequestError if another one took its place."""
        if (found := self._exports.get(str(token))) is None:
            raise RequestError("This export is no longer there; start it again.")
        return found

    def mount(self, app: FastAPI) -> None:
        """Add the route of the files."""

        @app.get("/set/{token}/{name}", include_in_schema=False)
        def exported(token: str, name: str) -> Response:
            try:
                path = self.get(token).path
            except StudioError as error:
                return PlainTextResponse(str(error), 404)
            return FileResponse(path, filename=path.name) if path.is_file() else PlainTextResponse("Not ready.", 404)


def handlers(board: Board, exports: SetExports) -> dict[str, Callable[[Board, dict], dict]]:
    """Return the handlers of requests about sets, by kind."""

    def start(_: Board, request: dict) -> dict:
        return status(board, {"job": exports.start(board, str(request.get("name")), str(request.get("format")))})

    def status(_: Board, request: dict) -> dict:
        export = exports.get(request.get("job"))
        running = export.is_active
        if export.state == "failed":
            raise RequestError(translated(export.message))
        record: dict[str, Any] = {"job": export.id, "done": export.done, "of": export.of, "running": running}
        if not running and export.path.is_file():
            record["address"] = f"set/{export.id}/{export.path.name}"
        return record | {"left_out": export.left_out[:5], "more": max(0, len(export.left_out) - 5)}

    return {
        "sets": sets_answer, "make_set": _make, "remove_set": _remove, "export_set": start, "set_export": status,
    }  # fmt: skip


def sets_answer(board: Board, _: dict) -> dict[str, Any]:
    """Return {sets, formats}."""
    sets = read_sets(board.sessions.workspace)
    return {"sets": [_set_record(one) for one in sets], "formats": sorted(plugins.entries("exporters"))}


def _set_record(one: ProjectSet) -> dict[str, Any]:
    splits = list(one.split.values())
    return {
        "name": one.name,
        "train": splits.count("train"),
        "test": splits.count("test"),
        "about": one.settings.about,
        "licence": one.settings.licence,
        "seed": one.settings.seed,
        "by_source": one.settings.by_source,
    }


def _make(board: Board, request: dict) -> dict[str, Any]:
    share, seed = request.get("test"), request.get("seed")
    if not isinstance(share, int | float) or type(seed) is not int:
        raise RequestError("Write ordinary numbers for the share of the test split and the seed.")
    texts = {key: " ".join(str(request.get(key) or "").split()) for key in ("name", "about", "licence")}
    settings = SetSettings(
        float(share), seed, request.get("by_source") is True, about=texts["about"], licence=texts["licence"]
    )
    names = [one for one in request.get("names") or () if isinstance(one, str)]
    for name in names:
        board.folder(name)
    made = make_set(board.sessions.workspace, texts["name"], names, settings)
    n = len(made.split)
    note = t("Set {name} made of {n} project.|Set {name} made of {n} projects.", name=made.name, n=n)
    return sets_answer(board, {}) | {"note": note}


def _remove(board: Board, request: dict) -> dict[str, Any]:
    remove_set(board.sessions.workspace, str(request.get("name")))
    return sets_answer(board, {})

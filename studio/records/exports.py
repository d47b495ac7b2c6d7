"""Exports for download, written by child processes.

A few run at once. Equal requests get the same export, which is ended when its last client has left.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from pipeline.errors import StudioError
from studio.batch.bounded_process import PREFIX, bounded_command
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError

AT_ONCE, WAITING = 2, 16
"""Exports that are written at the same time, and those that may wait for that."""
SECONDS, MEMORY_BYTES = 600.0, 6_000_000_000
"""Bounds of one export."""
LOOK_SECONDS = 0.5
"""Pause between two looks whether a page still waits."""
Key = tuple[Path, int, str]


@dataclass(eq=False)
class _Export:
    folder: tempfile.TemporaryDirectory
    task: "asyncio.Task[Path]"
    users: int = 0
    """Pages that wait for it, or are being sent it."""


class Exports:
    """The exports that are written and sent. Used in the server's event loop only."""

    def __init__(self):
        self._places = asyncio.Semaphore(AT_ONCE)
        self._running: dict[Key, _Export] = {}

    async def answer(self, session: Session, exporter: str, is_gone: Callable[[], Awaitable[bool]]) -> Response:
        """Return a project in an exporter's format; a folder that it writes comes as a zip. Raises StudioError."""
        from pipeline.export import name_ending

        ending = name_ending(exporter)
        key = (session.project.folder, session.log.version, exporter)
        if key not in self._running:
            if len(self._running) >= AT_ONCE + WAITING:
                raise RequestError("The studio writes other exports now; try again in a minute.")
            folder = tempfile.TemporaryDirectory(prefix="grs-studio-", ignore_cleanup_errors=True)
            out = Path(folder.name) / f"{session.project.folder.name}{ending}"
            task = asyncio.create_task(self._write(session.project.folder, exporter, out))
            self._running[key] = _Export(folder, task)
        export = self._running[key]
        export.users += 1
        try:
            while not (await asyncio.wait({export.task}, timeout=LOOK_SECONDS))[0]:
                if await is_gone():
                    raise RequestError("Nobody waits for this export.")
            return _SentFile(export.task.result(), lambda: self._leave(key, export))
        except BaseException:
            self._leave(key, export)
            raise

    def _leave(self, key: Key, export: _Export) -> None:
        """End an export, and remove what it wrote, once no page uses it."""
        export.users -= 1
        if not export.users:
            self._running.pop(key, None)
            export.task.cancel()
            export.task.add_done_callback(lambda _: export.folder.cleanup())

    async def _write(self, project: Path, exporter: str, out: Path) -> Path:
        command = bounded_command(["export", str(project), f"--format={exporter}", f"--out={out}"], MEMORY_BYTES)
        async with self._places:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            try:
                _, told = await asyncio.wait_for(process.communicate(), SECONDS)
            except TimeoutError:
                raise RequestError(f"The export took longer than {SECONDS / 60:.0f} minutes and was ended.") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            line = told.decode(errors="replace").strip().rpartition("\n")[2].removeprefix(PREFIX)
            raise RequestError(line or "The export was ended; it may need more memory than this studio gives it.")
        return Path(await asyncio.to_thread(shutil.make_archive, str(out), "zip", out)) if out.is_dir() else out


class _SentFile(FileResponse):
    """A file. Calls `on_end` once it is sent or the client has left."""

    def __init__(self, path: Path, on_end: Callable[[], None]):
        super().__init__(path, filename=path.name, headers={"Cache-Control": "no-cache"})
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


def mount(app: FastAPI, sessions: SessionRegistry) -> None:
    """Add the route. Call it before the one of a project's other files."""
    exports = Exports()

    @app.get("/project/{token}/export/{exporter}", include_in_schema=False)
    async def exported(token: str, exporter: str, request: Request) -> Response:
        try:
            return await exports.answer(sessions.get(token), exporter, request.is_disconnected)
        except StudioError as error:
            return PlainTextResponse(" ".join(str(error).split()), 404)

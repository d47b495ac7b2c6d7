"""The studio's web server: one process, one port."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.store import announce, check_writable
from studio.services.open_services import open_services, warm_up
from studio.services.settings import Settings
from studio.web import background, gradio_fast_import
from studio.web.access import Access, is_loopback

MODEL_CACHE_BYTES = 64 << 20
"""Size of MuJoCo's cache of meshes and textures. Its default is 500 MB."""
CLOSE_TIMEOUT, LAST_SECONDS = 2.0, 4.0
"""Seconds to wait for background threads when the server ends, and from a signal until the process ends in any case."""


def serve(settings: Settings, host: str, port: int, access: Access, page: str = "") -> None:
    """Serve until interrupted; `page` is the query of the address that is opened.

    Raises StudioError if the address or the workspace cannot be used.
    """
    _check_place(settings.workspace, host, port, access)
    import mujoco
    import uvicorn

    from studio.web.connections import MAX_MESSAGE, PromptProtocol, allow_open_files

    allow_open_files()
    mujoco.mj_setCacheCapacity(mujoco.mj_getCache(), MODEL_CACHE_BYTES)
    # How long a thread that computes may keep Python's interpreter lock; the default of 5 ms adds up for requests
    sys.setswitchinterval(0.001)
    gradio_fast_import.install()
    from studio.app import build_app

    services = open_services(settings)
    for group in plugins.GROUPS:
        plugins.available(group)  # names each part that cannot be imported, before a page needs it
    with contextlib.closing(services.sandbox), _background_threads():
        app = build_app(services, settings.workspace, access)
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        address = f"http://{name}:{port}"
        announce(address)
        address += f"/{page}" if page else ""
        print(
            f"GRS Studio is open at {address}  (stop with Ctrl-C; projects are kept in {settings.workspace})",
            flush=True,
        )
        if access.behind_proxy and access.needs_login:
            proxies = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
            print(
                f"Wrong passwords are counted by the X-Forwarded-For of {proxies}: let your proxy set it.", flush=True
            )
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(address)
        # Seconds in which the first page has the processor to itself
        background.start("warm up", lambda stop: None if stop.wait(2.0) else warm_up(services))
        logging.getLogger("uvicorn.error").addFilter(_is_reportable)
        # Pages keep streams open; a person who stops the studio does not want to wait for them.
        config = uvicorn.Config(
            app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1, http=PromptProtocol,
            ws_max_size=MAX_MESSAGE, proxy_headers=access.behind_proxy, server_header=False,
        )  # fmt: skip
        server = uvicorn.Server(config)
        server.handle_exit = partial(_end_in_time, server.handle_exit)
        with contextlib.suppress(KeyboardInterrupt):
            server.run()


def _end_in_time(handle_exit: Callable[[int, Any], None], number: int, frame: Any) -> None:
    """Let the server end, and the process in any case a moment later: what was decided is on the disk."""
    last = threading.Timer(LAST_SECONDS, os._exit, [128 + number])
    last.daemon = True
    last.start()
    handle_exit(number, frame)


@contextlib.contextmanager
def _background_threads() -> Iterator[None]:
    """Stop and join every background thread at the end."""
    try:
        yield
    finally:
        background.close_all(CLOSE_TIMEOUT)


def _is_reportable(record: logging.LogRecord) -> bool:
    """Return False for the records of streams that were cut off because the studio was stopped."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "graceful shutdown exceeded" not in record.getMessage()


def _check_place(workspace: Path, host: str, port: int, access: Access) -> None:
    """Make the workspace, and say what cannot be written to it. Raises StudioError."""
    if not access.needs_login and not is_loopback(host):
        raise StudioError(
            f"--host {host} would let everyone on the network read and change every project; add a login with "
            "grs-studio user add NAME, --auth-file FILE or GRS_AUTH=USER:PASS, or leave --host out"
        )
    _check_address(host, port)
    try:
        workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudioError(
            f"the workspace {workspace} cannot be created: {error.strerror}; choose another with --workspace"
        ) from None
    if problem := check_writable(workspace):
        print(f"grs-studio: {problem}", file=sys.stderr, flush=True)


def _check_address(host: str, port: int) -> None:
    if not 0 < port < 65536:
        raise StudioError(f"--port {port} is not a port; choose one from 1024 to 65535")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StudioError(f"{host}:{port} cannot be used: {error.strerror}; choose another with --port") from None

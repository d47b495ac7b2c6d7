"""Opens the studio: one web server on one port."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import webbrowser

from pipeline.errors import StudioError
from studio import stubless
from studio.services import Settings, open_services, warm

WARM_AFTER = 2.0
"""Seconds that the first page has to itself."""


def serve(settings: Settings, host: str, port: int, auth: tuple[str, str] | None) -> None:
    """Serves until interrupted. Raises StudioError where the address or the workspace cannot be used."""
    _check_address(host, port)
    try:
        settings.workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudioError(
            f"the workspace {settings.workspace} cannot be made: {error.strerror}; choose another with --workspace"
        ) from None
    import uvicorn

    stubless.install()
    from studio.app import build

    services = open_services(settings)
    with contextlib.closing(services.sandbox):
        app = build(services, settings.workspace, auth)
        address = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
        print(
            f"GRS Studio is open at {address}  (stop with Ctrl-C; projects are kept in {settings.workspace})",
            flush=True,
        )
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(address)
        threading.Timer(WARM_AFTER, warm, [services]).start()
        logging.getLogger("uvicorn.error").addFilter(_needs_a_word)
        # Pages keep streams open; nobody who stops the studio wants to wait for them.
        uvicorn.run(app, host=host, port=port, log_level="warning", ws_max_size=1 << 20, timeout_graceful_shutdown=2)


def _needs_a_word(record: logging.LogRecord) -> bool:
    """Whether a person should read it: that a page's stream was cut off when the studio was stopped is no fault."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "graceful shutdown exceeded" not in record.getMessage()


def _check_address(host: str, port: int) -> None:
    if not 0 < port < 65536:
        raise StudioError(f"--port {port} is no port; choose one from 1024 to 65535")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StudioError(f"{host}:{port} cannot be used: {error.strerror}; choose another with --port") from None

"""The studio's app on a port of its own, in a thread of this process, so that tests can look into it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from browser.checked_views import checked_views
from offline_studio import wait_until

from studio.app import build_app


@contextmanager
def served(
    services: Any, workspace: Path, *arguments: Any, behind: Callable[[Any], Any] = lambda app: app
) -> Iterator[SimpleNamespace]:
    """Serve `build_app(services, workspace, *arguments)`, `behind` another ASGI app; gives {app, address}."""
    app, stale = build_app(services, workspace, *arguments), list[str]()
    with checked_views(stale.append), serving(behind(app)) as address:
        yield SimpleNamespace(app=app, address=address)
    assert not stale, stale[0]


@contextmanager
def serving(app: Any, **settings: Any) -> Iterator[str]:
    """Serve an app at the address that this gives, without a slash at its end; `settings` are uvicorn's."""
    settings |= {"host": "127.0.0.1", "port": 0, "log_level": "error", "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config(app, **settings))
    thread = threading.Thread(target=server.run, daemon=True, name="served studio")
    thread.start()
    wait_until(lambda: server.started, "the server's start")
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)

"""The gate: which requests reach the studio, by host, origin, login, size and time, and what becomes of uploads."""

import asyncio
import gc
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from async_calls import run_async
from fastapi import FastAPI, Request, WebSocket
from fastapi.testclient import TestClient
from offline_studio import offline_services, wait_until
from starlette.routing import BaseRoute
from starlette.websockets import WebSocketDisconnect

from studio.accounts.current_user import current_user
from studio.app import build_app
from studio.web import connections, gate
from studio.web.access import Access
from studio.web.gate import Gate
from studio.web.gradio_internals import gradio_app
from studio.web.upload_folder import MAX_AGE, UploadFolder

HERE = "http://127.0.0.1:7860"
FOREIGN_ORIGINS = (
    "http://127.0.0.1:3000", "http://127.0.0.1", "https://127.0.0.1:7860", "http://localhost:7860", "null", "",
    "http://evil.example", "http://127.0.0.1:7860.evil.example", "http://evil.example@127.0.0.1:7860",
    "http://127.0.0.1:7860/", "http://lab.example",
)  # fmt: skip
OWN_HOSTS = ("127.0.0.1", "127.0.0.1:7860", "localhost:8000", "LOCALHOST", "[::1]:7860")
FOREIGN_HOSTS = ("evil.example", "evil.example:7860", "127.0.0.1.evil.example", "", "192.168.7.7", "a@127.0.0.1", "[")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The studio with a login, published by a proxy as lab.example."""
    access = Access({"ada": "secret"}, ("lab.example",), behind_proxy=True)
    return build_app(offline_services(), tmp_path_factory.mktemp("workspace"), access)


def client_of(access: Access | None = None, user: str | None = None) -> TestClient:
    """Return a client of a small app behind a gate."""
    app = FastAPI()
    app.add_middleware(Gate, access=access or Access(), find_user=lambda _: user)

    @app.api_route("/{path:path}", methods=["GET", "POST", "DELETE"])
    async def echo(request: Request) -> dict:
        return {"user": current_user.get(), "size": len(await request.body()), "headers": dict(request.headers)}

    @app.websocket("/{path:path}")
    async def socket(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(current_user.get())

    return TestClient(app, HERE)


def addresses(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield method and address of each route, those of mounted apps included."""
    for route in routes:
        inner = getattr(route, "original_router", None) or getattr(getattr(route, "app", None), "router", None)
        if inner is not None:
            yield from addresses(inner.routes, prefix)
        for method in getattr(route, "methods", None) or ():
            yield method, prefix + route.path.replace("{", "").replace("}", "").replace(":path", "")


def test_no_address_answers_under_another_name_or_a_page_of_another_origin(app: FastAPI):
    client, tried = TestClient(app, HERE), list(addresses(app.routes))
    assert {"/gradio_api/upload", "/gradio_api/queue/join", "/login", "/project/token/name"} <= {p for _, p in tried}
    for method, path in tried:
        answer = client.request(method, path, headers={"host": "evil.example"})
        assert answer.status_code == 421, (method, path)
        answer = client.request(method, path, headers={"origin": "http://127.0.0.1:3000"})
        assert answer.status_code == 403, (method, path)
    assert "--allow-host" in client.get("/", headers={"host": "evil.example"}).text


def test_without_the_login_no_address_answers_but_those_of_the_login_page(app: FastAPI):
    client = TestClient(app, HERE)
    for method, path in addresses(app.routes):
        is_public = path in gate.PUBLIC_FILES or path.startswith(gate.PUBLIC)
        if not is_public:
            assert client.request(method, path).status_code in (401, 404), (method, path)
    assert client.get("/gradio_api/heartbeat/guess").status_code == 401


@pytest.mark.parametrize("host", [*FOREIGN_HOSTS, *OWN_HOSTS])
def test_only_this_machines_own_names_are_hosts_with_any_port(host: str):
    assert client_of().get("/", headers={"host": host}).status_code == (200 if host in OWN_HOSTS else 421)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_request_of_another_origin_is_refused(origin: str, method: str):
    answer = client_of().request(method, "/x", headers={"origin": origin})
    assert answer.status_code == 403 and "only its own pages" in answer.text


@pytest.mark.parametrize("origin", [None, *FOREIGN_ORIGINS])
def test_a_socket_of_another_origin_or_of_none_is_refused(origin: str | None):
    headers = {"host": "127.0.0.1:7860"} | ({"origin": origin} if origin is not None else {})
    with pytest.raises(WebSocketDisconnect), client_of().websocket_connect("/x", headers=headers):
        pass


def test_the_studios_own_pages_are_answered_for_the_person_who_logged_in():
    headers = {"origin": HERE, "host": "127.0.0.1:7860"}
    assert client_of().post("/x", headers=headers).status_code == 200
    assert client_of().post("/x").status_code == 200, "a program that is no browser names no origin"
    with client_of().websocket_connect("/x", headers=headers) as socket:
        assert socket.receive_text() == ""
    client = client_of(Access({"ada": "secret"}), "ada")
    assert client.get("/x").json()["user"] == "ada"
    with client.websocket_connect("/x", headers={"origin": HERE, "host": "127.0.0.1:7860"}) as socket:
        assert socket.receive_text() == "ada"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_can_open_the_page_by_a_link_and_embed_nothing(site: str):
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client_of().get("/?project=blocks", headers=link).status_code == 200
    for path, changed in (("/thumbnail/project/a", {}), ("/", {"sec-fetch-dest": "iframe"}),
                          ("/", {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"})):  # fmt: skip
        assert client_of().get(path, headers=link | changed).status_code == 403


@pytest.mark.parametrize("told", [False, True])
def test_a_proxys_headers_count_only_when_a_proxy_is_allowed(told: bool):
    client = client_of(Access(hosts=("lab.example",) if told else (), behind_proxy=told))
    published = {"x-forwarded-host": "lab.example", "x-forwarded-proto": "https", "x-gradio-server": "http://x"}
    headers = client.get("/", headers=published).json()["headers"]
    assert ("x-forwarded-host" in headers, "x-forwarded-proto" in headers) == (told, told)
    assert "x-gradio-server" not in headers
    for extra in ({}, published, {"host": "lab.example"} if told else {}):
        answer = client.post("/x", headers=extra | {"origin": "https://lab.example"})
        assert answer.status_code == (200 if told else 403)
    foreign = client.get("/", headers={"x-forwarded-host": "evil.example"})
    assert foreign.status_code == (421 if told else 200)


def test_gradios_routes_that_the_page_does_not_use_are_closed():
    for route in ("proxy=http://x", "file=http://x/a", "startup-events", "run/x", "deep_link", "call/x"):
        assert client_of().get(f"/gradio_api/{route}").status_code == 404, route
    assert client_of().get("/gradio_api/file=/tmp/gradio/picture.png").status_code == 200


def test_a_body_is_bounded_in_size_and_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gate, "BODY_BYTES", 1000)
    assert client_of().post("/x", content=b"1" * 1000).json()["size"] == 1000
    assert client_of().post("/x", content=b"1" * 1001).status_code == 413
    assert client_of().post("/x", content=iter([b"1" * 600] * 2)).status_code == 413
    assert client_of().post("/gradio_api/upload", content=b"1" * 1001).status_code == 200
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.01)
    sent = []

    async def never() -> dict:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/x", "raw_path": b"/x", "query_string": b"", "scheme": "http",
             "headers": [(b"host", b"127.0.0.1")], "server": ("127.0.0.1", 7860), "client": None}  # fmt: skip
    run_async(client_of().app(scope, never, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


@pytest.mark.parametrize("path", ["/", "/login", "/config", "/static/studio/loading.js", "/viewer/", "/nowhere"])
def test_no_other_site_can_frame_or_read_an_answer(app: FastAPI, path: str):
    headers = TestClient(app, HERE).get(path).headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN" and headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_login_cookies_are_kept_from_scripts_and_guessing_passwords_is_slowed_down(app: FastAPI):
    client = TestClient(app, HERE)
    answer = client.post("/login", data={"username": "ada", "password": "secret"})
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2 and all("HttpOnly" in cookie and "SameSite=Lax" in cookie for cookie in cookies)
    assert not any("samesite=none" in cookie.lower() for cookie in cookies)
    assert client.get("/config").status_code == 200
    client = TestClient(app, HERE, client=("192.0.2.7", 1))
    answers = [client.post("/login", data={"username": "ada", "password": str(n)}) for n in range(7)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429] * 2
    assert "Try again in" in answers[-1].text and int(answers[-1].headers["retry-after"]) >= 1
    other = TestClient(app, HERE, client=("192.0.2.8", 1))
    assert other.post("/login", data={"username": "ada", "password": "secret"}).status_code == 200


def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)
    config = uvicorn.Config(FastAPI(), port=0, log_level="error", http=connections.PromptProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the server's start")
    address = server.servers[0].sockets[0].getsockname()
    for sent in (b"", b"GET / HTTP/1.1\r\nHost: a\r\n"):
        with socket.create_connection(address, timeout=60) as slow:
            slow.sendall(sent)
            assert slow.recv(1) == b"", "closed by the server"
    server.should_exit = True
    thread.join(30)


def test_the_limit_of_open_files_is_never_lowered():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections.allow_open_files()
    after = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert after[1] == before[1] and (after[0] >= before[0] or after[0] == resource.RLIM_INFINITY)


FILES = {"files": ("frame.png", b"pixels")}


def test_an_upload_lies_in_a_private_folder_and_comes_from_our_own_page(app: FastAPI):
    client, folder = TestClient(app, HERE), app.state.uploads.path
    client.post("/login", data={"username": "ada", "password": "secret"})
    assert Path(gradio_app(app).uploaded_file_dir) == folder, "upload_folder.py needs App.uploaded_file_dir"
    assert client.post("/gradio_api/upload", files=FILES, headers={"origin": "http://127.0.0.1:9"}).status_code == 403
    assert not list(folder.rglob("frame.png"))
    (path,) = client.post("/gradio_api/upload", files=FILES, headers={"origin": HERE}).json()
    assert Path(path).is_relative_to(folder) and Path(path).read_bytes() == b"pixels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_uploads_are_deleted_after_a_day_and_with_the_studio():
    uploads = UploadFolder()
    file = uploads.path / "abc" / "frame.png"
    file.parent.mkdir()
    file.write_bytes(b"pixels")
    changed = file.stat().st_ctime
    assert uploads.remove_old(changed + MAX_AGE - 60) == 0 and file.exists()
    assert uploads.remove_old(changed + MAX_AGE + 60) == 1 and not file.exists()
    assert uploads.remove_old(changed + 3 * MAX_AGE) == 0 and not file.parent.exists()
    assert uploads.path.is_dir()
    uploads = UploadFolder()
    path = uploads.path
    (path / "left.part").write_bytes(b"an upload that was cut off")
    del uploads
    gc.collect()
    assert not path.exists()

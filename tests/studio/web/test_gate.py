"""Who may use the studio: logins, hosts and limits of attempts; and the gate, which lets requests through by them."""

import asyncio
import gc
import os
import resource
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from async_calls import run_async
from fastapi import FastAPI, Request, WebSocket
from fastapi.testclient import TestClient
from offline_studio import offline_services
from served_studio import serving
from starlette.routing import BaseRoute
from starlette.websockets import WebSocketDisconnect

from pipeline.errors import StudioError
from studio.__main__ import main
from studio.accounts.current_user import current_user
from studio.app import build_app
from studio.web import connections, gate, login_limits
from studio.web.access import Access, hostname, is_loopback, read_logins
from studio.web.gate import Gate
from studio.web.login_limits import LoginLimits
from studio.web.static_files import VersionedFiles
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


def test_no_address_answers_under_another_name_to_a_page_of_another_origin_or_without_the_login(app: FastAPI):
    client, tried = TestClient(app, HERE, follow_redirects=False), list(addresses(app.routes))
    assert {"/gradio_api/upload", "/gradio_api/queue/join", "/login", "/project/token/name"} <= {p for _, p in tried}
    for method, path in tried:
        answer = client.request(method, path, headers={"host": "evil.example"})
        assert answer.status_code == 421, (method, path)
        answer = client.request(method, path, headers={"origin": "http://127.0.0.1:3000"})
        assert answer.status_code == 403, (method, path)
    assert "--allow-host" in client.get("/", headers={"host": "evil.example"}).text
    for method, path in tried:
        if path not in gate.PUBLIC_FILES and not path.startswith(gate.PUBLIC):
            answer = client.request(method, path)
            leads_to_login = path == "/" and answer.headers.get("location") == "/login"
            assert leads_to_login or answer.status_code in (401, 404), (method, path)


def test_only_this_machines_own_names_and_the_address_of_this_server_are_hosts_with_any_port():
    for host in (*FOREIGN_HOSTS, *OWN_HOSTS):
        assert client_of().get("/", headers={"host": host}).status_code == (200 if host in OWN_HOSTS else 421)
    access = Access()
    assert access.knows_host("192.0.2.1:7860", "192.0.2.1") and access.knows_host("[2001:db8::1]", "2001:db8::1")
    assert not access.knows_host("192.0.2.2", "192.0.2.1") and not access.knows_host("testserver", "testserver")
    assert not any(map(hostname, ("a b", "a/b", "http://a", "a:b", "a:70000", "[::1", "", "a@b", ":80")))
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "lab", "localhost.example")))


@pytest.mark.parametrize("origin", [None, *FOREIGN_ORIGINS])
def test_a_request_or_a_socket_of_another_origin_is_refused(origin: str | None):
    named = {"origin": origin} if origin is not None else {}
    for method in ("GET", "POST", "DELETE"):
        answer = client_of().request(method, "/x", headers=named)
        assert (answer.status_code == 403 and "only its own pages" in answer.text) is (origin is not None)
    socket = client_of().websocket_connect("/x", headers={"host": "127.0.0.1:7860"} | named)
    with pytest.raises(WebSocketDisconnect), socket:  # unlike a program that is no browser, one names its origin
        pass


def test_the_studios_own_pages_are_answered_for_the_person_who_logged_in():
    headers = {"origin": HERE, "host": "127.0.0.1:7860"}
    for client, user in ((client_of(), ""), (client_of(Access({"ada": "secret"}), "ada"), "ada")):
        assert client.post("/x", headers=headers).json()["user"] == user
        with client.websocket_connect("/x", headers=headers) as socket:
            assert socket.receive_text() == user


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


def test_a_script_that_is_changed_under_the_running_studio_is_not_kept_by_a_browser(tmp_path: Path):
    (tmp_path / "new.js").write_text("")
    app = FastAPI()
    app.mount("/versioned", VersionedFiles(directory=tmp_path))
    assert TestClient(app).get("/versioned/new.js").headers["cache-control"] == "no-cache"


def test_login_cookies_are_kept_from_scripts_and_guessing_passwords_is_slowed_down(app: FastAPI):
    client = TestClient(app, HERE)
    answer = client.post("/login", data={"username": "ada", "password": "secret"})
    (cookie,) = answer.headers.get_list("set-cookie")
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie and "secret" not in cookie
    secure = TestClient(app, "https://lab.example").post("/login", data={"username": "ada", "password": "secret"})
    assert "Secure" in secure.headers["set-cookie"]
    assert client.get("/config").status_code == 200
    client = TestClient(app, HERE, client=("192.0.2.7", 1))
    answers = [client.post("/login", data={"username": "ada", "password": str(n)}) for n in range(7)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429] * 2
    assert "Try again in" in answers[-1].text and int(answers[-1].headers["retry-after"]) >= 1
    other = TestClient(app, HERE, client=("192.0.2.8", 1))
    assert other.post("/login", data={"username": "ada", "password": "secret"}).status_code == 200


def test_a_connection_without_a_request_is_closed_and_the_limit_of_open_files_never_lowered(monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with serving(FastAPI(), http=connections.PromptProtocol) as address:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
            where = ("127.0.0.1", int(address.rpartition(":")[2]))
            with socket.create_connection(where, timeout=60) as slow, suppress(ConnectionError):
                slow.sendall(sent)
                while slow.recv(65536):  # until the server closes it
                    slow.sendall(b"GET")  # a second request that never ends
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections.allow_open_files()
    after = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert after[1] == before[1] and (after[0] >= before[0] or after[0] == resource.RLIM_INFINITY)


FILES = {"files": ("frame.png", b"pixels")}


def test_an_upload_lies_in_a_private_folder_comes_from_our_own_page_and_is_deleted_after_a_day(app: FastAPI):
    client, folder = TestClient(app, HERE), app.state.uploads.path
    client.post("/login", data={"username": "ada", "password": "secret"})
    assert Path(app.routes[-1].app.uploaded_file_dir) == folder, "upload_folder.py needs App.uploaded_file_dir"
    assert client.post("/gradio_api/upload", files=FILES, headers={"origin": "http://127.0.0.1:9"}).status_code == 403
    assert not list(folder.rglob("frame.png"))
    (path,) = client.post("/gradio_api/upload", files=FILES, headers={"origin": HERE}).json()
    assert Path(path).is_relative_to(folder) and Path(path).read_bytes() == b"pixels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
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


def test_a_login_is_given_by_an_option_a_private_file_or_the_environment_else_refused(tmp_path, monkeypatch, capsys):
    file = tmp_path / "logins"
    file.write_text("# the lab\nada:sec:ret\n\nbob:x\n")
    file.chmod(0o600)
    assert read_logins("ada:a:b", file) == {"ada": "a:b"}
    assert read_logins(None, file) == {"ada": "sec:ret", "bob": "x"}
    monkeypatch.setenv("GRS_AUTH", "eve:p")
    assert read_logins(None, None) == {"eve": "p"}
    assert "GRS_AUTH" not in os.environ, "no process that the studio starts inherits the password"
    assert read_logins(None, None) == {}
    file.write_text("ada:secret")
    file.chmod(0o644)
    read_logins(None, file)
    told = capsys.readouterr().err
    assert "chmod 600" in told and "secret" not in told
    for options, words in (
        *((["--host", host], "--auth-file FILE or GRS_AUTH") for host in ("0.0.0.0", "::", "192.0.2.1")),
        (["--workspaces", "own"], "needs logins"),
        (["--allow-host", "http://lab"], "NAME:PORT"),
        (["--auth", "nobody"], "USER:PASS"),
        (["--auth-file", "/nowhere"], "cannot be read"),
    ):
        monkeypatch.delenv("GRS_AUTH", raising=False)
        assert main(options) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and words in line


@pytest.mark.parametrize("text", ["", "ada", "ada:", ":secret", "ada:a\nada:b"])
def test_an_unusable_login_is_one_line_without_the_password(text: str, tmp_path: Path):
    file = tmp_path / "logins"
    file.write_text(text)
    with pytest.raises(StudioError) as raised:
        read_logins(None, file)
    assert "\n" not in str(raised.value) and str(file) in str(raised.value)
    assert "USER:PASS" in str(raised.value) or "twice" in str(raised.value)


def test_a_password_is_accepted_for_its_user_only_and_never_printed():
    with pytest.raises(StudioError, match="upper and lower case"):
        Access({"ada": "a", "Ada": "b"}, own_workspaces=True)
    access = Access({"ada": "secret", "bob": "ünïcode"})
    assert access.accepts("ada", "secret") and access.accepts("bob", "ünïcode")
    assert not any(access.accepts(*pair) for pair in (("ada", "ünïcode"), ("eve", "secret"), ("eve", ""), ("ada", "")))
    assert "secret" not in repr(Access({"ada": "secret"}))


def test_the_wait_doubles_up_to_a_bound_a_success_forgets_its_own_name_and_an_ipv6_network_counts_as_one_address():
    now, waits = [1000.0], []
    limits = LoginLimits(lambda: now[0])
    for _ in range(20):
        if wait := limits.wait("192.0.2.1", "ada"):
            waits.append(wait)
            now[0] += wait
            assert limits.wait("192.0.2.1", "ada") == 0, "after the wait an attempt may be made"
    assert waits[:4] == [1, 2, 4, 8] and max(waits) == login_limits.LONGEST_WAIT
    limits = LoginLimits(lambda: 1000.0)
    for _ in range(4):
        assert not limits.wait("192.0.2.1", "ada")
    limits.succeeded("192.0.2.1", "ada")
    for name in ("ada", "eve"):  # one own login between guesses for another name buys no more of them
        for _ in range(2):
            limits.wait("192.0.2.1", name)
    limits.succeeded("192.0.2.1", "eve")
    assert [limits.wait("192.0.2.1", "ada") for _ in range(4)] == [0, 0, 0, 1]
    assert not limits.wait("192.0.2.2", "ada")
    limits = LoginLimits(lambda: 1000.0)
    waits = [limits.wait(f"2001:db8::{n:x}", "ada") for n in range(1, 8)]
    assert waits[:5] == [0] * 5 and all(waits[5:])


def test_guesses_for_one_name_or_from_many_addresses_have_to_wait_and_cost_bounded_memory():
    limits = LoginLimits(lambda: 1000.0)
    waits = [limits.wait(f"192.0.2.{n}", "ada") for n in range(40)]
    assert waits[:30] == [0] * 30 and all(waits[30:])
    assert not limits.wait("192.0.2.1", "eve")
    now = [1000.0]
    limits = LoginLimits(lambda: now[0])
    waits = [limits.wait(f"198.51.{n // 250}.{n % 250}", str(n)) for n in range(5000)]
    assert sum(wait == 0 for wait in waits) == login_limits.ATTEMPTS_A_MINUTE
    assert len(limits._of_address._attempts) <= login_limits.REMEMBERED >= len(limits._of_name._attempts)
    now[0] += 60
    assert limits.wait("203.0.113.1", "ada") == 0

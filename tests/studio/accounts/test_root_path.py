"""Behind a reverse proxy under a path: page, files, events and links work, and nothing is asked outside it."""

import asyncio
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from page_client import connect, open_page
from people import logged_in, studio_with_people
from starlette.responses import Response

from pipeline.errors import StudioError
from studio.accounts.links import Links
from studio.web.access import Access
from studio.web.static_files import versioned_folder

ROOT = "/lab/grs"
ADDRESS = re.compile(r"""["'`]/(?:static|viewer|project|thumbnail|library|link|set|compare)/""")


@pytest.fixture(
    scope="module",
    params=[pytest.param(True, id="strips the path"), pytest.param(False, id="keeps the path", marks=pytest.mark.soak)],
)
def proxied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    workspace = tmp_path_factory.mktemp("workspace")
    outside: list[str] = []

    def publish(app: Any) -> Any:
        async def proxy(scope: Any, receive: Any, send: Any) -> None:
            path = scope.get("path", ROOT)  # the server's start and end have none
            if not f"{path}/".startswith(f"{ROOT}/"):
                outside.append(path)
                return await Response(status_code=404)(scope, receive, send)
            if request.param and "path" in scope:
                inside = scope["raw_path"].removeprefix(ROOT.encode()) or b"/"
                scope |= {"path": path.removeprefix(ROOT) or "/", "raw_path": inside}
            return await app(scope, receive, send)

        return proxy

    with studio_with_people(workspace, publish, root_path=ROOT, links=Links(workspace)) as studio:
        address = f"{studio.address}{ROOT}"
        yield SimpleNamespace(address=address, outside=outside, workspace=workspace, strips=request.param)


async def test_a_project_is_opened_and_changed_and_no_address_is_outside_the_path(proxied: SimpleNamespace):
    async with logged_in(proxied, "wanda") as http, open_page(http, "one") as page:
        assert page.values["top-bar"]["project"] == "one"
        await page.act("mask-canvas", "decide", {"kind": "display_name", "id": 1, "name": "cup"})
        assert page.values["top-bar"]["decided"] == 1
        assert (await http.get(page.values["mask-canvas"]["image"])).status_code == 200
        answer = await page.ask("mask-canvas", {"token": page.values["mask-canvas"]["token"], "kind": "status"})
        assert "error" not in answer
        root = (await http.get("/config")).json()["root"]
        assert root == proxied.address and proxied.outside == []
        for name, value in page.values.items():
            assert not ADDRESS.search(json.dumps(value)), name
        static = Path(__file__).parents[3] / "static"
        scripts = [path for path in static.rglob("*.js") if "vendor" not in path.parts]
        assert len(scripts) > 60
        for path in scripts:
            address = f"/{versioned_folder()}/{path.relative_to(static).as_posix()}"
            answer = await http.get(address)
            assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/javascript")
            assert not ADDRESS.search(answer.text), (address, ADDRESS.search(answer.text))
            assert "immutable" in answer.headers["cache-control"], "asked for once"


async def test_a_link_leads_to_its_project_and_the_path_without_its_slash_to_the_page(proxied: SimpleNamespace):
    _, token = Links(proxied.workspace).create(proxied.workspace / "two", 1, "wanda")
    async with connect(proxied.address) as http:
        answer = await http.get(f"/link/{token}", follow_redirects=True)
        assert str(answer.url) == f"{proxied.address}/?project=two" and answer.status_code == 200
        assert (await http.get("/account.json")).json()["role"] == "visit"
    async with connect(proxied.address.removesuffix(ROOT)) as http:
        answer = await http.get(ROOT)
        redirect = (answer.status_code, answer.headers["location"])
        assert redirect == ((303, f"{ROOT}/login") if proxied.strips else (308, f"{ROOT}/"))


async def test_who_logs_out_needs_a_login_again_in_every_browser(proxied: SimpleNamespace):
    async with logged_in(proxied, "will") as http, logged_in(proxied, "will") as also, logged_in(proxied, "lou") as lou:
        before = dict(http.cookies)
        answer = await http.get("/logout")
        assert answer.is_redirect and answer.headers["location"] == f"{ROOT}/"
        assert before and not dict(http.cookies)
        http.cookies.update(before)
        for ended in (http, also):
            assert (await ended.get("/config")).status_code == 401
        assert (await lou.get("/config")).status_code == 200
        other_site = {"origin": "https://other.example", "sec-fetch-site": "cross-site"}
        assert (await http.get("/logout", headers=other_site)).status_code == 403


def nginx(documented: str, studio: str, port: int, folder: Path) -> list[str | Path]:
    """Write nginx's configuration as it is documented; return the command that serves it at a port."""
    location = re.findall(r"^location .*?^}", documented, re.M | re.S)[0].replace("/grs/", f"{ROOT}/")
    server = f"server {{ listen 127.0.0.1:{port}; {location.replace('http://127.0.0.1:7860', studio)} }}"
    upgrade = "map $http_upgrade $connection_upgrade { default upgrade; '' close; }"
    paths = " ".join(f"{one}_temp_path {folder};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {paths} {upgrade} {server} }}"
    )
    return ["/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"]


def caddy(documented: str, studio: str, port: int, folder: Path) -> list[str | Path]:
    """As `nginx`, without the certificate that Caddy fetches for a public name."""
    site = re.findall(r"^lab\.example {.*?^}", documented, re.M | re.S)[0].replace("/grs/", f"{ROOT}/")
    site = site.replace("127.0.0.1:7860", studio.removeprefix("http://"))
    server = site.replace("lab.example", f"http://127.0.0.1:{port}")
    (folder / "Caddyfile").write_text(f"{{\nadmin off\n}}\n{server}\n")
    return ["caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]


@pytest.mark.soak
@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_a_proxy_as_it_is_documented_publishes_the_studio_and_no_client_names_its_own_address(proxy, tmp_path):
    documented = (Path(__file__).parents[3] / "docs" / "teams.md").read_text(encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    access = {"root_path": ROOT, "hosts": ("127.0.0.1",), "behind_proxy": True}
    with ExitStack() as stack:
        studio = stack.enter_context(studio_with_people(tmp_path / "workspace", **access))
        process = stack.enter_context(subprocess.Popen(proxy(documented, studio.address, port, tmp_path)))
        stack.callback(process.terminate)
        published = SimpleNamespace(address=f"http://127.0.0.1:{port}{ROOT}")
        async with connect(published.address) as http:
            while True:
                with suppress(httpx.ConnectError):
                    await http.get("/login")
                    break
            claims = [{"x-forwarded-for": f"192.0.2.{n}"} for n in range(7)]
            form = {"username": "lou", "password": "wrong"}
            answers = [await http.post("/login", data=form, headers=claim) for claim in claims]
            assert [answer.status_code for answer in answers] == [400] * 5 + [429] * 2
            await asyncio.sleep(int(answers[-1].headers["retry-after"]))
        async with logged_in(published, "wanda") as http, open_page(http, "one") as page:
            assert page.values["top-bar"]["project"] == "one"


@pytest.mark.parametrize("path", ["grs", "/grs/", "/", "//x", "/a b", "/../x", "http://x/grs", "/a/./b", '/"><script>'])
def test_what_is_no_path_is_refused(path: str):
    with pytest.raises(StudioError, match="--root-path"):
        Access(root_path=path)

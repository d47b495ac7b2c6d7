"""Behind a reverse proxy under a path: page, files, events, sockets and links work, and nothing is asked outside it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from page_client import connect, open_page
from path_proxy import published
from people import logged_in, studio_with_people

from pipeline.errors import StudioError
from studio.accounts.links import Links
from studio.server.access import Access

ROOT = "/lab/grs"
ADDRESS = re.compile(r"""["'`]/(?:static|viewer|project|thumbnail|library|link|set|compare)/""")


@pytest.fixture(
    scope="module",
    params=[pytest.param(True, id="strips the path"), pytest.param(False, id="keeps the path", marks=pytest.mark.soak)],
)
def proxied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    workspace = tmp_path_factory.mktemp("workspace")
    access = {"root_path": ROOT, "links": Links(workspace)}
    with (
        studio_with_people(workspace, **access) as studio,
        published(studio.address, ROOT, strips=request.param) as proxy,
    ):
        yield SimpleNamespace(address=proxy.address, outside=proxy.outside, workspace=workspace, strips=request.param)


async def test_a_project_is_opened_and_changed_and_no_address_is_outside_the_path(proxied: SimpleNamespace):
    async with logged_in(proxied, "wanda") as http, open_page(http, "one") as page:
        assert page.values["top-bar"]["project"] == "one"
        sent = await page.send("mask-canvas", "decide", {"kind": "display_name", "id": 1, "name": "cup"})
        await page.wait(lambda: sent in page.completed)
        assert page.values["top-bar"]["decided"] == 1
        assert (await http.get(page.values["mask-canvas"]["image"])).status_code == 200
        answer = await page.ask("mask-canvas", {"token": page.values["mask-canvas"]["token"], "kind": "status"})
        assert "error" not in answer
        root = (await http.get("/config")).json()["root"]
        assert root == proxied.address
    assert proxied.outside == []
    async with logged_in(proxied, "wanda") as http, open_page(http, "one") as page:
        for name, value in page.values.items():
            assert not ADDRESS.search(json.dumps(value)), name
        static = Path(__file__).parents[3] / "static"
        scripts = [path for path in static.rglob("*.js") if "vendor" not in path.parts]
        assert len(scripts) > 60
        for path in scripts:
            address = f"/static/{path.relative_to(static).as_posix()}"
            answer = await http.get(address)
            assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/javascript")
            assert not ADDRESS.search(answer.text), (address, ADDRESS.search(answer.text))
            again = await http.get(address, headers={"if-none-match": answer.headers["etag"]})
            assert again.status_code == 304


async def test_a_link_leads_to_its_project_and_the_path_without_its_slash_to_the_page(proxied: SimpleNamespace):
    _, token = Links(proxied.workspace).create(proxied.workspace / "two", 1, "wanda")
    async with connect(proxied.address) as http:
        answer = await http.get(f"/link/{token}", follow_redirects=True)
        assert str(answer.url) == f"{proxied.address}/?project=two" and answer.status_code == 200
        assert (await http.get("/account.json")).json()["role"] == "visit"
    async with connect(proxied.address.removesuffix(ROOT)) as http:
        answer = await http.get(ROOT)
        if not proxied.strips:
            assert answer.status_code == 308 and answer.headers["location"] == f"{ROOT}/"


async def test_who_logs_out_needs_a_login_again_in_every_browser(proxied: SimpleNamespace):
    async with (
        logged_in(proxied, "will") as http,
        logged_in(proxied, "will") as other,
        logged_in(proxied, "lou") as lou,
    ):
        before = dict(http.cookies)
        answer = await http.get("/logout")
        assert answer.is_redirect and answer.headers["location"].rstrip("/") == proxied.address
        assert before and not dict(http.cookies)
        http.cookies.update(before)
        for ended in (http, other):
            assert (await ended.get("/config")).status_code == 401
        assert (await lou.get("/config")).status_code == 200
        other_site = {"origin": "https://other.example", "sec-fetch-site": "cross-site"}
        assert (await http.get("/logout", headers=other_site)).status_code == 403


@pytest.mark.parametrize("path", ["grs", "/grs/", "/", "//x", "/a b", "/../x", "http://x/grs", "/a/./b", '/"><script>'])
def test_what_is_no_path_is_refused(path: str):
    with pytest.raises(StudioError, match="--root-path"):
        Access(root_path=path)

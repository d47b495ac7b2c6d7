"""The studio in a real browser, behind a reverse proxy that publishes it under a path."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from browser.app_page import LONG, open_tab, screenshot, tab, wait_until_idle
from browser.studio_process import Studio
from path_proxy import published
from playwright.sync_api import Page, expect

ROOT, SCENE = "/grs", "blocks"


@pytest.fixture(scope="module", params=[True, False], ids=["strips the path", "keeps the path"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The proxy of a studio that was started with --root-path: {address, outside}."""
    running = Studio(tmp_path_factory.mktemp("workspace"), GRS_ROOT_PATH=ROOT)
    with published(running.address, ROOT, strips=request.param) as proxy:
        yield proxy
    running.close()


def test_a_scene_is_opened_and_its_twin_is_shown_with_every_request_below_the_path(proxy: SimpleNamespace, page: Page):
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.on("websocket", lambda socket: addresses.append(socket.url.replace("ws:", "http:", 1)))
    page.goto(f"{proxy.address}/")
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
    wait_until_idle(page)
    open_tab(page, "Scene")
    twin = page.frame_locator("#twin iframe")
    expect(twin.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    for step in ("Masks", "Task", "Review"):
        open_tab(page, step)
        wait_until_idle(page)
    open_tab(page, "Scene")
    screenshot(page, "reverse_proxy")
    assert any("/viewer/" in address for address in addresses)
    assert [address for address in addresses if not address.startswith(("data:", "blob:", f"{proxy.address}/"))] == []
    assert proxy.outside == []

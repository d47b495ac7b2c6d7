"""The studio in a real browser, behind a reverse proxy that publishes it under a path."""

import pytest
from browser.app_page import LONG, open_tab, tab, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import close_app
from path_proxy import published
from playwright.sync_api import Page, expect

ROOT, SCENE = "/grs", "blocks"


@pytest.mark.soak
@pytest.mark.parametrize("strips", [True, False], ids=["strips the path", "keeps the path"])
def test_a_scene_is_opened_and_its_twin_is_shown_with_every_request_below_the_path(
    strips: bool, page: Page, tmp_path_factory: pytest.TempPathFactory
):
    studio = Studio(tmp_path_factory.mktemp("workspace"), GRS_ROOT_PATH=ROOT)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.on("websocket", lambda socket: addresses.append(socket.url.replace("ws:", "http:", 1)))
    with published(studio.address, ROOT, strips=strips) as proxy:
        page.goto(f"{proxy.address}/")
        page.locator(f".gallery [data-name={SCENE}]").first.click()
        expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
        wait_until_idle(page)
        for step in ("Masks", "Task", "Review", "Scene"):
            open_tab(page, step)
            wait_until_idle(page)
        twin = page.frame_locator("#twin iframe").locator("body")
        expect(twin).to_have_attribute("data-state", "showing", timeout=LONG)
        outside = [one for one in addresses if not one.startswith(("data:", "blob:", f"{proxy.address}/"))]
        assert any("/viewer/" in address for address in addresses) and outside == proxy.outside == []
        close_app(page)
    studio.close()

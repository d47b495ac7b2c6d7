"""Buttons that the page replaces while they are pressed.

The model's panel redraws its buttons when the estimate of the cost comes in; here it comes in when a test says so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from browser.app_page import OpenProject
from browser.watched_page import wait_until
from playwright.sync_api import Locator, Page, Route, expect

SCENE = "sizes"
CLICKS = """() => {
    window.clicks = [];
    const note = (event) => window.clicks.push(event.target.closest("button")?.textContent ?? "");
    addEventListener("click", note, true);
}"""


@dataclass(frozen=True)
class EditedPanel:
    """The model's panel with a change that is not applied yet."""

    page: Page
    redraw: Callable[[Locator], None]

    @property
    def discard(self) -> Locator:
        return self.page.locator(".models-panel .foot").get_by_role("button", name="Discard changes")

    @property
    def apply(self) -> Locator:
        return self.page.locator(".models-panel .foot").get_by_role("button", name="Apply")

    @property
    def clicks(self) -> list[str]:
        """The texts of the buttons clicked since the mouse went down."""
        self.page.wait_for_timeout(300)
        return self.page.evaluate("window.clicks")


@pytest.fixture
def panel(project: OpenProject) -> Iterator[EditedPanel]:
    page, held = project.page, list[Route]()

    def hold(route: Route) -> None:
        if "estimate" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    def let_go() -> None:
        while held:
            held.pop().continue_()

    def redraw(control: Locator) -> None:
        element = control.element_handle()
        wait_until(page, lambda: held)
        let_go()
        page.wait_for_function("(element) => !element.isConnected", arg=element)

    page.route("**/component_server/**", hold)
    page.locator(".top-bar button.service").click()
    page.locator(".models-panel input[value=openai]").check()
    edited = EditedPanel(page, redraw)
    expect(edited.discard).to_be_visible()
    page.evaluate(CLICKS)
    yield edited
    let_go()
    page.unroute_all(behavior="wait")


def press(control: Locator) -> None:
    """Put the mouse's left button down on the middle of a control."""
    box = control.bounding_box()
    assert box
    control.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    control.page.mouse.down()


def test_a_button_that_is_replaced_while_it_is_pressed_is_clicked_once(panel: EditedPanel):
    press(panel.discard)
    panel.redraw(panel.discard)
    panel.page.mouse.up()
    expect(panel.discard).to_have_count(0)
    assert panel.clicks == ["Discard changes"]


def test_a_button_that_stays_is_clicked_once(panel: EditedPanel):
    press(panel.discard)
    panel.page.mouse.up()
    expect(panel.discard).to_have_count(0)
    assert panel.clicks == ["Discard changes"]


def test_a_button_that_is_replaced_while_the_space_bar_is_down_is_clicked_once(panel: EditedPanel):
    panel.discard.focus()
    panel.page.keyboard.down(" ")
    panel.redraw(panel.discard)
    panel.page.keyboard.up(" ")
    expect(panel.discard).to_have_count(0)
    assert panel.clicks == ["Discard changes"]


def test_a_press_that_is_let_go_on_another_button_clicks_neither(panel: EditedPanel):
    press(panel.discard)
    panel.redraw(panel.discard)
    box = panel.apply.bounding_box()
    assert box
    panel.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    panel.page.mouse.up()
    assert panel.clicks == []
    expect(panel.discard).to_be_visible()

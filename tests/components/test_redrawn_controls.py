"""Buttons that the page replaces while they are pressed: the top bar's script passes the click on."""

import pytest
from browser.bare_page import Mount
from playwright.sync_api import Page, expect

PANEL = """async () => {
  const { fill, h } = await import("/static/studio/dom.js");
  const panel = document.body.appendChild(document.createElement("p"));
  window.clicks = [];
  window.redraw = (names = ["Discard changes", "Apply"]) =>
    fill(panel, names.map((name) => h("button", { onclick: () => clicks.push(name) }, name)));
  redraw();
}"""


@pytest.fixture
def page(mount: Mount) -> Page:
    """A page with the top bar and a panel of two buttons, which `redraw` replaces."""
    page = mount("", "top-bar").page
    page.evaluate(PANEL)
    return page


def press(page: Page, name: str, **button: str) -> None:
    """Put the mouse down on a button."""
    page.get_by_role("button", name=name).hover()
    page.mouse.down(**button)


def test_a_button_is_clicked_once_whether_or_not_it_is_replaced_under_the_mouse_or_the_space_bar(page: Page):
    for redraws in (False, True):
        press(page, "Discard changes")
        if redraws:
            page.evaluate("redraw()")
        page.mouse.up()
        page.get_by_role("button", name="Apply").focus()
        page.keyboard.down(" ")
        if redraws:
            page.evaluate("redraw()")
        page.keyboard.up(" ")
        expect(page.get_by_role("button", name="Apply")).to_be_focused()
    assert page.evaluate("clicks") == ["Discard changes", "Apply"] * 2


def test_a_press_that_is_let_go_elsewhere_or_on_what_came_instead_clicks_nothing(page: Page):
    press(page, "Discard changes")
    page.evaluate("redraw()")
    page.get_by_role("button", name="Apply").hover()
    page.mouse.up()
    press(page, "Discard changes")
    page.evaluate("redraw(['Delete everything', 'Apply'])")
    page.mouse.up()
    press(page, "Apply", button="right")
    page.evaluate("redraw()")
    page.mouse.up(button="right")
    page.get_by_role("button", name="Apply").focus()
    page.keyboard.down(" ")
    page.evaluate("redraw(['Delete everything'])")
    page.keyboard.up(" ")
    assert page.evaluate("clicks") == []

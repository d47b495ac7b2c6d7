"""The list of objects, the inspector, the table of fits and the bar of the review queue: what they show and send."""

import re
from functools import partial
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import press_buttons, press_keys
from playwright.sync_api import Page, expect

HEAR = """() => {
  window.heard = [];
  const frame = document.createElement("iframe");
  document.body.append(frame);
  frame.contentWindow.addEventListener("message", ({ data }) => window.heard.push(data.name));
}"""
SAY = "(data) => frames[0].parent.postMessage(data, location.origin)"
MOUNT_IN_COLUMN = """async () => {
  document.body.insertAdjacentHTML("beforeend", `<div id="right"></div><div id="steps"><div class="tab-container">
    <button role="tab" aria-selected="true" data-tab-id="scene"></button></div></div>`);
  right.append(inspector);
  const { default: mount } = await import("/static/inspector/script.js");
  mount({ element: inspector.querySelector(".own"), trigger() {} })(JSON.parse(bare.shown("inspector")));
}"""
OPEN_STEP = """(name) => {
  const [tab] = document.querySelectorAll("#steps [role=tab]");
  tab.dataset.tabId = name;
  tab.setAttribute("aria-selected", "true");
}"""


def known(id: int, **facts: Any) -> dict[str, Any]:
    confidence = {"score": 0.5, "level": "sure", "reason": "r", "about": ""}
    plain = {"id": id, "name": f"thing_{id}", "words": f"thing {id}", "caption": "a thing", "colour": "#e69f00"}
    return plain | {"is_object": True, "placed": {}, "confidence": confidence} | facts


@pytest.fixture
def objects(mount: Mount) -> Mounted:
    return mount("stack", "object-list", "inspector", "fit-table").keep_twin()


def names(page: Page) -> list[str]:
    return page.locator(".object-list .row .chip").all_inner_texts()


def test_the_list_keeps_the_order_of_confidence_and_puts_aside_what_is_no_object_of_the_photograph(mount: Mount):
    listed = mount("", "object-list")
    page, scores = listed.page, {1: 0.9, 2: 0.3, 3: 0.6}

    def show(*more: dict[str, Any]) -> None:
        confidence = {"level": "unsure", "reason": "r", "about": ""}
        scored = [known(id, confidence=confidence | {"score": score}) for id, score in scores.items()]
        listed.set_value("object-list", {"token": "t", "objects": [*scored, *more]})

    listed.set_value("object-list", {"token": "t", "objects": [], "waiting": "Segmenting …"})
    expect(page.locator(".object-list")).to_contain_text("Segmenting …")
    show()
    assert names(page) == ["1", "2", "3"]
    page.get_by_label("Lowest confidence first").check()
    assert names(page) == ["2", "3", "1"]
    scores = {1: 0.1, 2: 0.9, 3: 0.6, 4: 0.2}
    marked = known(9, mark="!", mark_note="hidden", asset_label="mug")
    show(known(7, is_brought=True), known(8, is_object=False), marked)
    assert names(page) == ["2", "3", "1", "4", "9", "+", "8"], "the order that is worked through stays"
    expect(page.locator(".object-list .head")).to_have_text(["Objects5", "From the library", "Not objects"])
    expect(page.locator(".object-list .mark")).to_have_attribute("title", "hidden")
    expect(page.locator(".object-list [data-id='9']")).to_have_attribute("title", "thing 9: a thing; matched to mug")
    expect(page.locator(".object-list [data-id='2'] .tag")).to_have_text("?")
    page.get_by_label("Lowest confidence first").uncheck()
    assert names(page)[:4] == ["1", "2", "3", "4"]
    page.get_by_label("Lowest confidence first").check()
    assert names(page)[:4] == ["1", "4", "9", "3"], "chosen again, it sorts again"


def test_a_selection_is_the_same_in_the_list_the_table_the_inspector_and_the_viewers(objects: Mounted):
    page = objects.page
    page.evaluate(HEAR)
    id, name = 2, objects.value("object-list")["objects"][1]["name"]
    page.locator(f".object-list [data-id='{id}']").click()
    expect(page.locator(".fit-table tr.selected")).to_have_attribute("data-id", str(id))
    expect(page.locator(".inspector .title .chip")).to_have_text(str(id))
    page.wait_for_function("(name) => heard.at(-1) === name", arg=name)
    page.locator(".fit-table tr[data-id='3']").click()
    expect(page.locator(".object-list .selected")).to_have_attribute("data-id", "3")
    expect(page.locator(".object-list [aria-pressed=true]")).to_have_count(1)
    page.evaluate(SAY, {"type": "select", "name": name})
    expect(page.locator(".object-list .selected")).to_have_attribute("data-id", str(id))
    page.evaluate("heard.length = 0")
    page.evaluate(SAY, {"type": "loaded"})
    page.wait_for_function("heard.length && heard.at(-1) !== ''")
    page.evaluate(SAY, {"type": "select", "name": ""})
    expect(page.locator(".object-list .selected")).to_have_count(0)
    expect(page.locator(".inspector .empty")).to_contain_text("Select an object")


def test_the_table_says_how_well_each_object_fits(objects: Mounted):
    page, table = objects.page, objects.page.locator(".fit-table")
    rows = objects.value("fit-table")["rows"][:2]
    rows[0] |= {"iou": 0.914, "depth_error": 0.0123, "ok": True, "short": "fits"}
    rows[1] |= dict.fromkeys(("iou", "depth_error", "short", "confidence")) | {"ok": False, "verdict": "not in view"}
    objects.set_value("fit-table", {"rows": rows, "notes": ["Light: from above."], "waiting": ""})
    cells = [page.locator(f".fit-table tr[data-id='{id}'] td").all_inner_texts() for id in (1, 2)]
    assert cells[0][2:] == ["91 % IoU", "1.2 cm error", "✓ fits"]
    assert cells[1][1:] == ["", "", "", "! not in view"]
    expect(table.locator(".note")).to_have_text("Light: from above.")
    objects.set_value("fit-table", {"rows": [], "waiting": "Placing …"})
    expect(table).to_have_text("Placing …")


def test_the_inspector_renames_measures_recolours_and_deletes_an_object(objects: Mounted):
    page, panel, name = objects.page, objects.page.locator(".inspector"), objects.page.locator(".inspector input.name")
    one = objects.value("inspector")["objects"][1]
    page.locator(".object-list [data-id='2']").click()
    size, (x, y, _) = [[f"{100 * one:.1f}" for one in each] for each in (one["size"], one["placed"]["pos"])]
    for text in (" × ".join(size), f"{x} · {y} cm", f"{1000 * one['placed']['mass']:.0f} g", one["fit"]["short"]):
        expect(panel).to_contain_text(text)
    expect(panel).to_contain_text(re.compile(r"yaw-?\d+°"))
    expect(panel.locator(".crop")).to_have_js_property("complete", True)
    name.fill("nothing")
    name.press("Escape")
    expect(name).to_have_value(one["words"])
    name.fill(f" {one['words']} ")
    name.press("Enter")
    assert objects.sent == []
    name.fill("half a na")
    objects.session.log.mark_changed()
    objects.session.decisions.record("display_name", id=1, name="other")
    expect(page.locator(".object-list [data-id='1']")).to_contain_text("other")
    expect(name).to_have_value("half a na")
    name.fill("my thing")
    name.press("Enter")
    expect(page.locator(".object-list [data-id='2']")).to_contain_text("my thing")
    expect(panel.locator(".id")).to_have_text(one["name"])
    press_buttons(panel, "Show it as in the photograph", "Mark as not an object")
    expect(panel.get_by_role("button", name="Mark as object")).to_be_visible()
    press_buttons(panel, "Delete")
    expect(panel.locator(".empty")).to_be_visible()
    objects.wait_until_drawn()
    assert [one["data"].get("value") for one in objects.decisions[2:]] == [True, True, None]
    assert objects.kinds[1:] == ["display_name", "recolour", "not_object", "delete_segment"]


def test_an_object_from_the_library_keeps_its_name_and_a_recoloured_one_says_so(objects: Mounted):
    page, panel = objects.page, objects.page.locator(".inspector")
    objects.answer_event("inspector.decide")  # whose result would replace the test's values
    one = objects.value("inspector")["objects"][0]
    page.locator(".object-list [data-id='1']").click()
    expect(panel).not_to_contain_text("parts")
    placed = one["placed"] | {"recolour": [9, 99, 9], "scale": 1.2, "yaw": -1.5708}
    placed |= {"parts": ["handle", "handle_2", "spout"]}
    facts = {"placed": placed, "moved": True, "warnings": ["It is cut off."]}
    objects.set_value("inspector", {"objects": [one | facts]})
    shown = ("recoloured to the photograph", "120 % of the asset", "-90°", "moved by you", "It is cut off.")
    for text in (*shown, "handle, handle 2, spout"):
        expect(panel).to_contain_text(text)
    printed = facts | {"placed": placed | {"printed": True, "recolour": None}}
    objects.set_value("inspector", {"objects": [one | printed]})
    expect(panel).to_contain_text("the photograph's print where it is seen")
    panel.get_by_role("button", name="Use the asset's own look").click()
    assert objects.sent == [("decide", {"kind": "recolour", "id": 1, "value": False})]
    objects.set_value("inspector", {"objects": [known(1, is_brought=True, placed=None)]})
    expect(panel.locator("input.name")).to_be_disabled()
    expect(panel.get_by_role("button", name="Delete")).to_have_count(0)


def test_the_inspector_collapses_on_steps_about_the_task_until_a_person_opens_it(objects: Mounted):
    page, column, toggle = objects.page, objects.page.locator("#right"), objects.page.locator(".inspector .collapse")
    page.evaluate(MOUNT_IN_COLUMN)
    open_step = lambda name: page.evaluate(OPEN_STEP, name)  # noqa: E731
    show = lambda: press_buttons(page, "Show the inspector")  # noqa: E731
    for act, is_open in (
        (lambda: None, True), (toggle.click, False), (toggle.click, True), (lambda: open_step("task"), False),
        (show, True), (lambda: [open_step("scene"), open_step("review")], True),
    ):  # fmt: skip
        act()
        expect(toggle).to_have_attribute("aria-expanded", str(is_open).lower())
        expect(column).to_have_class(re.compile("^(?!.*collapsed)" if is_open else "collapsed"))


START = "async (names) => (await import('/static/studio/review_state.js')).startReview(names)"


def test_a_frame_is_reviewed_by_keys_alone_its_least_sure_object_first(mount: Mount):
    mounted = mount("stack", "object-list", "task-text", "review-queue")
    page, bar = mounted.page, mounted.page.locator(".review-queue")
    order = [one["id"] for one in mounted.value("review-queue")["objects"]]
    item, where = bar.locator(".item"), bar.locator(".where")

    def expect_object(id: int) -> None:
        expect(bar.locator(".chip")).to_have_text(str(id))
        expect(page.locator(f".object-list [data-id='{id}']")).to_have_class(re.compile("selected"))

    press = partial(press_keys, page)
    mounted.answer_event("review-queue.open")
    press("a")
    assert not mounted.sent  # no queue runs
    page.evaluate(START, [mounted.name, "next"])
    expect(where).to_have_text("Review 1 of 2")
    expect_object(order[0])
    expect(item).to_contain_text("66 % confidence")
    press("a")
    expect_object(order[1])
    press("r", "Enter", "Escape", "r")
    expect(bar.get_by_label("Reason for the rejection")).to_be_focused()
    page.keyboard.type("wrong colour, a")
    press("Enter")
    expect_object(order[2])
    press("f", "a", "s")  # while it is corrected, the keys are those of the page
    expect(bar).to_contain_text("Back to the review")
    expect(page).to_have_url(re.compile("step=masks"))
    press("q")
    expect(page).to_have_url(re.compile("step=objects"))
    expect_object(order[2])
    press("s")
    expect_object(order[3])
    for _ in range(3):
        page.keyboard.down("a")  # held: the key repeats
    page.keyboard.up("a")
    expect_object(order[4])
    press("a")
    expect(item).to_contain_text("The frame as a whole3 of 5 objects accepted, 1 rejected")
    expect(bar.locator(".fill")).to_have_attribute("style", "width: 0%;")
    mounted.wait_until_drawn()
    mounted.session.decisions.undo()  # the last object is asked for again
    expect_object(order[4])
    press("a", "r")
    expect(bar.get_by_label("Reason for the rejection")).to_have_value("wrong colour, a")
    press("Escape", "a")
    expect(where).to_have_text("Review 2 of 2")
    expect(bar.get_by_role("button", name="Continue the review")).to_be_visible()  # the next frame is not open yet
    reviews = [one["data"] for one in mounted.decisions if one["kind"] == "review"]
    verdicts = [(one.get("id"), one["verdict"], one.get("reason", "")) for one in reviews]
    said = [(order[0], "accepted", ""), (order[1], "rejected", "wrong colour, a"), (order[2], "skipped", "")]
    said += [(order[3], "accepted", ""), (order[4], "accepted", ""), (order[4], "accepted", "")]
    assert verdicts == [*said, (None, "accepted", "")] and mounted.json("curation.json")["verdict"] == "accepted"
    opened = [message for name, message in mounted.sent if name == "open"]
    assert opened == [{"kind": "project", "name": "next"}]


def test_the_queue_leads_on_and_back_and_ends_with_its_verdicts(mount: Mount):
    mounted = mount("stack", "review-queue")
    page, bar = mounted.page, mounted.page.locator(".review-queue")
    for name in ("open", "review", "home"):
        mounted.answer_event(f"review-queue.{name}")
    value = mounted.value("review-queue")

    def show(project: str, reviews: int = 0) -> None:
        mounted.set_value("review-queue", value | {"project": project, "frame_reviews": reviews})

    page.evaluate(START, ["a", "b"])
    show("a")
    expect(bar).to_contain_text("Review 1 of 2")
    page.keyboard.press("Shift+S")
    expect(bar.get_by_role("button", name="Accept")).to_be_disabled()  # until the verdict is recorded
    page.keyboard.press("a")
    show("a", reviews=1)
    show("b")
    expect(bar).to_contain_text("Review 2 of 2")
    expect(page).to_have_url(re.compile("step=objects"))
    press_buttons(bar, re.compile("^Previous"))
    expect(bar).to_contain_text("Review 1 of 2")
    press_buttons(bar, "Continue the review")
    show("a", reviews=1)
    page.keyboard.press("Shift+R")
    page.keyboard.type("blurred")
    page.keyboard.press("Enter")
    show("a", reviews=2)
    show("b")
    bar.get_by_role("button", name="Accept").click(modifiers=["Shift"])
    show("a", reviews=2)  # a late value of the former frame
    show("b")
    expect(bar.get_by_role("button", name="Accept")).to_be_disabled()
    show("b", reviews=1)
    expect(bar).to_contain_text("Review finished: 1 accepted, 1 rejected, 1 skipped.")
    events = [f"{name} {message.get('verdict') or message.get('name')}" for name, message in mounted.sent]
    wanted = ["open a", "review skipped", "open b", "open a", "open a", "review rejected", "open b", "review accepted"]
    assert events == [*wanted, "home None"]
    assert all(message["id"] is None for name, message in mounted.sent if name == "review")

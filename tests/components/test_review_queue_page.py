"""The bar of the review queue alone in a page: objects and frames are reviewed by keys, the least sure first."""

import re

from browser.bare_page import Mount
from playwright.sync_api import expect

START = "async (names) => (await import('/static/studio/review_state.js')).startReview(names)"


def test_a_frame_is_reviewed_by_keys_alone_its_least_sure_object_first(mount: Mount):
    mounted = mount("sizes", "object-list", "task-text", "review-queue")
    page, bar = mounted.page, mounted.page.locator(".review-queue")
    order = [one["id"] for one in mounted.value("review-queue")["objects"]]
    item, where = bar.locator(".item"), bar.locator(".where")

    def expect_object(id: int) -> None:
        expect(bar.locator(".chip")).to_have_text(str(id))
        expect(page.locator(f".object-list [data-id='{id}']")).to_have_class(re.compile("selected"))

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    mounted.answer_event("review-queue", "open")
    press("a")
    assert not mounted.sent  # no queue runs
    page.evaluate(START, [mounted.name, "next"])
    expect(where).to_have_text("Review 1 of 2")
    expect_object(order[0])
    expect(item).to_contain_text("67 % confidence")
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
    mounted = mount("sizes", "review-queue")
    page, bar = mounted.page, mounted.page.locator(".review-queue")
    for name in ("open", "review", "home"):
        mounted.answer_event("review-queue", name)
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
    bar.get_by_role("button", name="Previous").click()
    expect(bar).to_contain_text("Review 1 of 2")
    bar.get_by_role("button", name="Continue the review").click()
    show("a", reviews=1)
    page.keyboard.press("Shift+R")
    page.keyboard.type("blurred")
    page.keyboard.press("Enter")
    show("a", reviews=2)
    show("b")
    bar.get_by_role("button", name="Accept").click(modifiers=["Shift"])
    show("b", reviews=1)
    expect(bar).to_contain_text("Review finished: 1 accepted, 1 rejected, 1 skipped.")
    events = [(name, message.get("verdict") or message.get("name")) for name, message in mounted.sent]
    opened, reviewed = ("open", "review")
    assert events == [
        (opened, "a"), (reviewed, "skipped"), (opened, "b"), (opened, "a"), (opened, "a"), (reviewed, "rejected"),
        (opened, "b"), (reviewed, "accepted"), ("home", None),
    ]  # fmt: skip
    assert all(message["id"] is None for name, message in mounted.sent if name == reviewed)
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    assert page.evaluate("sessionStorage.getItem('studioReview')") is None

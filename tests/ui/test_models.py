"""A model is chosen, watched, and survived in the real page: from the panel to the worst servers there are."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Studio
from playwright.sync_api import Page, expect
from test_studio import settled, shot

from tests.models import hostile
from tests.models.hostile import Hostile

SCENE = "sizes"
KEY = "sk-known-to-nobody"


def kind_of(handler: Any) -> str:
    form = handler.asked.get("response_format") or {}
    return form.get("json_schema", {}).get("name", "")


def honest(handler: Any, pause: float = 0.0) -> None:
    """A model that sees a mug in everything, and has one idea of what to do with it."""
    words = json.dumps(handler.asked["messages"])
    task = {"name": "tidy_up", "instruction": "Push the first thing aside.", "goals": ["it is aside"], "kind": ""}
    said: dict[str, Any] = {
        "describe_segment": {
            "is_object": True, "name": "red_mug", "caption": "a red mug", "colour": "red", "material": "",
            "text": "", "confidence": 0.9,
        },
        "choose_match": {"choice": 0, "reason": "none is a mug", "confidence": 0.9},
        "propose_tasks": {"tasks": [task | {"objects": re.findall(r'name\\+": \\+"(\w+)', words)[:1]}]},
    }.get(kind_of(handler), {"ok": True})  # fmt: skip
    hostile.answer(json.dumps(said), pause=pause)(handler)


def fails_on_tasks(case: str):
    """That case for the proposals, honest answers else."""

    def behave(handler: Any) -> None:
        (hostile.CASES[case] if kind_of(handler) == "propose_tasks" else honest)(handler)

    return behave


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with Hostile(honest) as running:
        yield running


def use(page: Page, server: Hostile, **fields: str) -> None:
    """Through the panel, as a person would."""
    page.locator(".top-bar button.service").click()
    panel = page.locator(".models-panel")
    panel.locator("input[value=openai]").check()
    panel.locator("summary").click() if not panel.locator("details[open]").count() else None
    for name, value in {"base_url": server.url, "model": "some-model", **fields}.items():
        panel.locator(f"input[name={name}]").fill(value)
    panel.get_by_role("button", name="Use this").click()
    expect(panel.get_by_role("status")).to_contain_text("In use from now on")
    page.keyboard.press("Escape")
    settled(page)


def strip(page: Page):
    return page.locator(".failures .row")


def test_a_server_is_tried_and_used_and_its_key_stays_on_the_server(studio: Studio, page: Page, server: Hostile):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").click()
    expect(page.locator(".object-list .row").nth(2)).to_be_visible()
    settled(page)
    page.locator(".top-bar button.service").click()
    panel = page.locator(".models-panel")
    panel.locator("input[value=openai]").check()
    panel.locator("input[name=base_url]").fill(server.url)
    panel.locator("input[name=key]").fill(KEY)
    shot(page, "models_0_panel")
    panel.get_by_role("button", name="Test connection").click()
    expect(panel.locator(".findings li").first).to_contain_text("reachable")
    expect(panel.locator(".findings .spin")).to_have_count(0)
    shot(page, "models_1_tested")
    page.keyboard.press("Escape")
    use(page, server, key=KEY, timeout="3", retries="0", give_up_after="1000")
    expect(page.locator(".top-bar button.service")).to_contain_text("some-model")
    assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    page.locator(".top-bar button.service").click()
    expect(panel.locator("input[name=key]")).to_have_value("")
    expect(panel).to_contain_text("In this server's memory only")
    page.keyboard.press("Escape")
    assert KEY not in page.content()
    assert not [f for f in studio.workspace.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def test_a_call_is_read_with_its_pictures_and_compared(page: Page):
    expect(page.locator(".object-list .row").first).to_contain_text("red_mug")
    page.locator(".status-bar .calls").click()
    view = page.locator(".trace-view")
    rows = view.locator(".call", has_text="What is it?")
    rows.first.click()
    expect(view.locator(".facts")).to_contain_text("30 in, 4 out")
    expect(view.locator(".facts")).to_contain_text("unknown")
    view.get_by_role("tab", name="Pictures").click()
    expect(view.locator("figure img")).to_have_count(2)
    shot(page, "models_2_pictures")
    view.get_by_role("tab", name="Parsed").click()
    expect(view.locator("pre")).to_contain_text('"red_mug"')
    view.get_by_role("button", name="Compare with").click()
    rows.nth(1).click()
    expect(view).to_contain_text("The two answers are the same")
    page.keyboard.press("Escape")


def test_a_prompt_is_edited_and_asked_again(page: Page, server: Hostile):
    page.locator(".status-bar .calls").click()
    view = page.locator(".trace-view")
    view.locator(".call", has_text="What is it?").first.click()
    view.get_by_role("button", name="Edit and ask again").click()
    view.locator("textarea").fill("Say what this is, in my own words.")
    view.get_by_role("button", name="Ask", exact=True).click()
    expect(view.locator(".call", has_text="What is it? again")).to_have_count(1)
    expect(view.locator(".heading .tag")).to_contain_text("answered")
    assert any("in my own words" in json.dumps(asked["messages"]) for asked in server.asked)
    page.keyboard.press("Escape")
    settled(page)


@pytest.mark.parametrize(
    ("case", "told", "raw"),
    [
        ("a script tag and terminal codes", "cannot be used", "<script>document.title='owned'</script>\\x1b[31mred"),
        ("a 20 MB reply", "MB|within 3 s", "word word"),  # cut off by its size, on a slow machine by the time
        ("resets mid-stream", "broke off", '{"colour": "re'),
        ("500s in a row", "500", "The server had an error"),
        ("HTML instead of JSON", "does not speak the OpenAI API", "Welcome to nginx"),
        ("truncated JSON", "cannot be used", '{"colour": "red", "su'),
        ("stalls mid-stream", "3 s", '{"colour": "re'),
    ],
)
def test_a_failure_is_one_line_with_its_raw_reply_a_click_away(
    page: Page, server: Hostile, case: str, told: str, raw: str
):
    server.behave(fails_on_tasks(case))
    server.cut_off.clear()
    if strip(page).count():
        strip(page).get_by_role("button", name="Retry", exact=True).click()
    else:
        page.locator(".status-bar .calls").click()
        page.locator(".trace-view .call", has_text="Propose tasks").last.click()
        page.locator(".trace-view").get_by_role("button", name="Edit and ask again").click()
        page.locator(".trace-view").get_by_role("button", name="Ask", exact=True).click()
        page.keyboard.press("Escape")
    expect(strip(page).locator(".error")).to_contain_text(re.compile(told))
    settled(page)
    assert "\n" not in strip(page).locator(".error").inner_text()
    strip(page).get_by_role("button", name="Raw reply").click()
    expect(page.locator(".trace-view .page")).to_contain_text(raw)
    shot(page, f"models_3_{re.sub(r'[^a-z0-9]+', '_', case.lower())}")
    page.keyboard.press("Escape")
    assert "owned" not in page.title()
    expect(page.locator(".object-list .row").first).to_contain_text("red_mug")


def test_a_retry_that_is_answered_settles_it(page: Page, server: Hostile):
    server.behave(honest)
    strip(page).get_by_role("button", name="Retry", exact=True).click()
    expect(strip(page)).to_have_count(0)
    settled(page)
    page.get_by_role("tab", name=re.compile("^Task")).click()
    expect(page.locator(".task-cards")).to_contain_text("Push the first thing aside.")


def test_one_object_is_settled_by_hand_and_the_others_by_one_retry(page: Page, server: Hostile):
    server.behave(lambda handler: (hostile.html if kind_of(handler) == "describe_segment" else honest)(handler))
    use(page, server, model="another-model")
    head = page.locator(".failures .head")
    expect(head).to_contain_text("5 questions to the model failed")
    head.click()
    shot(page, "models_4_failures")
    strip(page).nth(0).get_by_role("button", name="Use the measured answer").click()
    expect(strip(page)).to_have_count(4)
    strip(page).nth(0).get_by_role("button", name="Skip this object").click()
    expect(strip(page)).to_have_count(3)
    settled(page)
    expect(page.locator(".object-list .other")).to_have_count(1)
    server.behave(honest)
    strip(page).nth(0).get_by_role("button", name="Retry", exact=True).click()
    expect(strip(page)).to_have_count(0)  # whoever failed is asked again with it
    settled(page)


def test_a_project_is_replayed_from_its_own_record_without_asking_anybody(page: Page, server: Hostile):
    asked = len(server.asked)
    names = page.locator(".object-list .row").all_inner_texts()
    page.locator(".top-bar button.service").click()
    panel = page.locator(".models-panel")
    panel.locator("input[value=replay]").check()
    panel.get_by_role("button", name="This project's").click()
    panel.get_by_role("button", name="Use this").click()
    expect(panel.get_by_role("status")).to_contain_text("In use from now on")
    shot(page, "models_5_replay")
    page.keyboard.press("Escape")
    expect(page.locator(".top-bar button.service")).to_contain_text("replay of")
    settled(page)
    assert page.locator(".object-list .row").all_inner_texts() == names
    assert len(server.asked) == asked

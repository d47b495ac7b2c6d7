"""The model settings, prompts, calls, failures and the consent to send, alone in a page with a model's server."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import offline_studio
import pytest
from browser.axe import findings
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio, views_of
from browser.watched_page import expect_texts, press_buttons, wait_until
from playwright.sync_api import Locator, Page, expect
from ready_projects import ready_project

from tests.models import hostile
from tests.models.hostile import HostileServer, honest, kind_of

SCENE, KEY = "stack", "sk-known-to-nobody"
OPEN = """async ([page, call]) => {
  const drawer = await import("/static/studio/drawer.js");
  call ? drawer.openCalls(call) : drawer.openDrawer(page);
}"""
DRAWER = """() => {
  const drawer = Object.assign(document.createElement("div"), { id: "models", style: "flex-direction: column" });
  drawer.append(...document.querySelectorAll("#models-panel, #trace-view"));
  document.querySelector("#bare").append(drawer);
}"""
"""Puts the pages of the drawer into it, as the studio's page does."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    """A studio of its own, for the model in use is that of all projects."""
    with bare_studio(tmp_path_factory.mktemp("workspace")) as running:
        yield running


@pytest.fixture(scope="module")
def running_server() -> Iterator[HostileServer]:
    with HostileServer(honest) as running:
        running.models = ["some-model"]
        yield running


@pytest.fixture
def server(studio: BareStudio, running_server: HostileServer) -> Iterator[HostileServer]:
    """The model's server, honest at first. Afterwards the offline rules are in use again."""
    running_server.behave(honest)
    yield running_server
    use(studio, service="offline")


def use(studio: BareStudio, **settings: Any) -> None:
    """Use this model, and ask it about all projects that are open."""
    shown = views_of(studio.shell)["models-panel"]
    record = shown.make(None)
    changes = {"model": "some-model", "timeout": 3, "retries": 0, "give_up_after": 1000} | settings
    request = {"kind": "use", "scope": "all", "page_token": record["page_token"]}
    answer = shown.component.answer(request | {"settings": record["settings"] | changes})
    assert "error" not in answer


@pytest.fixture(scope="module")
def described_folder(studio: BareStudio, running_server: HostileServer, tmp_path_factory: Any) -> Path:
    """A project that the model has described and proposed tasks for, not to be changed."""
    shutil.copytree(ready_project(SCENE), studio.workspace / SCENE)
    session = studio.shell.sessions.open(SCENE)
    use(studio, service="openai", base_url=running_server.url)
    offline_studio.wait_until(lambda: session.idle, "descriptions and tasks")
    studio.shell.sessions.take_out(SCENE, lambda: None)
    return Path(shutil.move(studio.workspace / SCENE, tmp_path_factory.mktemp("described")))


@pytest.fixture
def described(studio: BareStudio, described_folder: Path, server: HostileServer, page: Page) -> Iterator[Mounted]:
    """A copy of that project with the model in use: its calls, its failures and its objects."""
    name = f"described_{len(list(studio.workspace.iterdir()))}"
    shutil.copytree(described_folder, studio.workspace / name)
    use(studio, service="openai", base_url=server.url)
    mounted = studio.mount(page, name, "models-panel", "trace-view", "failures", "object-list")
    page.evaluate(DRAWER)
    yield mounted
    mounted.close()


def open_drawer(page: Page, name: str = "", **call: Any) -> Locator:
    page.evaluate(OPEN, [name, call or None])
    return page.locator(".trace-view" if call or name == "calls" else ".models-panel")


def test_a_server_is_tested_and_used_and_its_key_leaves_the_page(mount: Mount, server: HostileServer):
    mounted = mount("", "models-panel")
    page = mounted.page
    page.evaluate(DRAWER)
    asked = mounted.answer("models-panel", {})
    panel = open_drawer(page, "model")
    status, key = panel.get_by_role("status"), panel.locator("input[name=key]")
    expect(panel.get_by_role("tab", name="Model")).to_be_focused()
    expect(panel.get_by_role("button", name="In use")).to_be_disabled()
    expect(panel.locator("input[name=base_url]")).to_be_hidden()
    panel.locator("input[value=openai]").check()
    for name, value in {"base_url": server.url, "key": KEY, "model": "some-model"}.items():
        panel.locator(f"input[name={name}]").fill(value)
    press_buttons(panel, "Test connection")
    expect(panel.locator(".findings li").first).to_contain_text("✓reachable")
    expect(panel.locator(".findings .spin")).to_have_count(0)
    assert not findings(page)
    panel.locator("summary").click()
    saved = mounted.studio.workspace / "model.json"
    for wanted in ("propose_tasks understand_task write_program repair_simulation repair_checks", "all"):
        panel.locator("input[name='picture route']").click()
        press_buttons(panel, "Apply")
        expect(status).to_contain_text("In use")
        assert json.loads(saved.read_text())["pictures_for"] == wanted
        mounted.wait_until_drawn()
    assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    assert "key" not in [one for one in asked if one["kind"] == "use"][-1]
    assert KEY not in saved.read_text() + page.content()
    expect(key).to_have_value("")
    expect(panel).to_contain_text("In server memory only")
    press_buttons(panel, "Forget")
    expect(status).to_contain_text("The key is forgotten.")
    panel.locator("input[name=model]").fill("another")
    press_buttons(panel, "Discard changes")
    expect(panel.locator("input[name=model]")).to_have_value("some-model")
    panel.locator("input[name=timeout]").fill("-1")
    press_buttons(panel, "Apply")
    expect(panel.get_by_role("alert")).to_contain_text("timeout")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_a_prompt_is_changed_compared_with_the_built_in_one_and_put_back(mount: Mount):
    page = mount("", "models-panel").page
    page.evaluate(DRAWER)
    editor = open_drawer(page, "prompts").locator(".prompts")
    editor.locator("[data-kind=choose_match]").click()
    heading, field = editor.locator(".prompt-head"), editor.locator("textarea")
    expect(heading).to_contain_text("Match the object")
    expect(editor.get_by_role("button", name="Save copy")).to_be_disabled()
    text = field.input_value()
    field.fill("{{nothing}}")
    expect(heading).to_contain_text("Unsaved")
    press_buttons(editor, "Save copy")
    expect(editor.locator("p.fault")).to_contain_text("nothing")
    field.fill(f"{text}Be brief.\n")
    press_buttons(editor, "Save copy")
    for shown in (heading, editor.locator("[data-kind=choose_match]")):
        expect(shown).to_contain_text("Modified")
    press_buttons(editor, "Show changes")
    expect_texts(editor, {"code.now": ["Be brief."], "code.none": 1})  # of the built-in prompt
    press_buttons(editor, "Reset to built-in")
    expect(heading).to_contain_text("Built-in")
    expect(field).to_have_value(text)


def test_a_call_is_shown_with_its_pictures_compared_and_asked_again(described: Mounted, server: HostileServer):
    page, view = described.page, open_drawer(described.page, "calls")
    questions = view.locator(".call", has_text="Describe the object")
    questions.first.click()
    expect(view.locator(".facts")).to_contain_text("30 in, 4 out")
    view.get_by_role("tab", name="Pictures").click()
    expect(view.locator("figure img")).to_have_count(2)
    assert not findings(page)
    view.get_by_role("tab", name="Parsed").click()
    expect(view.locator("pre")).to_contain_text('"red_mug"')
    view.get_by_role("button", name="Compare with").click()
    questions.nth(1).click()
    expect(view).to_contain_text("The two responses are the same")
    before = questions.count()
    questions.last.click()
    press_buttons(view, "Edit and resend")
    view.locator("textarea").fill("Say what this is, in my own words.")
    press_buttons(view, "Send")
    expect(questions).to_have_count(before + 1)
    expect(view.locator(".call.on")).to_contain_text("Describe the object retry")
    expect(view.get_by_role("tab", name="Response")).to_have_attribute("aria-selected", "true")
    expect(view.locator(".heading .tag")).to_contain_text("answered")
    assert any("in my own words" in json.dumps(body["messages"]) for body in server.requests)


def test_failed_objects_show_replies_as_text_and_are_resolved_by_hand_or_by_one_retry(described: Mounted, server: Any):
    page, rows, fails = described.page, described.page.locator(".failures .row"), hostile.answer(hostile.NASTY)
    server.behave(lambda handler: (fails if kind_of(handler) == "describe_segment" else honest)(handler))
    use(described.studio, service="openai", base_url=server.url, model="another-model")
    head = page.locator(".failures .head")
    expect(head).to_contain_text("5 model calls failed")
    expect(rows).to_have_count(0)
    head.click()
    expect(rows.first.locator(".error")).to_contain_text("cannot be used")
    press_buttons(rows.first, "Show response")
    expect(page.locator(".trace-view .page")).to_contain_text("<script>document.title='owned'</script>\\x1b[31mred")
    page.keyboard.press("Escape")
    assert page.title() == "Bare page"
    for button, left in (("Use the measured answer", 4), ("Skip this object", 3)):
        press_buttons(rows.first, button)
        expect(rows).to_have_count(left)
    expect(page.locator(".object-list .non-object")).to_have_count(1)
    rows.first.get_by_role("button", name="Edit").click()
    expect(page.locator(".trace-view textarea")).to_be_focused()
    page.keyboard.press("Escape")
    described.wait_until_drawn()  # what was decided asks the failed ones again
    server.behave(honest)
    rows.first.get_by_role("button", name="Retry", exact=True).click()
    expect(rows).to_have_count(0)  # the others are retried with it
    assert described.kinds == ["use_measured", "not_object", "ask_again"]


def test_a_project_is_replayed_from_its_record_without_any_call(described: Mounted):
    page, objects = described.page, described.page.locator(".object-list .row")
    lines = lambda: map(json.loads, (described.folder / "trace.jsonl").read_text().splitlines())  # noqa: E731
    ended = lambda: [line for line in lines() if line["event"] == "end"]  # noqa: E731
    names, before = objects.all_inner_texts(), len(ended())
    panel = open_drawer(page, "model")
    expect(panel.locator(".side")).to_contain_text("Estimated cost")
    panel.locator("input[value=replay]").check()
    press_buttons(panel, "Use this project", "Apply")
    choices = panel.get_by_role("group", name="Ask this model about").get_by_role("button")
    expect(choices).to_have_text(["This project", "New questions only", "Cancel"])
    press_buttons(panel, "Cancel", "Apply", "This project")
    expect(panel.get_by_role("status")).to_contain_text("It is asked about 1 project.")
    described.wait_until_drawn()
    assert objects.all_inner_texts() == names
    assert len(ended()) > before and all(call["replayed"] for call in ended()[before:])


def test_before_the_first_call_a_dialog_shows_what_is_sent_and_it_can_be_declined(
    mount: Mount, studio: BareStudio, server: HostileServer
):
    priced = {"usd_per_million_in": 2, "usd_per_million_out": 8}  # so it is no local server
    use(studio, service="openai", base_url=server.url, **priced)
    asked = len(server.requests)
    mounted = mount(SCENE, "models-panel", "sending")
    page, address = mounted.page, server.url.removesuffix("/v1")
    page.evaluate(DRAWER)
    dialog, line = page.locator("#sending dialog"), page.locator("#sending .line")
    for text in (address, "some-model", "roughly $"):
        expect(dialog).to_contain_text(text)
    expect(dialog.locator("section")).to_have_count(5)
    expect(dialog.locator("section", has_text="One object alone").locator("img")).to_have_count(len(mounted.masks))
    dialog.locator("summary").click()
    expect(dialog.locator("pre")).to_be_visible()
    assert not findings(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    mounted.set_value("sending", mounted.value("sending"))
    expect(dialog).to_be_hidden()  # it opens by itself once
    press_buttons(line, "Review and decide")
    dialog.get_by_role("button", name="Do not send").click()
    expect(line).to_be_hidden()
    mounted.wait_until_drawn()
    assert mounted.decisions[-1]["data"] == {"server": address, "allow": False} and len(server.requests) == asked
    mounted.answer_event("sending.decide")
    panel = open_drawer(page, "model")
    expect(panel.locator(".sending")).to_contain_text("Offline rules answer")
    panel.locator(".sending").get_by_role("button", name="Review").click()
    expect(dialog).to_contain_text("Now: not sent")
    press_buttons(dialog, "Send")
    wait_until(page, lambda: len(mounted.sent) == 2)
    assert mounted.sent[-1] == ("decide", {"address": address, "allow": True})


def call(id: str, **facts: Any) -> dict[str, Any]:
    one = {"id": id, "title": f"Call {id}", "about": "", "state": "answered", "is_retry": False, "seconds": 1.0}
    return one | {"error": ""} | facts


def test_the_list_of_calls_says_how_each_went_and_what_all_cost(mount: Mount):
    mounted = mount(SCENE, "trace-view")
    page, view = mounted.page, mounted.page.locator(".trace-view")
    page.evaluate(DRAWER)
    open_drawer(page, "calls")
    detail = {"messages": [], "input": {"text": "{}", "of": 9000, "link": "x"}, "examples": [], "pictures": []}
    detail |= {"pictured": 2, "attempts": [], "parsed": None, "raw": None, "model": "m", "offline": False, "at": ""}
    detail |= {"tokens": [None, 1234], "cost": None, "version": "", "editable": "", "askable": False, "snippets": True}
    live = {"running": True, "text": "half an ans"}
    state = lambda _: {"running": live["running"], "reply": None if live["running"] else {"text": "all", "of": 3}}  # noqa: E731
    answers = {"call": lambda one: detail | state(one), "live": lambda _: live, "snippet": {"text": "import openai"}}
    asked = mounted.answer("trace-view", answers)
    some, none = {"sum": 1204, "known": 2, "missing": 1}, {"sum": 0.0, "known": 0, "missing": 2}
    unanswered = call("i", state="interrupted", seconds=None)
    calls = [call("a", seconds=0.05), call("f", state="failed", seconds=75.0), unanswered]
    objects = {"stage": "descriptions", "title": "Descriptions", "groups": [{"about": "object 1", "calls": calls}]}
    running = call("r", state="running", seconds=None, about="x")
    task = {"stage": "task", "title": "Task", "groups": [{"about": "", "calls": [running]}]}
    totals = {"calls": 4, "failed": 1, "tokens": some, "cost": none, "seconds": some | {"sum": 165.0, "missing": 0}}
    value = {"token": mounted.value("trace-view")["token"], "stages": [objects, task], "totals": totals}
    mounted.set_value("trace-view", value)
    expect(view.locator(".totals")).to_have_text("4 calls1 failedtokens 1,204 + 1 unknowncost unknowntime 2 min 45 s")
    expect(view.locator(".call")).to_have_text(["✓Call a50 ms", "✕Call f75 s", "!Call i?", "◐Call r…"])
    widths = view.locator(".call .fill").evaluate_all("all => all.map((one) => one.style.width)")
    assert widths == ["2%", "100%", "2%", "2%"]
    press_buttons(view, "Failed (2)")
    expect(view.locator(".call")).to_have_text(["✕Call f75 s", "!Call i?"])
    press_buttons(view, "All")
    view.locator(".stage").first.click()
    expect(view.locator(".call")).to_have_text(["◐Call r…"])
    view.locator(".call").click()
    expect(view.locator("pre.live")).to_have_text("half an ans")
    live["running"] = False
    expect(view.locator(".page pre")).to_have_text("all")
    page.evaluate(OPEN, ["", {"about": "x"}])
    expect(view.get_by_role("button", name="x", exact=True)).to_have_class(re.compile("on"))
    page.evaluate(OPEN, ["", {"id": "a", "tab": "Prompt"}])
    expect(view.locator(".facts")).to_have_text("modelmtokens? in, 1,234 outcostunknowntime50 ms")
    expect(view.locator(".cut")).to_contain_text("First 2 of 9,000 characters. Download all")
    view.get_by_role("tab", name="Pictures (2)").click()
    expect(view.locator(".page")).to_have_text("2 pictures sent; not stored in the record.")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press_buttons(view, re.compile("^Compare with"), "Cancel", "Copy as code")
    expect(view.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "import openai"
    assert [one["id"] for one in asked if one["kind"] == "call"] == ["r", "r", "r", "a"]
    mounted.set_value("trace-view", value | {"token": "another project"})
    expect(view.locator(".detail")).to_have_text("Select a call to see its prompt and response.")

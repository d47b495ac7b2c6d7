"""A model is chosen, watched and survived in the real page: from the panel to the worst servers."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import LONG, OpenProject, open_copy, open_tab, rows, screenshot, stop_work, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import close_app
from playwright.sync_api import Locator, Page, expect

from tests.models import hostile
from tests.models.honest import honest, kind_of
from tests.models.hostile import HostileServer

SCENE = "sizes"
KEY = "sk-known-to-nobody"
MODEL = "some-model"
LIMITS = {"timeout": "3", "retries": "0", "give_up_after": "1000"}


def fails_on(kind: str, fault: Callable[[Any], None]) -> Callable[[Any], None]:
    """A model that has a fault in its answers to one kind of question and is honest in all others."""
    return lambda handler: (fault if kind_of(handler) == kind else honest)(handler)


@pytest.fixture(scope="module")
def running_server() -> Iterator[HostileServer]:
    with HostileServer(honest) as running:
        yield running


@pytest.fixture
def server(running_server: HostileServer) -> HostileServer:
    """The model's server, honest at first."""
    running_server.behave(honest)
    running_server.cut_off.clear()
    return running_server


@pytest.fixture(scope="module")
def described_project(
    studio: Studio,
    ready_project: Path,
    browser_page: Page,
    running_server: HostileServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A copy of the folder of a project that the model has described and proposed tasks for."""
    made = open_copy(studio, browser_page, ready_project)
    use_model(browser_page, running_server)
    expect(rows(browser_page).first).to_contain_text("red mug", timeout=LONG)
    close_app(browser_page)
    return Path(shutil.copytree(made.folder, tmp_path_factory.mktemp("described") / SCENE))


@pytest.fixture
def described(studio: Studio, described_project: Path, page: Page, server: HostileServer) -> Iterator[OpenProject]:
    """A project that the model has described, open in the page, with that model in use."""
    opened = open_copy(studio, page, described_project)
    if MODEL not in service(page).inner_text():
        use_model(page, server)
    yield opened
    stop_work(page)


def service(page: Page) -> Locator:
    """The top bar's button with the model in use; it opens the panel."""
    return page.locator(".top-bar button.service")


def panel(page: Page) -> Locator:
    return page.locator(".models-panel")


def calls(page: Page) -> Locator:
    """The drawer's page with the model calls."""
    return page.locator(".trace-view")


def failures(page: Page) -> Locator:
    """The lines of failed calls above the status bar."""
    return page.locator(".failures .row")


def use_model(page: Page, server: HostileServer, **fields: str) -> None:
    """Choose a model of the server in the panel and wait until its answers are in."""
    service(page).click()
    panel(page).locator("input[value=openai]").check()
    if not panel(page).locator("details[open]").count():
        panel(page).locator("summary").click()
    for name, value in {"base_url": server.url, "model": MODEL, **LIMITS, **fields}.items():
        panel(page).locator(f"input[name={name}]").fill(value)
    panel(page).get_by_role("button", name="Apply").click()
    expect(panel(page).get_by_role("status")).to_contain_text("In use")
    page.keyboard.press("Escape")
    wait_until_idle(page)


def toggle_picture(page: Page, kind: str) -> None:
    """Send the photograph along with one more or one less kind of question."""
    service(page).click()
    panel(page).locator(f"input[name='picture {kind}']").click()
    panel(page).get_by_role("button", name="Apply").click()
    expect(panel(page).get_by_role("status")).to_contain_text("In use")
    page.keyboard.press("Escape")
    wait_until_idle(page)


def resend(page: Page, title: str, text: str | None = None) -> None:
    """Edit the prompt of the last call with this title and send it again."""
    page.locator(".status-bar .calls").click()
    calls(page).locator(".call", has_text=title).last.click()
    calls(page).get_by_role("button", name="Edit and resend").click()
    if text:
        calls(page).locator("textarea").fill(text)
    calls(page).get_by_role("button", name="Send", exact=True).click()


def test_a_server_is_tested_and_used_and_its_key_stays_there(
    studio: Studio, project: OpenProject, server: HostileServer
):
    page = project.page
    service(page).click()
    panel(page).locator("input[value=openai]").check()
    panel(page).locator("input[name=base_url]").fill(server.url)
    panel(page).locator("input[name=key]").fill(KEY)
    screenshot(page, "models_0_panel")
    panel(page).get_by_role("button", name="Test connection").click()
    expect(panel(page).locator(".findings li").first).to_contain_text("reachable")
    expect(panel(page).locator(".findings .spin")).to_have_count(0, timeout=LONG)
    screenshot(page, "models_1_tested")
    page.keyboard.press("Escape")
    use_model(page, server, key=KEY)
    expect(service(page)).to_contain_text(MODEL)
    saved = studio.workspace / "model.json"
    for expected in ("propose_tasks understand_task write_program repair_simulation repair_checks", "all"):
        toggle_picture(page, "route")
        assert json.loads(saved.read_text())["pictures_for"] == expected
    assert any(KEY in headers.get("authorization", "") for headers in server.headers)
    service(page).click()
    expect(panel(page).locator("input[name=key]")).to_have_value("")
    expect(panel(page)).to_contain_text("In server memory only")
    page.keyboard.press("Escape")
    assert KEY not in page.content()
    assert not [f for f in studio.workspace.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def test_a_call_is_shown_with_its_pictures_and_compared(described: OpenProject):
    page = described.page
    page.locator(".status-bar .calls").click()
    view = calls(page)
    questions = view.locator(".call", has_text="Describe the object")
    questions.first.click()
    expect(view.locator(".facts")).to_contain_text("30 in, 4 out")
    expect(view.locator(".facts")).to_contain_text("unknown")
    view.get_by_role("tab", name="Pictures").click()
    expect(view.locator("figure img")).to_have_count(2)
    screenshot(page, "models_2_pictures")
    view.get_by_role("tab", name="Parsed").click()
    expect(view.locator("pre")).to_contain_text('"red_mug"')
    view.get_by_role("button", name="Compare with").click()
    questions.nth(1).click()
    expect(view).to_contain_text("The two responses are the same")


def test_a_prompt_is_edited_and_sent_again(described: OpenProject, server: HostileServer):
    page = described.page
    page.locator(".status-bar .calls").click()
    before = calls(page).locator(".call", has_text="Describe the object").count()
    page.keyboard.press("Escape")
    resend(page, "Describe the object", "Say what this is, in my own words.")
    expect(calls(page).locator(".call", has_text="Describe the object")).to_have_count(before + 1)
    expect(calls(page).locator(".call", has_text="Describe the object retry")).to_have_count(1)
    expect(calls(page).locator(".heading .tag")).to_contain_text("answered")
    assert any("in my own words" in json.dumps(body["messages"]) for body in server.requests)
    page.keyboard.press("Escape")
    wait_until_idle(page)


@pytest.mark.parametrize(
    ("case", "message", "raw"),
    [
        ("a script tag and terminal codes", "cannot be used", "<script>document.title='owned'</script>\\x1b[31mred"),
        ("a 20 MB reply", "MB|within 3 s", "word word"),  # cut off by its size, on a slow machine by the time
        ("resets mid-stream", "closed the connection in the middle", '{"colour": "re'),
        ("500s in a row", "500", "The server had an error"),
        ("HTML instead of JSON", "does not speak the OpenAI API", "Welcome to nginx"),
        ("truncated JSON", "cannot be used", '{"colour": "red", "su'),
        ("stalls mid-stream", "3 s", '{"colour": "re'),
    ],
)
def test_a_failure_is_one_line_with_its_reply_one_click_away(
    described: OpenProject, server: HostileServer, case: str, message: str, raw: str
):
    page = described.page
    server.behave(fails_on("propose_tasks", hostile.CASES[case]))
    resend(page, "Propose tasks")
    page.keyboard.press("Escape")
    expect(failures(page).locator(".error")).to_contain_text(re.compile(message), timeout=LONG)
    wait_until_idle(page)
    assert "\n" not in failures(page).locator(".error").inner_text()
    failures(page).get_by_role("button", name="Show response").click()
    expect(calls(page).locator(".page")).to_contain_text(raw)
    screenshot(page, f"models_3_{re.sub(r'[^a-z0-9]+', '_', case.lower())}")
    page.keyboard.press("Escape")
    assert "owned" not in page.title()
    expect(rows(page).first).to_contain_text("red mug")


def test_a_retry_that_is_answered_resolves_a_failure(described: OpenProject, server: HostileServer):
    page = described.page
    server.behave(fails_on("propose_tasks", hostile.html))
    resend(page, "Propose tasks")
    page.keyboard.press("Escape")
    expect(failures(page)).to_have_count(1, timeout=LONG)
    server.behave(honest)
    failures(page).get_by_role("button", name="Retry", exact=True).click()
    expect(failures(page)).to_have_count(0, timeout=LONG)
    wait_until_idle(page)
    open_tab(page, "Task")
    expect(page.locator(".task-cards")).to_contain_text("Push the first thing aside.")


def test_failed_objects_are_resolved_by_hand_or_by_one_retry(described: OpenProject, server: HostileServer):
    page = described.page
    server.behave(fails_on("describe_segment", hostile.html))
    use_model(page, server, model="another-model")
    head = page.locator(".failures .head")
    expect(head).to_contain_text("5 model calls failed", timeout=LONG)
    head.click()
    screenshot(page, "models_4_failures")
    failures(page).nth(0).get_by_role("button", name="Use the measured answer").click()
    expect(failures(page)).to_have_count(4, timeout=LONG)
    failures(page).nth(0).get_by_role("button", name="Skip this object").click()
    expect(failures(page)).to_have_count(3, timeout=LONG)
    wait_until_idle(page)
    expect(page.locator(".object-list .non-object")).to_have_count(1)
    server.behave(honest)
    failures(page).nth(0).get_by_role("button", name="Retry", exact=True).click()
    expect(failures(page)).to_have_count(0, timeout=LONG)  # the others are retried with it
    wait_until_idle(page)


def ended_calls(project: OpenProject) -> list[dict[str, Any]]:
    """The end lines of the project's trace."""
    lines = (json.loads(line) for line in (project.folder / "trace.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == "end"]


def test_a_project_is_replayed_from_its_record_without_any_call(described: OpenProject):
    page, before = described.page, len(ended_calls(described))
    names = rows(page).all_inner_texts()
    service(page).click()
    panel(page).locator("input[value=replay]").check()
    panel(page).get_by_role("button", name="Use this project").click()
    panel(page).get_by_role("button", name="Apply").click()
    expect(panel(page).get_by_role("status")).to_contain_text("In use")
    screenshot(page, "models_5_replay")
    page.keyboard.press("Escape")
    expect(service(page)).to_contain_text("replay of")
    wait_until_idle(page)
    assert rows(page).all_inner_texts() == names
    replayed = ended_calls(described)[before:]
    assert replayed and all(call["replayed"] for call in replayed)


def test_before_the_first_call_a_dialog_shows_what_is_sent_and_it_can_be_declined(
    project: OpenProject, server: HostileServer
):
    page, asked = project.page, len(server.requests)
    dialog = page.locator("#sending dialog")
    line = page.locator("#sending .line")
    use_model(page, server, usd_per_million_in="2", usd_per_million_out="8")  # it costs, so it is no local server
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text(server.url.removesuffix("/v1"))
    expect(dialog).to_contain_text(MODEL)
    expect(dialog).to_contain_text("roughly $")
    expect(dialog.locator("section")).to_have_count(4, timeout=LONG)
    expect(dialog.locator("section", has_text="One object alone").locator("img")).to_have_count(len(project.masks))
    screenshot(page, "sending_0_dialog")
    dialog.locator("summary").click()
    dialog.locator("pre").scroll_into_view_if_needed()
    screenshot(page, "sending_3_text")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    screenshot(page, "sending_1_later")
    line.get_by_role("button", name="Review and decide").click()
    dialog.get_by_role("button", name="Do not send").click()
    expect(line).to_be_hidden()
    expect(service(page)).to_contain_text(f"rules ({MODEL} not asked)")
    expect(rows(page).first).not_to_contain_text("red mug")
    assert project.decisions[-1]["data"] == {"server": server.url.removesuffix("/v1"), "allow": False}
    assert len(server.requests) == asked
    service(page).click()
    expect(panel(page).locator(".sending")).to_contain_text("Offline rules answer")
    screenshot(page, "sending_2_panel")
    panel(page).locator(".sending").get_by_role("button", name="Review").click()
    dialog.get_by_role("button", name="Send", exact=True).click()
    page.keyboard.press("Escape")
    expect(rows(page).first).to_contain_text("red mug", timeout=LONG)
    use_model(page, server, usd_per_million_in="", usd_per_million_out="")

"""The bars above and below every page: undo and redo, who edits, what is lost on the way, what works, and the log."""

import re
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import PAGE_LOGS, expect_texts, press_keys
from playwright.sync_api import Page, WebSocketRoute, expect

from studio.pages import page_channel, page_shell
from studio.web.jobs import Job, Listing

PROJECT = {
    "ready": True, "services": [], "project": "stack", "title": "My table", "saved": "saved 20:42", "reached": "task",
    "editor": "", "decided": 1, "can_undo": True, "can_redo": True,
    "undo": "task: put it left", "redo": "rename",
}  # fmt: skip
LOOKER = {"user": "Ann", "role": "look", "refused": [], "editors": ["status-bar.stop"]}
WORKER = LOOKER | {"role": "work"}


def sent(mounted: Mounted) -> list[str]:
    return [name for name, _ in mounted.take_sent()]


def test_undo_and_redo_name_their_step_until_it_is_recorded_and_the_bar_names_the_project_and_services(mount: Mount):
    mounted = mount("", "top-bar", "task-text")
    page, bar = mounted.page, mounted.page.locator(".top-bar")
    mounted.set_value("top-bar", PROJECT)
    undo, redo = (bar.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    expect(undo).to_have_attribute("title", "Undo task: put it left (Ctrl Z)")
    expect(redo).to_have_attribute("title", "Redo rename (Ctrl Shift Z)")
    undo.click()
    expect(bar.locator(".pending")).to_have_text("Undoing task: put it left …")
    expect(undo).to_have_attribute("aria-busy", "true")
    mounted.set_value("top-bar", PROJECT | {"saved": "saved 20:43"})  # of something else
    expect(undo).to_have_attribute("aria-busy", "true")
    mounted.set_value("top-bar", PROJECT | {"decided": 2, "can_redo": False})
    expect(undo).to_have_attribute("aria-busy", "false")
    expect(redo).to_be_disabled()
    press_keys(page, "Control+z", "Control+Shift+Z")  # nothing to redo
    page.locator("#task-text textarea").press("Control+z")  # of what is typed
    page.locator("#task-text textarea").blur()
    mounted.set_value("top-bar", PROJECT | {"decided": 3, "can_undo": False})
    press_keys(page, "Control+z", "Control+Shift+Z")
    expect(bar.locator(".pending")).to_have_text("Redoing rename …")
    mounted.set_value("top-bar", PROJECT | {"decided": 3, "can_redo": False})  # nothing to redo after all
    expect(bar.locator(".pending")).to_have_count(0)
    assert sent(mounted) == ["undo", "undo", "redo"]

    mounted.set_value("top-bar", {"ready": True, "services": [], "project": None})
    expect_texts(bar, {".history": 0, ".learn-button": 0})  # the gallery
    services = [{"what": "segmenter", "name": "SAM 2", "live": True, "note": "Outlines come from it."}]
    services.append({"what": "model", "name": "rules", "live": False, "note": "Offline.", "opens": "model"})
    mounted.set_value("top-bar", PROJECT | {"services": services})
    expect(bar.get_by_role("heading", name="My table")).to_be_visible()
    expect(page).to_have_title("My table · GRS Studio")
    expect(page).to_have_url(re.compile("project=stack&step=task$"))
    expect_texts(bar, {".service": ["●segmenter SAM 2", "○model rules"], "button.service": ["○model rules"]})
    bar.get_by_role("button", name="GRS Studio").click()
    assert sent(mounted) == ["home"]
    mounted.set_value("top-bar", {"ready": True, "services": [], "project": None})
    expect(page).to_have_title("GRS Studio")
    expect(bar.locator(".log-out")).to_have_count(0)


@pytest.mark.parametrize(
    ("account", "editor", "why"),
    [(LOOKER, "Bob", "View only: your role is to look."), (WORKER, "Bob", "Bob is editing. You look until you"),
     (WORKER, "Ann", "")],
)  # fmt: skip
def test_who_may_not_edit_now_is_told_why_and_may_take_over_if_the_role_allows(
    mount: Mount, page: Page, account: dict[str, Any], editor: str, why: str
):
    page.route("**/account.json", lambda route: route.fulfill(json=account), times=1)
    mounted = mount("", "top-bar", "status-bar")
    mounted.set_value("status-bar", {"running": True, "message": ""})
    mounted.set_value("top-bar", PROJECT | {"editor": editor})
    expect(page.locator("div.editing")).to_contain_text(why)
    expect(page.locator("div.editing")).to_be_visible(visible=bool(why))
    expect(page.get_by_role("button", name="Undo")).to_be_enabled(enabled=not why)
    take_over = page.get_by_role("button", name="Take over")
    expect(take_over).to_have_count(int(account is WORKER and editor == "Bob"))
    assert page.locator(".stop").evaluate("stop => stop.inert") is (editor == "Bob")
    expect(page.get_by_role("link", name="Log out")).to_have_attribute("title", "End all logins of Ann")
    if take_over.count():
        take_over.click()
        assert sent(mounted) == ["take_over"]


def test_a_lost_server_is_announced_and_what_is_done_meanwhile_is_sent_once_when_it_is_back(mount: Mount, page: Page):
    sockets: list[WebSocketRoute] = []
    refused = [False]

    def carry(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.close() if refused[0] else socket.connect_to_server()

    page.route_web_socket("**/channel/**", carry)
    mounted = mount("stack", "object-list", "inspector", "top-bar", page=page).keep_twin()
    page.evaluate("window.isOld = true")
    banner, name = page.locator(".connection-lost"), page.locator(".inspector input.name")
    page.locator(".object-list [data-id='1']").click()
    expect(banner).to_be_hidden()
    refused[0] = True
    page.route("**/act", lambda route: route.abort())
    sockets[-1].close()
    name.fill("my thing")
    name.press("Enter")
    expect(banner).to_contain_text("The studio does not answer")
    page.get_by_role("button", name="Compare").click(trial=True)  # what the line would cover is in reach
    assert mounted.kinds == []
    refused[0] = False
    page.unroute("**/act")
    expect(page.locator(".object-list [data-id='1']")).to_contain_text("my thing")
    expect(banner).to_be_hidden()
    assert mounted.kinds == ["display_name"] and page.evaluate("window.isOld")
    page.evaluate("bare.channel.takeUpdate({ values: {}, scripts: 'others' })")  # as a newer studio has them
    page.wait_for_function("() => !window.isOld && window.bare?.channel?.isSettled()")
    log = PAGE_LOGS[page]
    log.errors = [error for error in log.errors if "ERR_FAILED" not in error and "WebSocket" not in error]


def test_a_page_goes_on_when_the_studio_was_started_again_and_says_what_may_not_be_done(
    mount: Mount, page: Page, monkeypatch: pytest.MonkeyPatch
):
    sockets: list[WebSocketRoute] = []
    page.route_web_socket("**/channel/**", lambda socket: sockets.append(socket) or socket.connect_to_server())
    mounted = mount("stack", "object-list", "inspector", "top-bar", page=page).keep_twin()
    page.evaluate("window.isOld = true")
    page.locator(".object-list [data-id='2']").click()
    page.locator(".inspector input.name").fill("first thing")
    page.locator(".inspector input.name").press("Enter")
    mounted.wait_until_drawn()
    page.locator(".object-list [data-id='1']").click()
    page.route("**/act", lambda route: route.abort())
    page.evaluate("bare.channel.send('top-bar', 'undo')")  # nobody knows whether this came through
    page.wait_for_function("() => !bare.channel.isConnected()")
    page.locator(".inspector input.name").fill("my thing")
    page.locator(".inspector input.name").press("Enter")
    for module in (page_channel, page_shell):
        monkeypatch.setattr(module, "STUDIO", "another")
    mounted.studio.shell.pages._pages.clear()
    page.unroute("**/act")
    sockets[-1].close()
    expect(page.locator(".object-list [data-id='1']")).to_contain_text("my thing")
    mounted.wait_until_drawn()
    assert mounted.kinds == ["display_name"] * 2 and page.evaluate("window.isOld")
    expect(page.locator(".notice-list, .notices")).to_contain_text("see whether it is done")
    log = PAGE_LOGS[page]
    log.errors = [error for error in log.errors if not re.search("ERR_FAILED|WebSocket|409", error)]


# The status bar


def test_work_shows_how_far_it_is_stops_on_request_and_the_bar_guides_to_the_next_step_once_it_is_drawn(mount: Mount):
    mounted = mount("", "status-bar")
    page, bar = mounted.page, mounted.page.locator(".status-bar")
    work = {"running": True, "message": "Scene · settling", "done": 3, "of": 4, "calls": "2 calls"}
    mounted.set_value("status-bar", work)
    texts = ["■ Stop", "", "", "3 of 4", "Scene · settling", "", "2 calls", "Log (0)", ""]
    expect(bar.locator(".now > :not([hidden])")).to_have_text(texts)
    expect(bar.locator(".fill")).to_have_attribute("style", "width: 75%;")
    bar.get_by_role("button", name="Stop").click()
    mounted.set_value("status-bar", {"running": True, "stopping": True, "message": "Scene"})
    expect(bar.locator(".message")).to_have_text("Stopping …")
    expect(bar.get_by_role("button", name="Stop")).to_be_disabled()
    log = [{"at": "20:01", "text": "renamed", "kind": "person", "by": "Ann"}]
    log.append({"at": "20:02", "text": "Scene", "kind": "stage", "by": ""})
    mounted.set_value("status-bar", {"running": False, "message": "Ready", "log": log})
    expect(bar.locator(".spin")).to_have_count(0)
    bar.get_by_role("button", name="Log (2)").click()
    expect(bar.locator(".log .line")).to_have_text(["20:01Ann: renamed", "20:02Scene"])
    bar.get_by_role("button", name="Hide log").click()
    expect(bar.locator(".log")).to_be_hidden()
    for state, text in (("confined", "Programs confined"), ("agreed", "⚠ Programs not confined")):
        mounted.set_value("status-bar", {"protection": {"state": state, "title": "why"}})
        expect(bar.locator(".protection")).to_have_text(text)
        expect(bar.locator(".agree")).to_be_hidden()
    mounted.set_value("status-bar", {"protection": {"state": "refused", "title": "why", "question": "Sure?"}})
    expect(bar.locator(".protection.missing")).to_have_text("⚠ Programs not confined: refused")
    bar.get_by_role("button", name="Run unconfined").click()
    assert sent(mounted) == ["stop", "agree"]
    mounted.add_tabs(scene="scene ✓ Done", task="task ○ Not started")
    guide = {"scene": {"note": "Every object fits.", "next": "task", "title": "Task"}}
    record = {"running": False, "message": "Solved", "guide": guide}
    mounted.set_value("status-bar", record | {"states": {"scene": "✓ Done", "task": "✓ Done"}})
    expect_texts(bar, {".note": "Every object fits.", ".message": ""})
    page.evaluate("document.querySelector('[data-tab-id=task]').textContent = 'task ✓ Done'")
    expect(bar.locator(".message")).to_have_text("Solved")
    bar.get_by_role("button", name="Next: Task").click()
    expect(page.locator("[aria-selected=true]")).to_have_text("task ✓ Done")
    expect(bar.locator(".next")).to_be_hidden()
    expect(bar.locator(".note")).to_have_text("")


def test_every_page_lists_what_runs_also_after_a_reload_and_stops_it(mount: Mount, page: Page):
    mounted = mount("", "top-bar")
    button, rows = page.get_by_role("button", name="1 job"), page.locator(".jobs-list .job")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_text("? shows and hides this list.")
    page.keyboard.press("?")
    expect(button).to_be_hidden()
    job = Job("job", lambda job: job.stop_event.wait(60), listing=Listing("export", lambda: "Export of mugs")).start()
    expect(button).to_be_visible()
    page.reload()
    mounted.wait_until_drawn()
    button.click()
    job.done, job.of, job.message = 1, 4, "at mug 1"
    expect(rows).to_contain_text("at mug 1")
    assert rows.locator("progress").evaluate("bar => [bar.value, bar.max]") == [1, 4]
    rows.get_by_role("button", name="Stop").click()
    expect(rows).to_have_count(0)
    assert job.state == "stopped"

"""The gallery alone in a page: the board's projects are found, judged, deleted and brought back; its panels and
batches."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import drop_files
from browser.axe import findings
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio
from browser.watched_page import expect_texts, press_buttons, press_keys, wait_for_request, wait_until
from playwright.sync_api import Locator, Route, expect

from bench.planted_projects import plant_projects


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    workspace = tmp_path_factory.mktemp("board")
    plant_projects(workspace, 70)
    with bare_studio(workspace) as running:
        yield running


@pytest.fixture
def gallery(mount: Mount) -> Mounted:
    return mount("", "gallery")


@pytest.fixture
def board(gallery: Mounted) -> Locator:
    board = gallery.page.locator(".board")
    board.get_by_role("button", name="Table").click()
    return board


def name_of(number: int) -> str:
    return f"frame_{number:05}"


def project(board: Locator, number: int) -> Locator:
    return board.locator(".project").filter(has=board.page.locator(f"[data-name={name_of(number)}]"))


def search(board: Locator, words: str, count: int) -> None:
    board.get_by_label("Search projects").fill(words)
    expect(board.locator(".project")).to_have_count(count)


def bar(board: Locator) -> Locator:
    return board.locator(".board-bar")


def panel(board: Locator, name: str) -> Locator:
    board.locator(".board-tools").get_by_role("button", name=name, exact=True).click()
    return board.locator(".board-panel")


def record(**facts: Any) -> dict[str, Any]:
    new = {"name": "a", "title": "A", "about": "just now", "when": "just now", "at": "2026-01-02 03:04", "image": ""}
    new |= {"state": "started", "stages": "dtt", "steps": "Frame: Done\nMasks: Not started", "objects": None}
    new |= {"confidence": None, "matched": None, "task": "", "solved_by": "", "seconds": 0}
    return new | {"verdict": "", "reason": "", "by": "", "tags": []} | facts


def show(gallery: Mounted, *projects: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Draw the gallery with these projects and no others; return its value."""
    value = gallery.value("gallery") | {"projects": projects, "total": len(projects), "all": len(projects)} | more
    gallery.set_value("gallery", value, held=True)
    return value


def test_a_row_and_a_card_say_what_is_known_of_a_project(gallery: Mounted, board: Locator):
    known = {"state": "solved", "stages": "ddf", "objects": 7, "confidence": 0.594, "matched": 0.857}
    judged = {"verdict": "rejected", "reason": "cut off", "by": "ada", "tags": ["wet"], "solved_by": "Panda"}
    known |= {"task": "Push it.", "seconds": 3900, "when": "2 days ago", **judged}
    second = record(name="b", title="B", confidence=0.6, seconds=720)
    show(gallery, record(**known), second, record(name="c", seconds=45))
    rows = board.locator("tr.project")
    cells = ["", "", "Awet", "Solved", "7", "59 %", "86 %", "Panda", "1 h 5 min", "Rejected", "2 days ago"]
    assert rows.first.locator("td").all_text_contents() == cells
    assert rows.nth(1).locator("td").all_text_contents()[4:10] == ["–", "60 %", "–", "–", "12 min", "–"]
    assert rows.nth(2).locator("td").nth(8).text_content() == "45 s"
    expect_texts(board, {"td.low": ["59 %"], ".count": "3 projects"})
    expect(rows.first.locator(".steps i")).to_have_class(["d", "d", "f"])
    assert rows.first.get_by_role("img").get_attribute("aria-label") == "Frame: Done, Masks: Not started"
    assert rows.first.locator(".verdict").get_attribute("title") == "cut off · ada"
    board.get_by_role("button", name="Cards").click()
    expect(board.locator(".project").first).to_contain_text("Ajust nowRejectedwet")
    show(gallery)
    expect(board.locator(".board-head")).to_be_hidden()


def test_search_and_filters_narrow_the_board_until_they_are_cleared(gallery: Mounted, board: Locator):
    asked = gallery.answer("gallery", {})
    state, tag = board.get_by_label("State"), board.get_by_label("Tag", exact=True)
    counts = "Solved (4), Doubtful (0), Not solved (0), Failed (17), Twin ready (22), In progress (27)"
    expect(state.locator("option")).to_have_text(["Any state", *counts.split(", ")])
    expect(board.get_by_label("Verdict").locator("option").last).to_have_text("No verdict (43)")
    expect(board.get_by_role("button", name="Clear filters")).to_be_hidden()
    state.select_option("failed")
    expect(board.locator(".count")).to_have_text("17 of 70 projects")
    tag.select_option("lab")
    search(board, "00064", 1)
    wait_for_request(gallery.page, asked, words="00064", state="failed", tag="lab", offset=0)
    gallery.set_value("gallery", gallery.value("gallery") | {"outdated": False})  # the gallery is shown again
    expect(board.locator(".count")).to_have_text("1 of 70 projects")
    board.get_by_label("Search projects").fill("nothing of that name")
    expect(board).to_contain_text("No project matches.")
    expect(tag).to_have_value("lab")  # although no project found has it
    board.get_by_role("button", name="Clear filters").click()
    expect(board.locator(".count")).to_have_text("70 projects")
    expect(board.get_by_label("Search projects")).to_be_focused()
    gallery.page.evaluate("dispatchEvent(new Event('focus'))")
    wait_for_request(gallery.page, asked, refresh=True)
    held: list[Route] = []
    is_old = lambda route: (route.request.post_data_json or {}).get("words") == "old"  # noqa: E731
    gallery.page.route("**/bare/ask/gallery", lambda route: held.append(route) if is_old(route) else route.continue_())
    board.get_by_label("Search projects").fill("old")
    wait_until(gallery.page, lambda: held)
    search(board, name_of(5), 1)  # the answer to the older search is dropped
    old = gallery.value("gallery") | {"projects": [record()], "total": 1}
    with gallery.page.expect_response("**/bare/ask/gallery"):
        held[0].fulfill(json=old)
    gallery.page.evaluate("() => 0")
    assert board.locator("[data-name]").evaluate_all("all => all.map((one) => one.dataset.name)") == [name_of(5)]


def test_a_column_sorts_by_itself_then_the_other_way_and_projects_are_grouped(gallery: Mounted, board: Locator):
    objects = board.locator("th", has_text="Objects")
    numbers = "all => all.map((one) => Number(one.textContent))"
    for order in ("descending", "ascending"):
        objects.get_by_role("button").click()
        expect(objects).to_have_attribute("aria-sort", order)
        cells, falls = board.locator("tr.project td:nth-child(5)").filter(has_text="1"), order == "descending"
        read = lambda cells=cells: cells.evaluate_all(numbers)  # noqa: E731
        wait_until(gallery.page, lambda falls=falls, read=read: sorted(shown := read(), reverse=falls) == shown)
        assert len(set(read())) > 1
    board.get_by_role("button", name="Project", exact=True).click()
    expect(board.locator("[data-name]").first).to_have_text("Frame 00000")
    expect(objects).to_have_attribute("aria-sort", "none")
    board.get_by_role("button", name="Cards").click()
    board.get_by_label("Sort by").select_option("changed")
    expect(board.locator("[data-name] strong").first).to_have_text("Frame 00069")
    board.get_by_label("Group by").select_option("verdict")
    expect_texts(board, {"h3.group": ["Accepted", "Rejected", "Unsure", "No verdict"]})
    board.get_by_label("Group by").select_option("state")
    expect_texts(board, {"h3.group >> nth=0": "Failed", "h3.group:text('Failed') + .cards .project": 17})


def test_pages_show_all_projects_and_one_that_is_emptied_gives_way_to_the_one_before(board: Locator):
    pager, note = board.locator(".pager"), board.locator(".board-note")
    back, on = pager.get_by_role("button", name="Previous"), pager.get_by_role("button", name="Next")
    expect(pager).to_contain_text("1 to 60 of 70")
    expect(back).to_be_disabled()
    on.click()
    expect(pager).to_contain_text("61 to 70 of 70")
    expect(board.locator(".project")).to_have_count(10)
    expect(on).to_be_disabled()
    board.get_by_label("Select all on this page").check()
    bar(board).get_by_role("button", name="Delete").click()
    expect(note).to_contain_text("10 projects moved to the trash.")
    expect(bar(board)).to_be_hidden()  # what is gone is not selected
    expect(board.locator(".project")).to_have_count(60)
    expect(pager).to_be_hidden()
    note.get_by_role("button", name="Undo").click()
    for press, shown in ((on, "61 to 70 of 70"), (back, "1 to 60 of 70")):
        press.click()
        expect(pager).to_contain_text(shown)


def test_projects_are_selected_by_keys_alone_and_only_enter_opens_one(gallery: Mounted, board: Locator):
    page, links = gallery.page, board.locator("[data-name]")
    gallery.answer_event("gallery.open")
    links.first.focus()
    press_keys(page, "ArrowUp", "Space", "ArrowDown", "ArrowDown", "Shift+Space", "ArrowRight", "ArrowDown", "Space")
    expect(bar(board)).to_contain_text("4 selected")
    expect(links.nth(3)).to_be_focused()
    page.keyboard.press("Space")
    expect(bar(board)).to_contain_text("3 selected")
    expect(board.locator("tr.selected [data-name]")).to_have_text(["Frame 00069", "Frame 00068", "Frame 00067"])
    assert gallery.sent == []
    bar(board).get_by_role("button", name="Deselect all").click()
    expect(bar(board)).to_be_hidden()
    board.get_by_role("button", name="Cards").click()
    links.nth(1).focus()
    page.keyboard.press("ArrowDown")
    across = 6  # cards of 200 px beside each other
    expect(links.nth(1 + across)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(links.nth(across)).to_be_focused()
    press_keys(page, "ArrowUp", "Enter")
    expect(links.first).to_have_attribute("aria-busy", "true")
    assert gallery.sent == [("open", {"kind": "project", "name": name_of(69)})]


def test_each_action_is_about_the_selected_projects_and_says_what_was_done(gallery: Mounted, board: Locator):
    page = gallery.page
    kinds = ("rename", "duplicate", "tag", "judge", "delete", "undo")
    asked = gallery.answer("gallery", {kind: {"note": "Done.", "undo": "u1"} for kind in kinds})
    acts = lambda: [one for one in asked if one["kind"] != "find"]  # noqa: E731
    shown, note = bar(board), board.locator(".board-note")
    project(board, 64).locator(".pick").check()
    press_buttons(shown, "Rename …")
    expect(shown.get_by_label("Title of the project")).to_have_value("Frame 00064")
    page.keyboard.press("Escape")
    press_buttons(shown, "Rename …")
    shown.get_by_label("Title of the project").fill("x")
    page.keyboard.press("Enter")
    press_buttons(shown, "Remove verdict")
    project(board, 68).locator(".pick").check()
    expect(shown.get_by_role("button", name="Rename …")).to_have_count(0)
    press_buttons(shown, "✓ Accept", "? Unsure", "✕ Reject …")
    shown.get_by_label("Reason for the rejection").fill("cut off")
    press_buttons(shown, "Reject", "Duplicate")
    for button in ("Add tag", "Remove tag"):
        press_buttons(shown, "Tags …")
        shown.get_by_label("Tag, or several with commas").fill(" wet ,two  words,")
        press_buttons(shown, button)
    press_buttons(shown, "Tags …", "Cancel")
    expect(shown.locator("form")).to_have_count(0)
    both, first = [name_of(64), name_of(68)], [name_of(64)]
    wanted = [
        {"kind": "rename", "title": "x", "names": first}, {"kind": "judge", "verdict": "", "names": first},
        {"kind": "judge", "verdict": "accepted", "names": both}, {"kind": "judge", "verdict": "unsure", "names": both},
        {"kind": "judge", "verdict": "rejected", "reason": "cut off", "names": both},
        {"kind": "duplicate", "names": both},
        {"kind": "tag", "add": [" wet ", "two  words"], "remove": [], "names": both},
        {"kind": "tag", "add": [], "remove": ["wet", "two words"], "names": both},
    ]  # fmt: skip
    wait_until(page, lambda: len(acts()) >= len(wanted))
    assert [{key: one[key] for key in one if key != "page_token"} for one in acts()] == wanted
    press_buttons(note, "Undo")
    wait_until(page, lambda: acts()[-1]["kind"] == "undo")
    assert acts()[-1]["id"] == "u1"
    press_buttons(note, "Dismiss")
    expect(note).to_be_hidden()


def test_a_question_is_asked_before_what_cannot_be_undone(gallery: Mounted, board: Locator):
    deleted = [{"id": "b1", "title": "Old", "at": "today"}, {"id": "b2", "title": "Older", "at": "today"}]
    answers = {"delete": {"question": "It is open."}, "bin": {"deleted": deleted}, "empty_bin": {"deleted": []}}
    answers["restore"] = {"error": "It is gone."}
    asked = gallery.answer("gallery", answers)
    project(board, 69).locator(".pick").check()
    bar(board).get_by_role("button", name="Delete").click()
    expect(bar(board).locator(".question")).to_contain_text("It is open.")
    bar(board).get_by_role("button", name="Delete anyway").click()
    wait_for_request(gallery.page, asked, confirmed=True, names=[name_of(69)])
    bin = panel(board, "Trash")
    bin.get_by_role("button", name="Restore", exact=True).first.click()
    expect(bin).to_contain_text("It is gone.")
    wait_for_request(gallery.page, asked, ids=["b1"])
    bin.get_by_role("button", name="Empty the trash …").click()
    expect(bin).to_contain_text("Delete 2 projects for good?")
    bin.get_by_role("button", name="Delete for good").click()
    expect(bin).to_contain_text("The trash is empty.")
    wait_for_request(gallery.page, asked, ids=["b1", "b2"])


def test_a_set_of_accepted_projects_is_made_exported_and_removed(gallery: Mounted, board: Locator):
    runs = [{"job": "j", "done": 1, "of": 3, "running": True}, {"job": "j", "address": "set.zip", "left_out": ["b"]}]
    asked = gallery.answer("gallery", {"export_set": runs[0], "set_export": runs[1]})
    sets = panel(board, "Sets")
    sets.get_by_label("Name of the set").fill("tables")
    sets.get_by_label("Test, %").first.fill("50")
    sets.get_by_label("Split by source").check()
    sets.get_by_role("button", name="Make set of all accepted").click()
    row = sets.locator("tbody tr")
    expect(row).to_contain_text("8 train, 0 test")
    made = next(one for one in asked if one["kind"] == "make_set")
    assert (made["test"], made["by_source"], made["names"]) == (0.5, True, [])
    assert not findings(gallery.page)
    row.get_by_label("Format of tables").select_option("zip")
    row.get_by_role("button", name="Export").click()
    expect(sets.locator(".set-message")).to_contain_text("Download the set Left out: b")
    assert [(one["name"], one["format"]) for one in asked if one["kind"] == "export_set"] == [("tables", "zip")]
    row.get_by_role("button", name="Remove").click()
    expect(sets).to_contain_text("No set yet.")


def test_a_review_begins_with_the_selected_projects_or_with_all_that_are_found(gallery: Mounted, board: Locator):
    queue = "() => JSON.parse(sessionStorage.getItem('studioReview'))"
    search(board, "frame_0006", 10)
    board.get_by_role("button", name="Review lowest confidence first").click()
    gallery.page.wait_for_function(queue)
    all_names = gallery.page.evaluate(queue)["names"]
    unjudged = board.locator("tr.project:not(:has(.verdict)) [data-name]")
    assert set(all_names) == set(unjudged.evaluate_all("all => all.map((one) => one.dataset.name)"))
    project(board, 60).locator(".pick").check()
    board.get_by_role("button", name="Review selected (1)").click()
    gallery.page.wait_for_function("() => JSON.parse(sessionStorage.getItem('studioReview')).names.length === 1")
    begun = {"names": [name_of(60)], "at": 0, "counts": {"accepted": 0, "rejected": 0, "skipped": 0}}
    assert gallery.page.evaluate(queue) == begun


def batch(**facts: Any) -> dict[str, Any]:
    plain = {"stage": "", "seconds": 0, "message": "", "project": ""}
    frames = [plain | {"name": "a", "state": "done", "seconds": 100, "project": "a_1"}]
    frames.append(plain | {"name": "b", "state": "failed", "message": "no picture"})
    frames.append(plain | {"name": "c", "state": "todo", "stage": "Masks"})
    one = {"id": "t", "title": "tables", "until": "Masks", "state": "running", "error": "", "done": 1, "failed": 1}
    return one | {"of": 3, "share": 0.4, "seconds_left": 3900, "frames": frames, "more": 2} | facts


def test_a_batch_says_how_far_it_is_and_is_stopped_continued_retried_and_removed(gallery: Mounted, board: Locator):
    gallery.answer_event("gallery.open")
    line, state = board.locator(".batch"), {"batches": [batch()]}
    following: list[list[dict[str, Any]]] = []

    def act(_: Any) -> dict[str, Any]:
        state["batches"] = following.pop()
        return state

    acts = dict.fromkeys(("stop_batch", "resume_batch", "remove_batch"), act)
    asked = gallery.answer("gallery", {"batches": lambda _: state, **acts})
    show(gallery, record(), **state)
    progress = line.locator(".batch-progress")
    expect(progress).to_have_text("1 of 3 frames done · 1 failed · about 1 h 5 min left · until Masks")
    assert line.get_by_role("progressbar").get_attribute("aria-valuenow") == "40"
    expect(line.locator(".batch-frame")).to_have_text(["✕bno picture"])  # only what failed, at first
    line.get_by_role("button", name="Frames").click()
    expect(line.locator(".batch-frame")).to_have_text(["✓a2 min", "✕bno picture", "·cWaiting, done until Masks"])
    expect(line).to_contain_text("and 2 more")
    assert not findings(gallery.page)
    presses = (("Stop", "stopped", "stop"), ("Continue", "ended", "resume"), ("Retry failed", "ended", "resume"))
    for button, next_state, act_name in presses:
        following.append([batch(state=next_state)])  # for the press alone: the page asks every few seconds
        line.get_by_role("button", name=button).click()
        expect(line).to_have_attribute("data-state", next_state)
        wait_for_request(gallery.page, asked, batch="t", kind=f"{act_name}_batch")
    expect(progress).to_have_text("1 of 3 frames done · 1 failed")
    following.append([])
    line.get_by_role("button", name="Remove tables from the list").click()
    expect(line).to_have_count(0)
    state["batches"] = [batch()]
    show(gallery, record(name="b"), **state)
    line.get_by_role("button", name="a", exact=True).click()
    wait_until(gallery.page, lambda: gallery.sent)
    assert gallery.sent == [("open", {"kind": "project", "name": "a_1"})]
    frames = batch()["frames"]
    ended = batch(state="ended", done=2, frames=[frames[0], frames[0] | {"name": "b", "project": "b_1"}])
    asked = gallery.answer("gallery", {"batches": {"batches": [ended], "stages": []}})
    show(gallery, record(name="c"), batches=[batch()])
    gallery.tell_job("batch")
    expect(board.locator(".batch")).to_have_attribute("data-state", "ended")
    wait_until(gallery.page, lambda: any(one.get("refresh") for one in asked))
    expect(board.locator(".project")).to_have_count(60)


def test_frames_that_are_dropped_on_the_board_begin_a_batch(gallery: Mounted, board: Locator):
    page = gallery.page
    asked = gallery.answer("gallery", {"start_batch": {"batches": [batch(state="ended")], "stages": []}})
    form = panel(board, "New batch")
    expect(form.get_by_label("Run until")).to_have_value("solution")
    form.get_by_label("Run until").select_option("segments")
    form.get_by_label("Task for every frame").fill("Push it.")
    assert not findings(page)
    drop_files(page, ".board", ".board-tools", {"a.zip": "A", "b.zip": "B"})
    expect(board.locator(".batch")).to_be_visible()
    expect(form).to_be_hidden()
    begun = next(one for one in asked if one["kind"] == "start_batch")
    assert [one["name"] for one in begun["files"]] == ["a.zip", "b.zip"] and begun["until"] == "segments"
    assert [Path(one["path"]).read_text() for one in begun["files"]] == ["A", "B"] and begun["task"] == "Push it."


def test_a_sample_is_opened_and_the_demo_begins_from_its_address(gallery: Mounted):
    page = gallery.page
    gallery.answer_event("gallery.open")
    page.locator(".cards [data-name=stack]").click()
    wait_until(page, lambda: gallery.sent)
    assert gallery.sent == [("open", {"kind": "sample", "name": "stack"})]
    page.evaluate("history.replaceState(null, '', location.href + '&demo=1')")
    gallery.set_value("gallery", gallery.value("gallery") | {"outdated": False})
    expect(page.locator(".demo .caption")).to_contain_text("One photograph with depth")
    assert gallery.sent[-1] == ("open", {"kind": "sample", "name": "blocks"})
    expect(page).not_to_have_url(re.compile("demo="))
    page.get_by_role("button", name="End demo").click()
    expect(page.locator(".demo")).to_have_count(0)
    gallery.set_value("gallery", None)
    expect(page.locator(".gallery")).to_be_hidden()

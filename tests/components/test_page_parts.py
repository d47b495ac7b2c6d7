"""What all components share: the place in the address, the focus, covered parts, drops, requests, and the demo."""

from typing import Any

import gradio as gr
import pytest
from browser.bare_page import Mount
from playwright.sync_api import Page, expect

from components.adjuster import Adjuster
from components.viewer import Viewer

STEPS = ("frame", "masks", "objects", "scene", "task", "review")
SHOW = "async (value) => (await import('/static/studio/place.js')).showPlace(document.body, ...value)"


@pytest.fixture
def blank(timed_page: Page, mount: Mount) -> Page:
    mount("", "task-text", page=timed_page).add_tabs(**{step: step for step in STEPS})
    timed_page.evaluate("history.replaceState(null, '', '/static/studio/icon.svg?project=p')")
    return timed_page


def expect_step(page: Page, step: str) -> None:
    expect(page.locator("#steps [aria-selected=true]")).to_have_text(step)


def parameters(page: Page) -> dict[str, str]:
    return page.evaluate("Object.fromEntries(new URL(location.href).searchParams)")


def test_components_with_arguments_of_their_own_can_be_made_again_as_gradio_does_for_an_update_that_leaves_them():
    with gr.Blocks():
        made = (Adjuster(lambda request: request, viewer="twin"), Viewer(elem_id="twin"))
    for component in made:
        again = type(component)(**{**component.constructor_args, "render": False})
        assert again.get_config()["elem_id"] == component.get_config()["elem_id"]


def test_pages_follow_the_work_one_after_the_other_until_a_person_does_something(blank: Page):
    blank.evaluate(SHOW, ["p", "masks"])
    expect_step(blank, "masks")  # a project that is opened shows what it has reached
    blank.evaluate(SHOW, ["p", "task"])
    expect_step(blank, "objects")
    for step in ("scene", "task", "task"):
        blank.clock.run_for(1500)
        expect_step(blank, step)
    assert parameters(blank) == {"project": "p", "step": "task"}
    blank.evaluate("document.querySelector('#steps [role=tab]').click()")
    blank.mouse.click(600, 600)
    blank.evaluate(SHOW, ["p", "review"])
    blank.clock.run_for(5000)
    expect_step(blank, "frame")
    blank.evaluate(SHOW, ["q", "scene"])  # another project is opened
    expect_step(blank, "scene")


@pytest.mark.parametrize("is_loaded", [True, False], ids=["before the project", "before any script"])
def test_a_step_that_a_person_opens_before_the_project_has_arrived_stays(blank: Page, is_loaded: bool):
    for project, opened in (("p", "masks"), ("", "masks"), ("q", "frame")):
        if project:
            blank.evaluate("import('/static/studio/place.js')") if is_loaded else None
            blank.locator(f"#steps [data-tab-id={opened}]").click()
        blank.evaluate(SHOW, [project, "task"])
        expect_step(blank, opened)
    blank.evaluate(SHOW, ["q", "review"])
    blank.clock.run_for(5000)
    expect_step(blank, "frame")
    assert parameters(blank) == {"project": "q", "step": "frame"}


def test_the_address_keeps_step_and_object_through_back_and_forward(blank: Page):
    select = "async (id) => (await import('/static/studio/selection.js')).select(id)"
    selected = "async () => (await import('/static/studio/selection.js')).selected()"
    blank.evaluate("history.replaceState(null, '', '/static/studio/icon.svg?project=p&step=masks&object=3')")
    blank.evaluate(SHOW, ["p", "scene"])
    expect_step(blank, "masks")
    assert blank.evaluate(selected) == 3
    blank.evaluate(SHOW, ["p", "task"])
    expect_step(blank, "masks")  # of the address, not of the work
    blank.evaluate(select, 2)
    blank.get_by_role("tab", name="scene").click()
    assert parameters(blank) == {"project": "p", "step": "scene", "object": "2"}
    blank.go_back()
    expect_step(blank, "masks")
    assert parameters(blank)["object"] == "2"
    blank.go_forward()
    expect_step(blank, "scene")
    blank.evaluate(SHOW, [None, ""])
    assert parameters(blank) == {}
    blank.evaluate("history.back()")  # to a project that is not open: the page loads it
    expect(blank.locator("svg").first).to_be_attached()


def test_the_focus_and_a_typed_text_stay_in_what_is_drawn_again(blank: Page):
    blank.evaluate("""async () => {
      const { html, show, signal } = await import("/static/studio/view.js");
      const root = document.body.appendChild(document.createElement("p"));
      window.names = signal(["a", "b"]);
      show(root, () => html`<input name="typed" title=${names.value.length} />
        ${names.value.map((name) => html`<button key=${name}>${name}</button>`)}`);
    }""")
    blank.get_by_role("button", name="b").focus()
    blank.evaluate("names.value = ['new', 'b', 'a']")
    expect(blank.get_by_role("button", name="b")).to_be_focused()
    blank.locator("[name=typed]").press_sequentially("te")
    blank.evaluate("names.value = ['b']")
    blank.keyboard.type("xt")
    expect(blank.locator("[name=typed]")).to_have_value("text")


def test_what_was_typed_before_a_reload_fills_its_field_but_not_over_what_a_person_types_since(blank: Page):
    blank.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=notes><input id=one><input id=two></p>')")
    one, two, module = blank.locator("#one"), blank.locator("#two"), "await import('/static/studio/kept_input.js')"
    blank.evaluate(f"async () => {{ {module} }}")
    for field in (one, two):
        field.fill("before")
    blank.evaluate(f"async () => ({module}).keepInput('p')")
    for field in (one, two):
        field.evaluate("field => (field.value = '')")
    blank.evaluate(f"async () => ({module}).takeUpInput('p')")
    expect(one).to_have_value("before")
    two.fill("since")
    one.evaluate("field => (field.value = 'as it opened')")
    blank.clock.run_for(2000)
    assert (one.input_value(), two.input_value()) == ("before", "since")


def test_what_a_page_covers_is_out_of_reach_and_a_dialog_in_it_is_reached(blank: Page):
    blank.evaluate("""async () => {
      const box = (id, x, content = "") => `<div id="${id}" style="position:fixed;left:${x}px;width:100px;height:100px">
        ${content}</div>`;
      document.body.insertAdjacentHTML("beforeend",
        box("left", 0) + box("centre", 500, "<dialog><button>Yes</button></dialog>") +
        box("panel", 450, "<input type=file><button disabled>No</button><button>First</button>"));
      window.covering = await import("/static/studio/covering.js");
      covering.cover(document.querySelector("#panel"));
    }""")
    inert = "['left', 'centre'].map((id) => document.getElementById(id).inert)"
    assert blank.evaluate(inert) == [False, True]
    expect(blank.get_by_role("button", name="First")).to_be_focused()
    assert not blank.evaluate("covering.isInReach(document.querySelector('#centre'))")
    blank.evaluate("covering.showDialog(document.querySelector('dialog'))")
    expect(blank.get_by_role("button", name="Yes")).to_be_focused()
    blank.keyboard.press("Escape")
    blank.wait_for_function("document.querySelector('#centre').inert")
    blank.evaluate("covering.cover(null)")
    assert blank.evaluate(inert) == [False, False]


def test_controls_that_are_drawn_later_are_refused_as_those_before(mount: Mount, page: Page):
    account = {"user": "lou", "role": "look", "refused": ["a.b"], "editors": ["c.d", "#task-text"]}
    page.route("**/account.json", lambda route: route.fulfill(json=account), times=1)
    mount("", "task-text")
    page.evaluate("""async () => {
      window.controls = await import("/static/studio/refused_controls.js");
      window.inert = () => [...document.querySelectorAll("[data-sends], #task-text")].map((one) => one.inert);
      window.draw = (sends) => document.querySelector("#bare").insertAdjacentHTML("beforeend",
        `<p><button data-sends="${sends}" class="studio-button">x</button></p>`);
      controls.disableRefused(true);
      for (const name of ["a.b", "c.d", "e.f"]) draw(name);
    }""")
    assert page.evaluate("inert()") == [True, True, True, False]
    page.evaluate("controls.disableRefused(false)")  # this person edits now
    assert page.evaluate("inert()") == [False, True, False, False]
    assert page.evaluate("['a.b', 'c.d'].map(controls.isRefused)") == [True, False]


def test_folders_are_dropped_whole_and_what_cannot_be_uploaded_says_why(blank: Page):
    result: dict[str, Any] = blank.evaluate("""async () => {
      const { filesOfDrop, uploadFiles } = await import("/static/studio/dropped_files.js");
      const file = (name) => ({ isFile: true, name, file: (done) => done({ size: name.length }) });
      const readEntries = (batches) => (done) => done(batches.shift() ?? []);
      const folder = (name, ...batches) => ({ name, createReader: () => ({ readEntries: readEntries(batches) }) });
      const dropped = [folder("top", [file("a"), folder("in", [file("b")])], [file("c")]), file("d")];
      const files = await filesOfDrop({ items: dropped.map((entry) => ({ webkitGetAsEntry: () => entry })) });
      const progress = [], upload = async ({ size }) => size ? { path: "/up" } : Promise.reject(new Error("gone"));
      const send = (all) => uploadFiles(all, upload, (...now) => progress.push(now), "the command");
      const failure = (size, name) => send([{ file: { size }, name }]).catch(({ message }) => message);
      return { names: files.map(({ name }) => name), progress, uploaded: await send(files),
        failed: await failure(0, "e"), large: await failure(5e8, "f") };
    }""")
    names = ["top/a", "top/in/b", "top/c", "d"]
    assert result["names"] == names and result["progress"][:4] == [[done, 4] for done in range(4)]
    assert result["uploaded"] == [{"path": "/up", "name": name} for name in names]
    assert result["failed"] == "e could not be uploaded. Try again."
    assert result["large"] == "f is larger than 0.4 GB. Reduce it, or run: the command"


def test_the_demo_leads_through_the_steps_as_the_work_reaches_them_and_a_click_pauses_it(blank: Page):
    demo, caption = blank.locator(".demo"), blank.locator(".demo .caption")
    blank.evaluate("""async () => {
      window.pressed = [];
      document.querySelector("#bare").insertAdjacentHTML("beforeend", `
        <div class="gallery"><div class="samples"><button data-name="blocks"></button></div></div>
        <div class="status-bar"></div><button id="generate"></button>
        <div class="task-cards"><button class="task">No</button><button class="task">Yes</button></div>`);
      for (const button of document.querySelectorAll("[data-name], .task, #generate"))
        button.onclick = () => pressed.push(button.dataset.name ?? (button.id || button.textContent));
      (await import("/static/studio/demo.js")).startDemo();
    }""")

    def expect_scene(number: int, text: str, after: int = 0) -> None:
        blank.clock.run_for(1000 * after)
        expect(demo).to_contain_text(f"{number} of 7")
        expect(caption).to_contain_text(text)

    expect_scene(1, "One photograph with depth", after=60)  # nothing happens before the project is open
    blank.evaluate(SHOW, ["p", "frame"])
    expect_scene(1, "One photograph with depth", after=6)
    blank.evaluate(SHOW, ["p", "scene"])
    expect_scene(2, "Every object gets an outline", after=1)
    blank.mouse.click(600, 600)
    expect(demo.get_by_role("button", name="Continue")).to_be_visible()
    expect_scene(2, "Every object gets an outline", after=60)
    demo.get_by_role("button", name="Continue").click()
    expect_scene(3, "compared with the 3D assets", after=7)
    expect_step(blank, "objects")
    expect_scene(4, "The twin", after=9)
    expect_scene(5, "Tasks that fit", after=9)
    expect_scene(5, "Tasks that fit", after=8)  # none has been solved in its trial
    blank.evaluate("document.querySelectorAll('.task')[1].innerHTML = 'Yes<i class=verdict><b class=good></b></i>'")
    expect_scene(6, "generated, run and repaired", after=1)
    blank.evaluate("document.querySelector('.status-bar').innerHTML = '<i class=spin></i>'")
    blank.evaluate(SHOW, ["p", "review"])
    expect_scene(6, "generated, run and repaired", after=60)
    assert blank.evaluate("pressed") == ["blocks", "Yes", "generate"]
    blank.evaluate("document.querySelector('.status-bar').innerHTML = ''")
    expect_scene(7, "tested on several seeds", after=3)
    expect_step(blank, "review")
    blank.clock.run_for(9000)
    expect(demo.get_by_role("button", name="Continue")).to_be_visible()
    demo.get_by_role("button", name="End demo").click()
    expect(demo).to_have_count(0)


def test_a_button_that_is_drawn_again_while_pressed_is_clicked_once_but_not_what_came_instead(mount: Mount):
    page = mount("", "top-bar").page
    page.evaluate("""async () => {
      const { html, show, signal } = await import("/static/studio/view.js");
      const panel = document.body.appendChild(document.createElement("p"));
      window.clicks = [];
      window.names = signal(["Discard 1 change", "Apply"]);
      show(panel, () => names.value.map((name) => html`<button onclick=${() => clicks.push(name)}>${name}</button>`));
    }""")

    def press(name: str, meanwhile: str, key: str = "") -> None:
        button = page.get_by_role("button", name=name)
        button.focus()
        button.hover()
        page.keyboard.down(key) if key else page.mouse.down()
        page.evaluate(meanwhile)
        page.keyboard.up(key) if key else page.mouse.up()

    for key in ("", " "):
        press("Discard 1 change", "names.value = ['Discard 2 change', 'Apply']", key)
        press("Apply", "names.value = ['Discard 1 change', 'Apply']", key)
    assert page.evaluate("clicks.splice(0)") == ["Discard 2 change", "Apply"] * 2
    for key in ("", " "):
        press("Discard 1 change", "names.value = ['Delete everything', 'Apply']", key)
        page.evaluate("names.value = ['Discard 1 change', 'Apply']")
    assert page.evaluate("clicks") == []


SERVER = """
const { LatestRequest } = await import("/static/studio/latest_request.js");
const sent = [], shown = [], open = [];
let most = 0;
const ask = (request) => {
  sent.push(request.n);
  return new Promise((resolve, reject) => {
    open.push([resolve, reject]);
    most = Math.max(most, open.length);
  });
};
const requests = new LatestRequest(ask, (answer, request) => shown.push(answer.error ?? request.n));
const reply = async (failed) => {
  const [resolve, reject] = open.shift();
  failed ? reject(new Error("gone")) : resolve({});
  await new Promise((later) => setTimeout(later));
};
"""
"""A server whose answers the test gives with `reply`."""


def test_the_newest_of_waiting_requests_is_sent_after_one_in_flight_a_cancelled_one_or_a_lost_server(mount: Mount):
    page, end = mount("").page, "return { sent, shown, most, busy: requests.busy };"
    many = "for (let n = 1; n <= 5; n++) requests.send({ n }); await reply(); await reply();"
    cancelled = "requests.send({ n: 1 }); requests.cancel(); await reply(); requests.send({ n: 2 }); await reply();"
    lost = "requests.send({ n: 1 }); await reply(true); requests.send({ n: 2 }); await reply();"
    many, cancelled, lost = (page.evaluate(f"async () => {{{SERVER}{do}{end}}}") for do in (many, cancelled, lost))
    assert many == {"sent": [1, 5], "shown": [5], "most": 1, "busy": False}
    assert cancelled == {"sent": [1, 2], "shown": [2], "most": 1, "busy": False}
    assert lost["sent"] == [1, 2] and "does not answer" in lost["shown"][0] and lost["shown"][1] == 2


def test_only_a_count_of_one_is_singular(mount: Mount):
    say = "(await import('/static/studio/texts.js')).t('{n} file|{n} files', { n })"
    page = mount("").page
    assert [page.evaluate(f"async (n) => {say}", n) for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]

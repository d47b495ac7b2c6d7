"""What static/ needs of Gradio's page and of CodeMirror; each is named in the head comment of the file that needs it.

A failure here means that Gradio changed: adapt the file that the message names, then its head comment.
"""

from browser.app_page import LONG, OpenProject, open_tab, stop_work
from browser.studio_process import Studio
from browser.watched_page import close_app
from playwright.sync_api import Page, expect

SCENE = "blocks"
VIEW = "content => content.cmTile?.view ?? content.cmView?.rootView?.view ?? content.cmView?.view"
"""The private way from an editor's content to its EditorView, as in static/studio/codemirror_indent.js."""


def needs(page: Page, selector: str, file: str) -> None:
    """Fail with the file's name if nothing in the page matches the selector."""
    assert page.locator(selector).count(), f"Gradio's page has no {selector} any more; static/{file} needs it"


def test_the_page_has_the_classes_that_gradio_css_restyles(project: OpenProject):
    page = project.page
    open_tab(page, "Task")
    expect(page.locator(".task-cards")).to_be_visible()
    for selector in (
        ".gradio-container .main.fillable", ".gradio-container .block > .html-container", ".gradio-container .row",
        ".gradio-container .column", ".gradio-container .form",
        ".gradio-container button.lg, .gradio-container button.sm", "#steps .tab-wrapper .tab-container .selected",
        "#steps > .tabitem > .column", "#ask .block", "#models .html-container",
    ):  # fmt: skip
        needs(page, selector, "gradio.css")
    close_app(page)
    page.goto(project.studio.address)
    expect(page.locator("#drop")).to_be_visible()
    needs(page, "#drop .wrap .icon-wrap", "gradio.css")


def test_the_steps_are_tabs_with_roles_and_panels(project: OpenProject):
    page = project.page
    tabs = "#steps .tab-container [role=tab]"
    needs(page, tabs, "studio/gradio_tabs.js")
    for step in ("Frame", "Objects"):
        open_tab(page, step)
        needs(page, f"{tabs}[aria-selected=true]", "studio/gradio_tabs.js")
        text = page.locator(f"{tabs}[aria-selected=true]").inner_text().strip()
        assert text.startswith(step), f"the open tab reads {text!r}; static/studio/gradio_tabs.js needs its label first"
    needs(page, ".tabitem .object-cards", "studio/gradio_tabs.js")


def test_a_notice_has_its_text_in_a_toast(studio: Studio, page: Page):
    page.goto(f"{studio.address}?project=not_there")
    expect(page.locator(".loading-overlay")).to_have_count(0)
    expect(
        page.get_by_test_id("toast-text"), "static/studio/gradio_notices.js needs data-testid=toast-text"
    ).to_contain_text("not_there")
    needs(page, ".toast-wrap .toast-title.warning", "gradio.css")


def test_a_code_editor_gives_its_view_and_indents_by_four(project: OpenProject):
    page = project.page
    open_tab(page, "Task")
    page.locator("#task-text textarea, #task-text input").fill("")
    page.locator(".task-cards .task").first.click(timeout=LONG)
    page.locator("#generate").click()
    expect(page.locator(".round-timeline [data-round='0']")).to_be_visible(timeout=LONG)
    stop_work(page)
    page.get_by_role("button", name="Edit and branch").click()
    content = page.locator("#codes .cm-content[contenteditable=true]").first
    expect(content, "static/studio/codemirror_indent.js needs #codes .cm-content").to_be_visible()
    parts = content.evaluate(
        f"content => {{ const view = ({VIEW})(content); return view && ["
        "typeof view.dispatch, typeof view.state?.doc?.lineAt, typeof view.state?.selection?.main?.from]; }"
    )
    assert parts == ["function", "function", "number"], (
        f"the editor's content leads to {parts}; static/studio/codemirror_indent.js needs its EditorView"
    )
    expect(content).to_contain_text("def build(")  # the code comes after the editor
    text = content.evaluate(
        """(content, view) => {
            const editor = eval(view)(content);
            editor.focus();
            editor.dispatch({changes: {from: 0, insert: "if True:"}, selection: {anchor: "if True:".length}});
            for (const key of ["Enter", "Tab"])
                content.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
            return editor.state.doc.toString();
        }""",
        VIEW,
    )
    indented = "if True:\n" + " " * 8 + "import kit"
    assert text.startswith(indented), "static/studio/codemirror_indent.js no longer indents by four"

"""Scripts in the texts of a project, of its library and of what it exports are shown as texts, on every page."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import LONG, open_tab, wait_until_idle
from browser.studio_process import Studio
from playwright.sync_api import Page, expect
from ready_projects import ready_project

from pipeline.assets.library import BUILTIN_LIBRARY
from pipeline.decisions import Decision, append
from pipeline.export import export_project
from pipeline.store import write_json
from studio.batch.batch_file import BatchItem, read_batch
from studio.batch.frames import BatchError
from studio.batch.report import FrameReport, batch_page
from tests.ui.test_every_page import OVER, STEPS

SCRIPT = "\"'><img src=x onerror=window.__hacked=1><svg onload=window.__hacked=2>"
PAYLOAD = f"{SCRIPT}</title></textarea></script><script>window.__hacked=3</script>[a](javascript:window.__hacked=4)"
NAME = "<img src=x onerror=window.__hacked=5>"
"""As the name of a folder, which has no slash."""
TEXTS = {
    "caption", "warnings", "failure", "material", "text", "source", "reason", "why", "message", "change", "task",
    "target", "verb", "licence", "provenance", "mass_source", "friction_source", "category", "instruction", "goals",
    "by", "about", "asked", "llm.model_name", "input.value", "output.value", "status_code", "crashes", "kind",
    "changes", "grs-studio",
}  # fmt: skip
"""Keys whose texts a stranger may write as they like without the file counting as damaged."""
MADE = "document.querySelectorAll('img[src=x], a[href^=javascript], [onload]').length"
MADE_ELEMENTS = f"[window.__hacked ?? null, {MADE}]"
"""What ran, and how many elements the payload became."""
FREE_NAMES = ("tasks.json", "report.json", "project.json")
"""Files in which "name" is no identifier of another file."""


def poisoned(value: Any, key: str, file: str) -> Any:
    """Return a JSON value with the payload at the end of every text for people."""
    if isinstance(value, dict):
        return {name: poisoned(one, "changes" if key == "noticed" else name, file) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, key, file) for one in value]
    is_text = key in TEXTS and not (key == "kind" and file == "decisions.jsonl")
    is_text |= key == "name" and file in FREE_NAMES
    return value + PAYLOAD if isinstance(value, str) and is_text else value


def poison(folder: Path) -> None:
    for path in [*folder.rglob("*.json"), *folder.rglob("*.jsonl")]:
        is_lines = path.suffix == ".jsonl"
        texts = path.read_text().splitlines() if is_lines else [path.read_text()]
        path.write_text("\n".join(json.dumps(poisoned(json.loads(text), "", path.name)) for text in texts) + "\n")
    for path in folder.rglob("rounds/*/*.py"):
        path.write_text(f"{path.read_text()}\n# {PAYLOAD}\n")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a poisoned project, and a copy of it under a hostile name."""
    workspace = tmp_path_factory.mktemp("workspace")
    shutil.copytree(ready_project("stack", "solution", "put the green_cylinder on the left"), workspace / "stack")
    objects = [one["segment_id"] for one in json.loads((workspace / "stack" / "scene.json").read_text())["placements"]]
    named = Decision("display_name", {"id": objects[0], "name": NAME})
    reviewed = Decision("review", {"verdict": "rejected", "reason": PAYLOAD})
    append(workspace / "stack" / "decisions.jsonl", named, reviewed)
    poison(workspace / "stack")
    return Path(shutil.copytree(workspace / "stack", workspace / NAME)).parent


@pytest.fixture(scope="module")
def studio(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with the poisoned projects and a poisoned library."""
    library = tmp_path_factory.mktemp("library")
    shutil.copytree(BUILTIN_LIBRARY / "apple", library / NAME)
    poison(library)
    running = Studio(workspace, GRS_LIBRARY=str(library))
    yield running
    running.close()


def expect_harmless(page: Page, where: str) -> None:
    """Expect that the payload is shown as text, and is no element in the page or a frame of it, so that none ran."""
    expect(page.locator("body")).to_contain_text("onerror=")
    for frame in page.frames:
        assert frame.evaluate(MADE_ELEMENTS) == [None, 0], (where, frame.url)


@pytest.mark.soak
def test_a_stored_script_stays_a_text_on_every_page(studio: Studio, page: Page):
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(studio.address)
    expect(page.locator(".gallery .board")).to_contain_text(NAME[:10])
    expect_harmless(page, "gallery")
    page.goto(f"{studio.address}?project=stack")
    expect(page.locator(".object-list .row").first).to_be_visible()
    for step in STEPS:
        open_tab(page, step)
        wait_until_idle(page)
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        expect_harmless(page, step)
    for panel, (opener, content) in OVER.items():
        page.locator(opener).first.click()
        expect(page.locator(content).first).to_be_visible(timeout=LONG)
        if panel == ".library":
            page.locator(content).first.click()
        if panel == ".models-panel":
            page.get_by_role("tab", name="Calls").click()
            page.locator(".trace-view .call").first.click()
        wait_until_idle(page)
        expect_harmless(page, panel)
        page.keyboard.press("Escape")
    assert not dialogs


def test_a_stored_script_stays_a_text_in_every_report_that_is_exported(workspace: Path, page: Page, tmp_path: Path):
    export_project(workspace / "stack", "html", tmp_path / "film.html")
    item = BatchItem(PAYLOAD, NAME, "failed", PAYLOAD, message=PAYLOAD)
    frame = FrameReport(item, task=PAYLOAD, solved=PAYLOAD, decisions=(PAYLOAD,), evidence=PAYLOAD, problem=PAYLOAD)
    (tmp_path / "batch.html").write_text(batch_page(NAME, [replace(frame, doubts=(PAYLOAD,)), frame]))
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for name in ("film.html", "batch.html"):
        page.goto("about:blank")  # a policy outlives what it came with
        page.set_content((tmp_path / name).read_text())
        expect_harmless(page, name)
    assert not dialogs


def test_a_state_of_a_batch_that_is_a_script_is_a_damaged_file(tmp_path: Path):
    write_json(tmp_path / "batch.json", {"schema": 1, "items": [{"frame": "a", "project": "a", "state": PAYLOAD}]})
    with pytest.raises(BatchError, match="is damaged"):
        read_batch(tmp_path)

"""What the studio needs of Gradio's private parts. A failure here names the file that has to follow Gradio's change."""

import gc
import subprocess
import sys
from collections import Counter
from pathlib import Path

import gradio as gr
import pytest
from offline_studio import offline_services
from page_client import connect, open_page
from served_studio import served

from components.steps import RoundTimeline
from pipeline.store import write_text
from studio import app as studio_app
from studio.pages.page_shell import names_of
from studio.web.upload_folder import upload_folder, uploaded_file

STARTUP = """
from studio.web import gradio_fast_import
gradio_fast_import.install()
import gradio.component_meta
from components.page_frame import Gallery
print(gradio.component_meta.create_or_modify_pyi.__module__)
"""


def test_the_import_hook_replaces_gradios_writer_of_stubs_and_only_files_in_its_folder_are_uploads(tmp_path: Path):
    from gradio import component_meta

    writer = "studio/web/gradio_fast_import.py needs gradio.component_meta.create_or_modify_pyi"
    assert hasattr(component_meta, "create_or_modify_pyi"), writer
    done = subprocess.run([sys.executable, "-c", STARTUP], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1:] == ["studio.web.gradio_fast_import"], (writer, done.stderr)
    folder = upload_folder().path
    for file in (folder / "some.txt", tmp_path / "other.txt"):
        write_text(file, "x")
    assert uploaded_file(str(folder / "some.txt")) == (folder / "some.txt").resolve()
    for path in (tmp_path / "other.txt", folder / "missing.txt", folder / ".." / "other.txt", None, 7):
        assert uploaded_file(path) is None


def test_an_events_name_is_where_it_was():
    with gr.Blocks():
        button, timeline = gr.Button(elem_id="go"), RoundTimeline()
    assert names_of(button.click) == ("go", "click"), "page_shell.py needs the event_name of an event"
    assert names_of(timeline.play) == ("round-timeline", "play")


async def test_nothing_more_is_kept_after_many_page_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(studio_app, "KEPT_PAGES", 2)
    with served(offline_services(), tmp_path) as studio:

        async def load(count: int) -> None:
            async with connect(studio.address) as http:
                for _ in range(count):
                    async with open_page(http) as page:
                        await page.set_widgets()

        await load(7)
        growths = []
        for _ in range(3):  # a leak grows in each of them; what a thread of another test brings, in one
            before = census()
            await load(5)
            growths.append(census() - before)
        grown = min(growths, key=Counter.total)
        assert len(studio.app.routes[-1].app.state_holder.session_data) <= 2, (
            "app.py needs Blocks.state_session_capacity"
        )
        assert grown.total() < 1000, grown.most_common(8)


def census() -> Counter[str]:
    """Count the objects that Python's garbage collector knows, by type."""
    gc.collect()
    return Counter(str(type(each)) for each in gc.get_objects())

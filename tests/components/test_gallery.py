"""The gallery alone in a page: the board's projects are found, judged, deleted and brought back; its panels and
batches."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.axe import findings
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio
from browser.watched_page import wait_until
from playwright.sync_api import Locator, Page, expect

from tests.bench.planted_projects import plant_projects

COUNT = 70
"""Projects, more than a page shows."""
COLUMNS = ["title", "state", "objects", "confidence", "matched", "solved_by", "seconds", "verdict", "changed"]
DROP = """([selector, files]) => {
  const transfer = new DataTransfer();
  for (const [name, content] of files) transfer.items.add(new File([content], name));
  const send = (kind) =>
    document.querySelector(selector).dispatchEvent(
      new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  send("dragover");
  const over = document.querySelector(".board").classList.contains("dropping");
  send("drop");
  return [over, document.querySelector(".board").classList.contains("dropping")];
}"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    """A studio with seventy projects and no others."""
    workspace = tmp_path_factory.mktemp("board")
    plant_projects(workspace, COUNT)
    with bare_studio(workspace) as running:
        yield running


@pytest.fixture
def gallery(mount: Mount) -> Mounted:
    return mount("", "gallery")


@pytest.fixture
def board(gallery: Mounted) -> Locator:
    """The board as a table."""
    board = gallery.page.locator(".board")
    board.get_by_role("button", name="Table").click()
    return board


def test_tmp(board, gallery):
    gallery.page.screenshot(path="/tmp/uic/board.png", full_page=True)
    v = gallery.value("gallery")
    json.dump(v, open("/tmp/uic/gallery.json", "w"), indent=1)
    print(findings(gallery.page))

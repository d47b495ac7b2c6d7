"""SAM 2 on torch answers the clicks of the mask canvas: the tiny architecture with random weights, not judged."""

import re
from pathlib import Path

import pytest
from browser.app_page import LONG, canvas, hint, rows
from browser.bare_page import Mount
from playwright.sync_api import expect

LIGHT = "LIGHT set-up: torch and sam2 are not installed"


@pytest.fixture
def random_sam2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a checkpoint of random weights the one of GRS_SAM2."""
    torch = pytest.importorskip("torch", reason=LIGHT)
    build = pytest.importorskip("sam2.build_sam", reason=LIGHT)
    torch.manual_seed(0)
    model = build.build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", None, device="cpu")
    torch.save({"model": model.state_dict()}, tmp_path / "tiny.pt")
    monkeypatch.setenv("GRS_SAM2", str(tmp_path / "tiny.pt"))


@pytest.mark.usefixtures("random_sam2")
def test_a_click_shows_three_candidates_of_sam2_with_their_quality(mount: Mount):
    editor = mount("stack", "mask-canvas", "object-list")
    editor.keep_twin()
    page, candidates = editor.page, editor.page.locator(".candidates .candidate")
    page.locator("[data-menu=segmenters] > summary").click()
    sam2 = page.locator(".segmenter", has_text="SAM 2")
    expect(sam2).to_contain_text("Weights are installed, for cpu")
    sam2.locator("input").check()
    expect(sam2).to_contain_text("ready", timeout=LONG)
    canvas(page).press("Escape")
    canvas(page).press("n")
    canvas(page).click(position={"x": 640, "y": 500})
    expect(candidates).to_have_text([re.compile("good|fair|poor")] * 3, timeout=LONG)
    count = rows(page).count()
    canvas(page).press("Enter")
    expect(hint(page)).to_contain_text(re.compile("accepted by you|mask is empty"))  # random weights may find nothing
    assert rows(page).count() in (count, count + 1)
    editor.wait_until_drawn()
    assert set(editor.kinds) <= {"mask"}

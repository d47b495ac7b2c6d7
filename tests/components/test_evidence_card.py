"""The card on the Frame and Scene pages: how well the twin explains the photograph, and what nothing explains."""

import os
import re
from dataclasses import replace

import numpy as np
from browser.bare_page import Mount
from playwright.sync_api import Page, expect

TINTED = """img => { const canvas = new OffscreenCanvas(img.naturalWidth, img.naturalHeight).getContext('2d');
    canvas.drawImage(img, 0, 0);
    const data = canvas.getImageData(0, 0, img.naturalWidth, img.naturalHeight).data;
    return data.filter((value, i) => i % 4 === 3 && value > 0).length; }"""


def test_the_card_believes_a_good_twin_and_names_doubts_with_their_cures_and_tints_what_is_unexplained(
    mount: Mount, page: Page
):
    mounted = mount("blocks", "frame-evidence", "results", until="solution")
    card = page.locator(".evidence-card")
    expect(card.locator("h3")).to_have_text("✓ The twin explains the photograph")
    expect(card.locator("dl")).to_contain_text(re.compile("Explained(9\\d|100)% of the pixels"))
    expect(page.locator(".verdict.good")).to_contain_text("✓ Solved.")
    project = mounted.session.project
    evidence = project.evidence()
    assert evidence
    tint = np.zeros((60, 80), bool)
    tint[10:20, 30:40] = True
    doubtful = {"red_cube": "red_cube is cut off by the picture's edge"}
    project.save_evidence(replace(evidence, edges=1.1, size_ratio=4.0, objects=doubtful, unexplained=tint))
    mounted.session.log.add("measured", "person")
    expect(card.locator("h3")).to_have_text("? The twin may not show the photograph")
    expect(card.locator(".doubt")).to_have_count(2)
    expect(card.locator(".doubt").first).to_contain_text("edges agree 1.1 times as well as by chance. Check that")
    expect(card.locator("dd.low")).to_have_count(2)
    expect(card.locator(".object")).to_contain_text("cut off by the picture's edge.")
    page.wait_for_function("() => document.querySelector('.evidence-card .tint').complete")
    assert card.locator(".tint").evaluate(TINTED) == 100
    expect(page.locator(".verdict.warn")).to_contain_text("? Doubtful.")
    expect(page.locator(".verdict.warn p")).to_have_count(2)
    if shot := os.environ.get("EVIDENCE_SHOT"):
        page.screenshot(path=shot)

"""The pages that align the camera by pairs of clicks and the robot's base by a file or by clicks on its tool."""

import json
import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import wait_for_request, wait_until
from playwright.sync_api import Locator, Route, expect

from studio.viewer import PhotoCamera

PLACES = [(0.25, 0.4), (0.75, 0.45), (0.7, 0.8), (0.3, 0.85), (0.5, 0.6)]
ARM = """<mujoco><worldbody><body><joint name="turn" axis="0 0 1"/><geom size=".02"/><body>
  <joint name="reach" type="slide" axis="1 0 0"/><geom size=".02"/><body>
  <joint name="lift" type="slide" axis="0 0 1"/><geom size=".02"/><site name="tip"/>
</body></body></body></worldbody></mujoco>"""


@pytest.fixture
def aligners(mount: Mount) -> Mounted:
    return mount("stack", "camera-aligner", "robot-aligner").keep_twin()


def open_camera(aligners: Mounted) -> Locator:
    aligners.page.locator("[data-act=open-alignment]").click()
    pictures = "[...document.querySelectorAll('.camera-aligner .click-picture img')]"
    aligners.page.wait_for_function(f"() => {pictures}.every((one) => one.naturalWidth)")
    return aligners.page.get_by_role("dialog", name="Align the camera")


def click_picture(picture: Locator, x: float, y: float) -> None:
    """Click a picture at these shares of its width and height."""
    box = picture.locator("img").bounding_box()
    picture.click(position={"x": x * box["width"], "y": y * box["height"]})


def press(dialog: Locator, name: str) -> None:
    dialog.get_by_role("button", name=name, exact=True).click()


def test_the_camera_is_aligned_by_pairs_of_clicks_and_the_result_is_seen_before_it_is_taken(aligners: Mounted):
    dialog = open_camera(aligners)
    photo, twin = dialog.locator(".click-picture").all()
    align, hint = dialog.get_by_role("button", name="Align", exact=True), dialog.locator(".hint")
    for number, (x, y) in enumerate(PLACES, 1):
        click_picture(photo, x, y)
        expect(hint).to_have_text("Now click the same point in the twin.")
        expect(photo.locator(".mark").last).to_have_text("?")
        click_picture(twin, x, y)
        expect(dialog.locator(".pairs li")).to_have_count(number)
        expect(align).to_be_enabled() if number >= 4 else expect(align).to_be_disabled()
    expect(hint).to_contain_text("5 pairs.")
    for picture in (photo, twin):
        expect(picture.locator(".mark")).to_have_text(["1", "2", "3", "4", "5"])
    places = photo.locator(".mark").first.evaluate("({ style }) => [style.left, style.top].map(parseFloat)")
    assert places == pytest.approx([100 * share for share in PLACES[0]], abs=0.5)
    lens = photo.locator(".lens")
    photo.hover(position={"x": 40, "y": 60})
    expect(lens).to_be_visible()
    hint.hover()
    expect(lens).to_be_hidden()
    align.click()
    expect(dialog.locator("[data-result=uncertainty]")).to_contain_text("Standard deviation", timeout=60_000)
    expect(dialog.locator(".pairs .number")).to_have_text([re.compile(r"\d+\.\d px off")] * 5)
    turn, move = re.findall(r"\d+\.\d+", dialog.locator(".result p").first.inner_text())
    assert float(turn) < 1 and float(move) < 20, "the same places were clicked in both"
    captions = dialog.locator(".overlays figcaption")
    expect(captions).to_have_text([re.compile("^Before"), re.compile("^After")])
    assert aligners.kinds == []
    dialog.get_by_role("button", name="Remove pair 5").click()
    expect(dialog.get_by_role("button", name="Use this camera")).to_have_count(0)  # it is that of five pairs
    align.click()
    press(dialog, "Use this camera")
    expect(dialog).to_be_hidden()
    aligners.wait_until_drawn()
    assert aligners.kinds == ["camera_pose"]


def test_an_alignment_is_stopped_or_forgotten_when_its_pairs_change_and_escape_closes_the_page(aligners: Mounted):
    page, held = aligners.page, list[Route]()
    point = {"world": [0, 0, 0], "object": "mug", "seen": [9, 9]}
    asked = aligners.answer("camera-aligner", {"point": point, "stop": {}})

    def hold(route: Route) -> None:
        held.append(route) if route.request.post_data_json["kind"] == "align" else route.fallback()

    page.route("**/bare/ask/camera-aligner", hold)
    dialog = open_camera(aligners)
    photo, twin = dialog.locator(".click-picture").all()
    align = dialog.get_by_role("button", name="Align", exact=True)
    for number, (x, y) in enumerate(PLACES, 1):
        click_picture(twin, x, y)
        expect(dialog.locator(".hint")).to_have_text("Now click the same point in the photograph.")
        click_picture(photo, x, y)
        expect(dialog.locator(".pairs li")).to_have_count(number)
    expect(dialog.locator(".pairs li").first).to_contain_text("mug")
    align.click()
    expect(align).to_be_disabled()
    press(dialog, "■ Stop")
    wait_for_request(page, asked, kind="stop")
    assert len(held[0].request.post_data_json["pairs"]) == 5
    held.pop().fulfill(json={"stopped": True})
    expect(dialog.locator(".result")).to_have_text("Stopped.")
    align.click()
    wait_until(page, lambda: held)
    dialog.get_by_role("button", name="Remove pair 2").click()
    held.pop().fulfill(json={"error": "of the pairs before"})
    expect(align).to_be_enabled()
    expect(dialog.locator(".pairs li")).to_have_count(4)
    align.click()
    wait_until(page, lambda: held)
    held.pop().fulfill(json={"error": "The points lie on one line."})
    expect(dialog.get_by_role("alert")).to_have_text("The points lie on one line.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("[data-act=open-alignment]")).to_be_focused()
    aligners.set_value("camera-aligner", {"token": "", "photo": ""})
    expect(page.locator("[data-act=open-alignment]")).to_be_hidden()


def open_robot(aligners: Mounted) -> Locator:
    aligners.page.locator("[data-act=open-robot-alignment]").click()
    dialog = aligners.page.get_by_role("dialog", name="Align the robot")
    expect(dialog.locator(".click-picture img")).to_have_js_property("complete", True)
    return dialog


def test_the_robots_base_is_aligned_by_a_hand_eye_file_and_seen_before_it_is_taken(aligners: Mounted, tmp_path: Path):
    calibration, dialog = tmp_path / "hand_eye.json", open_robot(aligners)
    calibration.write_text(json.dumps({"world_from_base": {"pos": [0.1, -0.2, 0.05], "quat_wxyz": [1, 0, 0, 0]}}))
    press(dialog, "Align")
    expect(dialog.get_by_role("alert")).to_contain_text("Choose one file")
    dialog.locator("[data-file=base]").set_input_files(calibration)
    expect(dialog).to_contain_text("hand_eye.json")
    press(dialog, "Align")
    result = dialog.locator("[data-result=base]")
    expect(result).to_have_text("The base stands at x 0.100, y -0.200, z 0.050 m.", timeout=60_000)
    expect(dialog.get_by_role("alert")).to_be_hidden()
    expect(dialog.locator(".overlay")).to_be_visible()
    assert aligners.kinds == []
    press(dialog, "Use this base")
    expect(dialog).to_be_hidden()
    aligners.wait_until_drawn()
    assert aligners.kinds == ["robot_base"]


def test_the_robots_base_is_found_by_clicks_on_its_tool_in_three_photographs(aligners: Mounted, tmp_path: Path):
    frame, twin = aligners.session.project.frame, aligners.session.project.scene()
    k, base, yaw = frame.intrinsics, np.array([-0.3, 0.2, 0.05]), 0.3
    camera = PhotoCamera.from_intrinsics(k, twin.world_from_camera)
    on_table = (twin.world_from_camera @ [*frame.points[int(0.9 * k.height), k.width // 2], 1])[:3]
    dialog, alert = open_robot(aligners), aligners.page.get_by_role("dialog").get_by_role("alert")
    pictures, model = dialog.locator(".click-picture"), tmp_path / "arm.xml"
    model.write_text(ARM)
    dialog.locator("[data-file=photo]").set_input_files(photo_file("other.png", np.zeros((10, 10, 3), np.uint8)))
    expect(alert).to_contain_text("other.png has another size")
    expect(pictures).to_have_count(1)
    dialog.locator("[data-file=base]").set_input_files(model)
    dialog.get_by_label("Tool: site or body of the model").fill("tip")
    click_picture(pictures.first, 0.5, 0.5)
    press(dialog, "Align")
    expect(alert).to_contain_text("Give the joint angles of each photograph")
    for number, shift in enumerate([(0, 0, 0), (0.08, 0.05, 0.1), (-0.08, 0.08, 0.05)]):
        if number:
            dialog.locator("[data-file=photo]").set_input_files(photo_file("more.png", frame.rgb))
        expect(pictures).to_have_count(number + 1)
        expect(pictures.nth(number).locator("img")).to_have_js_property("naturalWidth", k.width)
        tip = on_table + shift  # on the table in the project's own photograph, whose depth counts
        click_picture(pictures.nth(number), *(camera.project(tip) / [k.width, k.height]))
        reach = tip - base
        turn, along = np.arctan2(reach[1], reach[0]) - yaw, np.hypot(reach[0], reach[1])
        angles = dialog.locator("figure").nth(number).get_by_label("Joint angles")
        angles.fill(f"turn={turn:.4f} reach={along:.4f}, lift={reach[2]:.4f}")
    press(dialog, "Align")
    result = dialog.locator("[data-result=base]")
    expect(result).to_be_visible(timeout=60_000)
    np.testing.assert_allclose([float(one) for one in re.findall(r"-?\d\.\d{3}", result.inner_text())], base, atol=0.02)
    expect(dialog.locator(".result")).to_contain_text(re.compile(r"clicks are up to \d+\.\d px off"))


def photo_file(name: str, rgb: np.ndarray) -> dict[str, Any]:
    return {"name": name, "mimeType": "image/png", "buffer": cv2.imencode(".png", rgb[..., ::-1])[1].tobytes()}

"""The panel that adjusts an object, and the pages that align the camera and the robot's base."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import expect_texts, press_buttons, wait_for_request, wait_until
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect
from scipy.spatial.transform import Rotation

from studio.viewer import PhotoCamera

OBJECT = 2
FIT = {"iou": 0.9, "depth_error": 0.012, "machine_fit": {"iou": 0.95, "depth_error": 0.002}, "change": "worse"}
ADD_VIEWER = """() => {
  window.heard = [];
  document.body.insertAdjacentHTML("beforeend", '<div id="twin"><iframe></iframe></div>');
  const frame = document.querySelector("#twin iframe").contentWindow;
  frame.addEventListener("message", ({ data }) => heard.push(data));
}"""


@pytest.fixture
def adjuster(mount: Mount) -> Mounted:
    """The panel of OBJECT beside a viewer that only hears; every fit is FIT, and the twin stays as it is."""
    adjuster = mount("stack", "object-list", "adjuster").keep_twin()
    adjuster.answer("adjuster", {"": FIT})
    adjuster.page.evaluate(ADD_VIEWER)
    adjuster.page.locator(f".object-list [data-id='{OBJECT}']").click()
    expect(fit(adjuster.page)).to_contain_text("outline")
    return adjuster


def fit(page: Page) -> Locator:
    return page.locator(".adjuster .fit")


def record(adjuster: Mounted) -> dict[str, Any]:
    return next(one for one in adjuster.value("adjuster")["objects"] if one["id"] == OBJECT)


def enter(adjuster: Mounted, label: str, value: float) -> dict[str, Any]:
    """Type a number; return what is decided by it."""
    field = adjuster.page.get_by_label(label)
    field.fill(str(value))
    field.press("Enter")
    adjuster.wait_until_drawn()
    return adjuster.sent[-1][1]


def say(page: Page, kind: str, **state: Any) -> None:
    page.frames[-1].evaluate("(data) => parent.postMessage(data, parent.origin)", {"type": kind, "state": state})


def angles(quat_wxyz: list[float]) -> np.ndarray:
    """Yaw, pitch and roll in degrees."""
    return Rotation.from_quat(quat_wxyz, scalar_first=True).as_euler("ZYX", degrees=True)


def test_typed_numbers_move_turn_and_resize_on_the_base_and_are_previewed_in_the_viewer(adjuster: Mounted):
    page, before = adjuster.page, record(adjuster)
    shown = [float(one.input_value()) for one in page.locator(".adjuster .pose input").all()]
    np.testing.assert_allclose(shown[:3], np.multiply(before["pos"], 100), atol=0.051)
    np.testing.assert_allclose(shown[3:6], angles(before["quat_wxyz"]), atol=0.51)
    assert shown[6] == 100
    moved = enter(adjuster, "y in cm", 12.5)
    assert (moved["kind"], moved["id"]) == ("move", OBJECT)
    np.testing.assert_allclose(moved["pos"], [shown[0] / 100, 0.125, shown[2] / 100], atol=1e-6)
    preview = [one for one in page.evaluate("heard") if one["type"] == "preview"][-1]["state"]
    assert preview["name"] == before["name"] and preview["pos"] == moved["pos"] and preview["relative_scale"] == 1
    turned = enter(adjuster, "yaw in °", 75)
    assert turned["kind"] == "move" and turned["pos"] == moved["pos"]
    np.testing.assert_allclose(angles(turned["quat_wxyz"]), [75, *shown[4:6]], atol=1e-6)
    larger = enter(adjuster, "size in %", 120)
    height = np.abs(Rotation.from_quat(turned["quat_wxyz"], scalar_first=True).as_matrix()[2]) @ before["size"]
    assert (larger["kind"], larger["scale"]) == ("resize", 1.2)
    np.testing.assert_allclose(np.subtract(larger["pos"], turned["pos"]), [0, 0, 0.1 * height], atol=1e-6)
    count = len(adjuster.sent)
    page.get_by_label("size in %").fill("0")
    page.get_by_label("size in %").press("Enter")
    assert len(adjuster.sent) == count == len(adjuster.decisions) == 3


def test_what_is_dragged_in_the_viewer_is_tried_and_recorded_when_let_go(adjuster: Mounted):
    page, before = adjuster.page, record(adjuster)
    state = {"name": before["name"], "pos": [0.1, 0.2, 0.3], "quat_wxyz": [1, 0, 0, 0], "relative_scale": 1}
    say(page, "ready")
    page.wait_for_function("() => heard.some(({ type, refused }) => type === 'adjustable' && !refused)")
    say(page, "adjusting", **state | {"name": "another"})
    say(page, "adjusting", **state)
    expect(page.get_by_label("z in cm")).to_have_value("30.0")
    expect(fit(page)).to_have_text("! worse outline 90 % (−5) · depth 1.2 cm (+1.0)")
    page.wait_for_function("() => heard.some(({ type, text }) => type === 'note' && text === 'outline 90 % (−5)')")
    assert adjuster.sent == []
    say(page, "adjusted", **state)
    wait_until(page, lambda: adjuster.kinds == ["move"])
    say(page, "adjusted", **state | {"relative_scale": 1.1})
    wait_until(page, lambda: adjuster.kinds == ["move", "resize"])
    assert adjuster.sent[-1][1]["scale"] == pytest.approx(1.1 * before["made_scale"])


def test_the_fit_says_better_the_same_settling_or_why_it_is_unknown(adjuster: Mounted):
    page, value = adjuster.page, adjuster.value("adjuster")
    expect(fit(page)).to_have_text("outline 90 % (−5) · depth 1.2 cm (+1.0)")  # nothing was changed yet
    for answer, text in (
        (FIT | {"change": "better", "depth_error": None}, "✓ better outline 90 % (−5)"),
        (FIT | {"change": "the same", "machine_fit": FIT}, "≈ same fit outline 90 % · depth 1.2 cm"),
        ({"error": "It is gone."}, "It is gone."),
    ):
        adjuster.answer("adjuster", {"": answer})
        page.get_by_label("x in cm").fill("3")
        expect(fit(page)).to_have_text(text)
        page.get_by_label("x in cm").fill("4")
    adjuster.set_value("adjuster", value | {"busy": True})
    expect(fit(page)).to_have_text("settling …")
    adjuster.set_value("adjuster", value | {"objects": [], "version": "2"})
    expect(page.locator(".adjuster")).to_be_empty()


def test_poses_are_refitted_and_reset_and_objects_are_weighed_and_exported(adjuster: Mounted):
    page, value, one = adjuster.page, adjuster.value("adjuster"), record(adjuster)
    expect(page.get_by_role("button", name="Reset pose")).to_be_disabled()
    expect(page.get_by_role("button", name="Ask the model")).to_be_disabled()
    adjuster.answer_event()  # what is sent changes nothing
    pose = {"id": OBJECT} | {key: one[key] for key in ("pos", "quat_wxyz", "scale")}
    one |= {"adjusted": True, "settle_note": "moved it 3 mm down"}
    one |= {"mass": {"value": 0.2, "range": [0.1, 0.3], "source": "", "range_source": "model seer",
                      "is_decided": False}}  # fmt: skip
    adjuster.set_value("adjuster", value | {"objects": [one], "model": "seer", "version": "2"})
    expect(page.locator(".adjuster .settled")).to_have_text("Settling: moved it 3 mm down")
    press_buttons(page, "Refit", "Refit with size", "Reset pose", "Ask the model")
    weight = {"id": OBJECT, "mass": 0.25, "friction": None}
    mass = page.get_by_label("Mass in g")
    expect(mass).to_have_value("200")
    assert enter(adjuster, "Mass in g", 250) == {"kind": "physics"} | weight
    mass.fill("-1")
    mass.press("Enter")
    expect(mass).not_to_have_value("-1")
    refits = [("decide", {"kind": "refit", **how}) for how in (pose | {"free": False}, pose | {"free": True})]
    reset = ("decide", {"kind": "refit", "id": OBJECT})
    assert adjuster.sent == [*refits, reset, ("weigh", {"id": OBJECT}), ("decide", {"kind": "physics"} | weight)]
    expect(page.get_by_role("button", name="Reset", exact=True)).to_have_count(0)  # nothing was decided
    one["mass"] |= {"value": 4.0, "source": "person", "is_decided": True}
    adjuster.set_value("adjuster", value | {"objects": [one], "model": "seer", "pending": [f"object {OBJECT}"]})
    expect(page.locator(".adjuster .physics .tag.warn")).to_have_text("! Outside 100–300")
    said = "Plausible: 100 to 300 g, says model seer"
    expect(page.locator(".adjuster .range").first).to_have_attribute("title", said)
    expect(page.locator(".adjuster .range .mark").first).to_have_attribute("style", "left: 100%;")
    expect(page.get_by_role("button", name="Asking the model")).to_be_disabled()
    enter(adjuster, "Friction", 0.55)
    page.get_by_role("button", name="Reset", exact=True).click()
    physics = [message for _, message in adjuster.sent[-2:]]
    assert [(one["mass"], one["friction"]) for one in physics] == [(4.0, 0.55), (None, None)]
    for form, suffix in (("URDF", ".urdf"), ("MJCF", ".xml")):
        with adjuster.page.expect_download() as download:
            adjuster.page.get_by_role("link", name=form).click()
        assert any(name.endswith(suffix) for name in zipfile.ZipFile(download.value.path()).namelist())


EULER = """async (turns) => {
  const { angles, quaternion, halfHeight } = await import("/static/adjuster/euler_angles.js");
  return turns.map((quat) => [angles(quat), quaternion(angles(quat)), halfHeight(quat, [0.1, 0.2, 0.3])]);
}"""


def test_euler_angles_and_half_heights_are_those_of_the_rotation(mount: Mount):
    turns = [*Rotation.random(20, random_state=0), Rotation.from_euler("ZYX", [40, 90, 0], degrees=True)]
    found = mount("").page.evaluate(EULER, [one.as_quat(scalar_first=True).tolist() for one in turns])
    for turn, (degrees, quat_wxyz, half_height) in zip(turns, found, strict=True):
        again = Rotation.from_quat(quat_wxyz, scalar_first=True)
        assert (turn.inv() * again).magnitude() < 2e-3  # angles below 0.05 degrees are shown, and kept, as 0
        assert half_height == pytest.approx(np.abs(turn.as_matrix()[2]) @ [0.05, 0.1, 0.15])
        assert turn is turns[-1] or degrees == pytest.approx(turn.as_euler("ZYX", degrees=True), abs=0.06)
    assert found[-1][0] == pytest.approx([40, 90, 0], abs=0.1)


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
        expect(align).to_be_enabled(enabled=number >= 4)
    expect(hint).to_contain_text("5 pairs.")
    expect(dialog.locator(".mark")).to_have_text([*"12345"] * 2)
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
    expect_texts(dialog, {".overlays figcaption": [re.compile("^Before"), re.compile("^After")]})
    assert aligners.kinds == []
    press_buttons(dialog, "Remove pair 5")
    expect(dialog.get_by_role("button", name="Use this camera")).to_have_count(0)  # it is that of five pairs
    press_buttons(dialog, "Align", "Use this camera")
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
    press_buttons(dialog, "■ Stop")
    wait_for_request(page, asked, kind="stop")
    assert len(held[0].request.post_data_json["pairs"]) == 5
    held.pop().fulfill(json={"stopped": True})
    expect(dialog.locator(".result")).to_have_text("Stopped.")
    align.click()
    wait_until(page, lambda: held)
    press_buttons(dialog, "Remove pair 2")
    held.pop().fulfill(json={"error": "of the pairs before"})
    expect(align).to_be_enabled()
    expect(dialog.locator(".pairs li")).to_have_count(4)
    align.click()
    wait_until(page, lambda: held)
    held.pop().fulfill(json={"error": "The points lie on one line."})
    expect(dialog.get_by_role("alert")).to_have_text("The points lie on one line.")
    page.keyboard.press("Escape")
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
    press_buttons(dialog, "Align")
    expect(dialog.get_by_role("alert")).to_contain_text("Choose one file")
    dialog.locator("[data-file=base]").set_input_files(calibration)
    expect(dialog).to_contain_text("hand_eye.json")
    press_buttons(dialog, "Align")
    result = dialog.locator("[data-result=base]")
    expect(result).to_have_text("The base stands at x 0.100, y -0.200, z 0.050 m.", timeout=60_000)
    expect(dialog.get_by_role("alert")).to_be_hidden()
    expect(dialog.locator(".overlay")).to_be_visible()
    assert aligners.kinds == []
    press_buttons(dialog, "Use this base")
    expect(dialog).to_be_hidden()
    aligners.wait_until_drawn()
    assert aligners.kinds == ["robot_base"]


def test_the_robots_base_is_found_by_clicks_on_its_tool_in_three_photographs(aligners: Mounted, tmp_path: Path):
    frame, twin = aligners.session.project.frame, aligners.session.project.scene()
    k, base, yaw = frame.intrinsics, np.array([-0.3, 0.2, 0.05]), 0.3
    camera = PhotoCamera.from_intrinsics(k, twin.world_from_camera)
    on_table = (twin.world_from_camera @ [*frame.points[int(0.9 * k.height), k.width // 2], 1])[:3]
    dialog, alert = open_robot(aligners), aligners.page.get_by_role("dialog").get_by_role("alert")
    photos = {name: tmp_path / f"{name}.png" for name in ("other", "more")}
    for photo, rgb in zip(photos.values(), (np.zeros((10, 10, 3), np.uint8), frame.rgb), strict=True):
        Image.fromarray(rgb).save(photo)
    pictures, model = dialog.locator(".click-picture"), tmp_path / "arm.xml"
    model.write_text(ARM)
    dialog.locator("[data-file=photo]").set_input_files(photos["other"])
    expect(alert).to_contain_text("other.png has another size")
    expect(pictures).to_have_count(1)
    dialog.locator("[data-file=base]").set_input_files(model)
    dialog.get_by_label("Tool: site or body of the model").fill("tip")
    click_picture(pictures.first, 0.5, 0.5)
    press_buttons(dialog, "Align")
    expect(alert).to_contain_text("Give the joint angles of each photograph")
    for number, shift in enumerate([(0, 0, 0), (0.08, 0.05, 0.1), (-0.08, 0.08, 0.05)]):
        if number:
            dialog.locator("[data-file=photo]").set_input_files(photos["more"])
        expect(pictures).to_have_count(number + 1)
        expect(pictures.nth(number).locator("img")).to_have_js_property("naturalWidth", k.width)
        tip = on_table + shift  # on the table in the project's own photograph, whose depth counts
        click_picture(pictures.nth(number), *(camera.project(tip) / [k.width, k.height]))
        reach = tip - base
        turn, along = np.arctan2(reach[1], reach[0]) - yaw, np.hypot(reach[0], reach[1])
        angles = dialog.locator("figure").nth(number).get_by_label("Joint angles")
        angles.fill(f"turn={turn:.4f} reach={along:.4f}, lift={reach[2]:.4f}")
    press_buttons(dialog, "Align")
    result = dialog.locator("[data-result=base]")
    expect(result).to_be_visible(timeout=60_000)
    np.testing.assert_allclose([float(one) for one in re.findall(r"-?\d\.\d{3}", result.inner_text())], base, atol=0.02)
    expect(dialog.locator(".result")).to_contain_text(re.compile(r"clicks are up to \d+\.\d px off"))

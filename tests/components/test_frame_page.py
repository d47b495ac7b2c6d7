"""The Frame page: depth under the pointer, the camera's numbers, the ground, the points; and a recording's frames."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import press_buttons, wait_until
from playwright.sync_api import Locator, expect

from studio.scene.frame_record import FILES

PIXEL = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)]"
BLUE, ORANGE = (0, 114, 178), (213, 94, 0)


@pytest.fixture
def view(mount: Mount) -> Mounted:
    view = mount("blocks", "frame-view").keep_twin()
    expect(view.page.locator(".frame-view .scale")).to_contain_text("Hatched: no depth")
    return view


def colour_at(canvas: Locator, pixel: Sequence[int]) -> list[int]:
    return canvas.evaluate(PIXEL, list(pixel))


def test_depth_and_height_above_the_table_are_read_under_the_pointer_in_either_picture(view: Mounted):
    page, readout, frame = view.page, view.page.locator(".frame-view .readout"), view.session.project.frame
    colour, depth = page.locator(".frame-view canvas").all()
    normal, k = view.session.support.plane, frame.intrinsics
    for canvas, (x, y) in ((colour, (100, 300)), (depth, (420, 250))):
        scale = canvas.bounding_box()["width"] / k.width
        canvas.hover(position={"x": (x + 0.5) * scale, "y": (y + 0.5) * scale})
        z = float(frame.depth[y, x])
        above = normal.normal @ [(x - k.cx) / k.fx * z, (y - k.cy) / k.fy * z, z] + normal.offset
        expect(readout.locator("span").first).to_have_text(f"x {x}  y {y}", use_inner_text=False)
        expect(readout.locator("strong")).to_have_text(f"{z:.3f} m")
        shown = float(re.findall(r"-?\d+\.\d", readout.locator("span").last.inner_text())[0])
        assert shown == pytest.approx(100 * above, abs=0.06)
    page.mouse.move(5, 790)
    expect(readout).to_contain_text("Hover over a picture")
    known = frame.depth[frame.depth > 0]
    distances = [np.quantile(known, at, method="nearest") for at in (0.03, 0.97)]
    near, far = [colour_at(depth, np.argwhere(frame.depth == one)[0][::-1].tolist()) for one in distances]
    red, _, blue = np.subtract(far, near)
    assert red > 0 or blue < 0, "from violet, near, to red, far"
    unknown = np.argwhere(frame.depth == 0)
    assert not len(unknown) or np.ptp(colour_at(depth, unknown[0][::-1].tolist())) < 12


def test_the_tables_outline_is_shown_and_hidden_and_another_ground_is_previewed_and_chosen(view: Mounted):
    page, value = view.page, view.value("frame-view")
    colour = page.locator(".frame-view canvas").first
    square = [[50, 50], [150, 50], [150, 150], [50, 150]]
    other = {"outline": [[one + 200 for one in corner] for corner in square], "pixel": [300, 300], "share": "31 %"}
    current = {"pixel": [100, 100], "chosen": True, "parallel": True}
    view.set_value("frame-view", value | {"table": square, "grounds": [current, other]})
    expect(page.get_by_role("button", name="Add surface")).to_have_count(0)

    def expect_drawn(pixel: tuple[int, int], wanted: tuple[int, ...], is_drawn: bool = True) -> None:
        wait_until(page, lambda: np.allclose(colour_at(colour, pixel), wanted, atol=60) is is_drawn)

    expect_drawn((100, 50), BLUE)
    page.get_by_role("button", name="Use surface 2 (31 % likely)").hover()
    expect_drawn((300, 250), ORANGE)
    page.mouse.move(5, 5)
    expect_drawn((300, 250), ORANGE, False)
    page.get_by_label("Table outline").uncheck()
    expect_drawn((100, 50), BLUE, False)
    view.answer_event()
    page.get_by_role("button", name="Use surface 2").click()
    assert view.sent == [("ground", {"pixel": [300, 300]})]
    shelf = other | {"pixel": [330, 300], "parallel": True}
    lifted = [[x + 200, y + 100] for x, y in square]
    for grounds, button, also in (
        ([current, shelf, other | {"parallel": True}], "Add surface 2", [[330, 300]]),
        ([current, shelf | {"chosen": True}, other | {"parallel": True}], "Add surface 3", [[330, 300], [300, 300]]),
        ([current, shelf | {"chosen": True}, other], "Remove surface 2", []),
    ):
        view.set_value("frame-view", value | {"table": square, "shelves": [lifted], "grounds": grounds})
        page.get_by_role("button", name=button).focus()
        page.keyboard.press("Enter")
        assert view.sent[-1] == ("ground", {"pixel": [100, 100], "also": also})
    expect_drawn((300, 150), BLUE, False)
    page.get_by_label("Table outline").check()
    expect_drawn((300, 150), BLUE)
    view.set_value("frame-view", value | {"notes": ["Depth is sparse."]})
    expect(page.locator(".frame-view .warning")).to_have_text("Depth is sparse.")
    expect(page.locator(".frame-view .ground")).to_have_count(0)


def test_the_cameras_numbers_are_corrected_by_hand_or_by_the_field_of_view(view: Mounted):
    page, camera = view.page, view.value("frame-view")["camera"]
    page.get_by_text("Correct the camera").click()
    form, apply = page.locator(".frame-view .camera"), page.get_by_role("button", name="Apply")
    width, angle = view.session.project.frame.intrinsics.width, page.get_by_label("Field of view")
    expect(apply).to_be_disabled()
    assert float(angle.input_value()) == pytest.approx(np.degrees(2 * np.arctan(width / 2 / camera["fx"])), abs=0.06)
    expect(form).to_contain_text("Visible table: " + " × ".join(f"{side:.2f}" for side in camera["table"]))
    angle.fill("60")
    focal = width / 2 / np.tan(np.radians(30))
    expect(page.get_by_label("Focal length y")).to_have_value(f"{focal:.1f}")
    depth = camera["median_depth"]
    expect(form).to_contain_text(f"The picture is {width / round(focal, 1) * depth:.2f} × ")
    sides = [side * np.sqrt(camera["fx"] * camera["fy"]) / round(focal, 1) for side in camera["table"]]
    expect(form).to_contain_text("about " + " × ".join(f"{side:.2f}" for side in sides))
    page.get_by_label("Focal length x").fill("")
    expect(apply).to_be_disabled()
    page.get_by_label("Focal length x").fill("600")
    page.get_by_label("Median distance").select_option("0.25")
    expect(form).to_contain_text(f"at the median depth of {depth / 4:.2f} m.")
    assert float(angle.input_value()) == pytest.approx(np.degrees(2 * np.arctan(width / 1200)), abs=0.06)
    apply.click()
    view.wait_until_drawn()
    sent: dict[str, Any] = view.sent[0][1]
    assert [sent[name] for name in ("fx", "fy")] == pytest.approx([600, focal], abs=0.06) and view.kinds == ["camera"]
    assert sent["depth_factor"] == 0.25 and np.median(view.session.project.frame.depth) < 0.3 * depth
    page.get_by_text("Correct the camera").click()
    view.set_value("frame-view", view.value("frame-view") | {"notes": []})
    page.get_by_role("button", name="Reset").click()  # the form stays open
    view.wait_until_drawn()
    assert view.sent[1] == ("camera", camera["original"])


def test_the_points_of_the_frame_are_drawn_and_read_in_world_coordinates(mount: Mount):
    cloud = mount("blocks", "point-cloud")
    page = cloud.page.frame_locator("#point-cloud iframe")
    expect(page.locator("body")).to_have_attribute("data-state", "showing", timeout=60_000)
    points = np.frombuffer(FILES["cloud.bin"](cloud.session, "").body, np.uint8)
    count = len(points) // 15
    points = points[: 12 * count].view("<f4").reshape(-1, 3)
    expect(page.locator("body")).to_have_attribute("data-points", str(count))
    page.locator("canvas").hover()
    expect(page.locator("#readout")).to_contain_text("z")
    found = [float(one) for one in re.findall(r"-?\d\.\d{3}", page.locator("#readout").inner_text())]
    assert np.abs(points - found).max(axis=1).min() < 6e-4


def test_a_recordings_frames_are_browsed_and_one_is_opened(mount: Mount):
    picker = mount("", "frame-picker")
    page, root = picker.page, picker.page.locator(".frame-picker")
    picture = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='8' height='6'/>"
    strip = {"every": 1, "pictures": [picture] * 2, "ended": True, "failure": "Frame 2 is cut off."}
    answers = {"strip": lambda one: strip | {"pictures": strip["pictures"][one["have"] :]}}
    picker.answer("frame-picker", answers | {"": lambda one: {"image": picture, "facts": f"frame {one['index']}"}})
    picker.answer_event()
    names = ["0.png", "1.png", "2.png"]
    recording = {"token": "t", "name": "a_log", "kind": "rosbag", "times": [0, 0.5, 1], "names": names}
    picker.set_value("frame-picker", recording)
    expect(root).to_contain_text("a log: rosbag, 3 frames. Choose one to open.")
    expect(root.get_by_role("slider")).to_be_focused()
    expect(root.locator(".strip img:visible")).to_have_count(2)
    expect(root).to_contain_text("Frame 2 is cut off.")
    for name, index in (("Previous frame", 0), ("Next frame", 1), ("Next frame", 2), ("Next frame", 2)):
        press_buttons(root, name)
        expect(root).to_contain_text(f"Frame {index} of 0–2: {index}.png, {recording['times'][index]:.2f} s")
        expect(root.get_by_role("status")).to_have_text(f"frame {index}")
        expect(root.locator(".preview img")).to_be_visible()
    press_buttons(root, "Also this view")
    expect(root).to_contain_text("Further views: 2")
    root.get_by_role("slider").fill("1")
    expect(root).to_contain_text("Frame 1 of")
    picker.answer("frame-picker", answers | {"": {"error": "Frame 0 has no depth."}})
    press_buttons(root, "Previous frame")
    expect(root.get_by_role("status")).to_have_text("Frame 0 has no depth.")
    expect(root.locator(".preview img")).to_be_hidden()
    press_buttons(root, "Next frame", "Open this frame")
    expect(root).to_be_hidden()
    picker.set_value("frame-picker", recording | {"token": "u"})
    press_buttons(root, "Close")
    expect(root).to_be_hidden()
    picker.set_value("frame-picker", recording | {"token": "v", "names": ["0.png"]})
    page.wait_for_function("() => bare.sent.length === 2")
    assert picker.sent == [("open", {"token": "t", "index": 1, "views": [2]}), ("open", {"token": "v", "index": 0})]

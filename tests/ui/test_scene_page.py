"""The Scene page: an object moved, resized, fitted again and weighed by hand, and exported; and the twin compared with
the photograph in every mode."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from browser.app_page import LONG, OpenProject, open_tab, screenshot, undo_button
from playwright.sync_api import Frame, Locator, Page, expect

from pipeline.frame import Intrinsics
from pipeline.project import Project

SCENE, OBJECT = "stack", 2


@pytest.fixture
def scene(project: OpenProject) -> OpenProject:
    """A project of its own with the Scene page open and OBJECT selected."""
    page = project.page
    open_tab(page, "Scene")
    expect(page.frame_locator("#twin iframe").locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    page.locator(".object-list .row", has=page.locator(f".chip:text-is('{OBJECT}')")).click()
    wait_until_settled(page)
    return project


def wait_until_settled(page: Page) -> None:
    """Wait until the twin has settled with the last decision."""
    expect(fit(page)).to_contain_text("outline", timeout=LONG)


def fit(page: Page) -> Locator:
    return page.locator(".adjuster .fit")


def machine_pose(page: Page) -> Locator:
    return page.get_by_role("button", name="Reset pose")


def viewer(page: Page) -> Frame:
    return next(frame for frame in page.frames if "/viewer/" in frame.url)


def placement(project: OpenProject) -> dict[str, Any]:
    """OBJECT's placement in scene.json."""
    return next(each for each in project.json("scene.json")["placements"] if each["segment_id"] == OBJECT)


def resize(project: OpenProject, percent: int) -> None:
    size = project.page.get_by_label("size in %")
    size.fill(str(percent))
    size.press("Enter")
    wait_until_settled(project.page)


def test_arrow_keys_move_the_selected_object_and_update_its_fit(scene: OpenProject):
    page, frame = scene.page, viewer(scene.page)
    before = placement(scene)["world_from_object"]["pos"]
    frame.locator("[data-adjust=translate]").click()
    frame.locator("#canvas").focus()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    expect(fit(page).locator(".tag")).to_contain_text("worse", timeout=LONG)
    expect(undo_button(page)).to_be_enabled()
    wait_until_settled(page)
    assert set(scene.kinds) == {"move"}  # one, or two where the browser was slow between the keys
    after = scene.decisions[-1]["data"]["pos"]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) == pytest.approx(0.02, abs=0.002)
    expect(machine_pose(page)).to_be_enabled()


def test_a_typed_size_resizes_an_object_on_its_base(scene: OpenProject):
    before = placement(scene)
    resize(scene, round(before["scale"] * 120))
    assert scene.kinds == ["resize"]
    after = placement(scene)
    assert after["scale"] == pytest.approx(1.2 * before["scale"], abs=0.01)
    base = [each["world_from_object"]["pos"][2] - each["size"][2] / 2 for each in (before, after)]
    assert base[0] == pytest.approx(base[1], abs=0.003)


def test_a_refit_and_a_reset_undo_what_was_done_by_hand(scene: OpenProject):
    page = scene.page
    resize(scene, round(placement(scene)["scale"] * 120))
    page.get_by_role("button", name="Refit with size").click()
    expect(fit(page)).to_contain_text("settling")
    wait_until_settled(page)
    assert scene.kinds[-1] == "refit"
    machine_pose(page).click()
    wait_until_settled(page)
    expect(machine_pose(page)).to_be_disabled(timeout=LONG)
    assert placement(scene)["found"] is None


def test_a_mass_out_of_range_is_marked_and_reaches_the_model(scene: OpenProject):
    page, warning = scene.page, scene.page.locator(".adjuster .physics .tag.warn")
    mass = page.get_by_label("Mass in g")
    mass.fill("4000")
    mass.press("Enter")
    expect(warning).to_contain_text("Outside")
    wait_until_settled(page)
    assert placement(scene)["mass"] == 4.0
    assert placement(scene)["mass_source"] == "person"
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(warning).to_have_count(0)
    wait_until_settled(page)


@pytest.mark.parametrize(("form", "suffix"), [("URDF", ".urdf"), ("MJCF", ".xml")])
def test_an_object_is_exported_with_its_meshes(scene: OpenProject, form: str, suffix: str):
    with scene.page.expect_download() as download:
        scene.page.get_by_role("link", name=form).click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
        names = archive.namelist()
    assert any(name.endswith(".obj") for name in names)
    assert any(name.endswith(suffix) for name in names)


@pytest.mark.parametrize(("mode", "shown"), [("edges", "#photo"), ("depth", "#difference"), ("beside", "#photo")])
def test_the_twin_is_compared_with_the_photograph(scene: OpenProject, mode: str, shown: str):
    frame = viewer(scene.page)
    frame.locator("button[data-view=photo]").click()
    button = frame.locator(f"[data-compare={mode}]")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(frame.locator(shown)).to_be_visible()
    expect(frame.locator("#legend")).to_be_visible(visible=mode == "depth")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_b_blinks_over_the_photograph_and_escape_ends_a_tool(scene: OpenProject):
    page, frame = scene.page, viewer(scene.page)
    frame.locator("button[data-view=photo]").click()
    frame.locator("#canvas").focus()
    page.keyboard.press("b")
    expect(frame.locator("#blink")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("b")
    expect(frame.locator("#blink")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("t")
    expect(frame.locator("[data-adjust=rotate]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(frame.locator("[data-adjust=rotate]")).to_have_attribute("aria-pressed", "false")


def test_the_camera_is_aligned_by_pairs_of_clicks_and_the_result_is_seen_before_it_is_taken(scene: OpenProject):
    page = scene.page
    page.locator("[data-act=open-alignment]").click()
    dialog = page.get_by_role("dialog", name="Align the camera")
    click_pairs(dialog)
    align = dialog.get_by_role("button", name="Align", exact=True)
    align.click()
    expect(dialog.locator("[data-result=uncertainty]")).to_contain_text("Standard deviation", timeout=LONG)
    expect(dialog.locator(".overlays figcaption")).to_have_text(
        ["Before: the twin's outlines by its own camera", "After: by the aligned camera"]
    )
    assert scene.kinds == []
    dialog.get_by_role("button", name="Use this camera").click()
    expect(dialog).to_be_hidden()
    expect(undo_button(page)).to_be_enabled(timeout=LONG)
    assert scene.kinds == ["camera_pose"]


def click_pairs(dialog: Locator) -> None:
    """Click five points in the photograph and at the same places of the twin, seen from the photograph's camera."""
    pictures, align = dialog.locator(".click-picture"), dialog.get_by_role("button", name="Align", exact=True)
    dialog.page.wait_for_function(
        "() => [...document.querySelectorAll('.click-picture img')].every((one) => one.naturalWidth > 0)", timeout=LONG
    )
    for number, (x, y) in enumerate([(0.25, 0.4), (0.75, 0.45), (0.7, 0.8), (0.3, 0.85), (0.5, 0.6)], 1):
        for picture in (pictures.nth(0), pictures.nth(1)):
            box = picture.bounding_box()
            assert box is not None
            picture.click(position={"x": x * box["width"], "y": y * box["height"]})
        expect(dialog.locator(".pairs li")).to_have_count(number)
        expect(align).to_be_enabled() if number >= 4 else expect(align).to_be_disabled()


def test_the_alignment_of_the_camera_is_stopped(scene: OpenProject):
    page = scene.page
    page.locator("[data-act=open-alignment]").click()
    dialog = page.get_by_role("dialog", name="Align the camera")
    click_pairs(dialog)
    align = dialog.get_by_role("button", name="Align", exact=True)
    align.click()
    dialog.locator("[data-act=stop]").click()
    expect(dialog.locator("[role=status]", has_text="Stopped.")).to_be_visible(timeout=LONG)
    expect(align).to_be_enabled()
    page.keyboard.press("Escape")
    assert scene.kinds == []


LOOKER = {"user": "lou", "role": "look", "refused": ["adjuster.decide", "mask-canvas.decide"], "editors": []}


def test_a_person_who_only_looks_sees_the_tools_dimmed_and_draws_no_mask(scene: OpenProject):
    page = scene.page
    page.route("**/account.json", lambda route: route.fulfill(json=LOOKER))
    scene.reopen()
    open_tab(page, "Scene")
    expect(page.frame_locator("#twin iframe").locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    page.locator(".object-list .row").first.click()
    tools = viewer(page).locator("#adjust")
    expect(tools).to_have_class(re.compile("refused"))
    viewer(page).locator("#canvas").press("m")
    expect(viewer(page).locator("[data-adjust=translate]")).to_have_attribute("aria-pressed", "false")
    open_tab(page, "Masks")
    expect(page.locator(".mask-canvas [data-act='tool:brush']")).to_have_class(re.compile("refused"))
    canvas = page.locator(".mask-canvas canvas")
    canvas.press("n")
    canvas.press("b")
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] - 20})
    expect(page.locator(".mask-canvas .hint")).to_contain_text("not change them")
    expect(page.locator(".mask-canvas [data-act=accept]")).to_have_count(0)
    page.unroute("**/account.json")
    assert scene.kinds == []


def test_the_robots_base_is_aligned_by_a_hand_eye_file_and_seen_before_it_is_taken(scene: OpenProject, tmp_path: Path):
    page, calibration = scene.page, tmp_path / "hand_eye.json"
    calibration.write_text(json.dumps({"world_from_base": {"pos": [0.1, -0.2, 0.05], "quat_wxyz": [1, 0, 0, 0]}}))
    page.locator("[data-act=open-robot-alignment]").click()
    dialog = page.get_by_role("dialog", name="Align the robot")
    align = dialog.get_by_role("button", name="Align", exact=True)
    align.click()
    expect(dialog.get_by_role("alert")).to_be_visible(timeout=LONG)
    dialog.locator("[data-file=base]").set_input_files(calibration)
    align.click()
    expect(dialog.locator("[data-result=base]")).to_have_text(
        "The base stands at x 0.100, y -0.200, z 0.050 m.", timeout=LONG
    )
    expect(dialog.get_by_role("alert")).to_be_hidden()
    expect(dialog.locator(".overlay")).to_be_visible()
    screenshot(page, "robot_alignment")
    before = scene.kinds
    dialog.get_by_role("button", name="Use this base").click()
    expect(dialog).to_be_hidden()
    expect(undo_button(page)).to_be_enabled(timeout=LONG)
    assert scene.kinds == [*before, "robot_base"]


ARM = """<mujoco><worldbody><body><joint name="turn" axis="0 0 1"/><geom size=".02"/><body>
  <joint name="reach" type="slide" axis="1 0 0"/><geom size=".02"/><body>
  <joint name="lift" type="slide" axis="0 0 1"/><geom size=".02"/><site name="tip"/>
</body></body></body></worldbody></mujoco>"""


def test_the_robots_base_is_found_by_clicks_on_its_tool_in_three_photographs(scene: OpenProject, tmp_path: Path):
    page, frame, twin = scene.page, Project.open(scene.folder).frame, Project.open(scene.folder).scene()
    assert twin is not None
    camera_from_world, k = np.linalg.inv(twin.world_from_camera), frame.intrinsics
    base, yaw = np.array([-0.3, 0.2, 0.05]), 0.3
    on_table = table_point(twin.world_from_camera, k, (0.5 * k.width, 0.9 * k.height))
    model, photo = tmp_path / "arm.xml", tmp_path / "second.png"
    model.write_text(ARM)
    photo.write_bytes(cv2.imencode(".png", frame.rgb[..., ::-1])[1].tobytes())
    page.locator("[data-act=open-robot-alignment]").click()
    dialog = page.get_by_role("dialog", name="Align the robot")
    dialog.locator("[data-file=base]").set_input_files(model)
    dialog.get_by_label("Tool: site or body of the model").fill("tip")
    pictures = dialog.locator(".click-picture")
    for number, shift in enumerate([(0, 0, 0), (0.08, 0.05, 0.1), (-0.08, 0.08, 0.05)]):
        if number:
            dialog.locator("[data-file=photo]").set_input_files(photo)
        expect(pictures).to_have_count(number + 1)
        expect(pictures.nth(number).locator("img")).to_be_visible(timeout=LONG)
        tip = on_table + shift  # on the table in the project's own photograph, whose depth counts
        x, y, z = camera_from_world[:3, :3] @ tip + camera_from_world[:3, 3]
        u, v = k.fx * x / z + k.cx, k.fy * y / z + k.cy
        box = pictures.nth(number).locator("img").bounding_box()
        assert box is not None
        right, down = (u + 0.5) / k.width * box["width"], (v + 0.5) / k.height * box["height"]
        pictures.nth(number).click(position={"x": right, "y": down})
        reach = tip - base
        turn, along = np.arctan2(reach[1], reach[0]) - yaw, np.hypot(reach[0], reach[1])
        angles = dialog.locator("figure").nth(number).get_by_label("Joint angles")
        angles.fill(f"turn={turn:.4f} reach={along:.4f} lift={reach[2]:.4f}")
    dialog.get_by_role("button", name="Align", exact=True).click()
    expect(dialog.locator("[data-result=base]")).to_be_visible(timeout=LONG)
    screenshot(page, "robot_clicks")
    found = [float(number) for number in re.findall(r"-?\d\.\d{3}", dialog.locator("[data-result=base]").inner_text())]
    np.testing.assert_allclose(found, base, atol=0.02)
    before = scene.kinds
    dialog.get_by_role("button", name="Use this base").click()
    expect(undo_button(page)).to_be_enabled(timeout=LONG)
    assert scene.kinds == [*before, "robot_base"]


def table_point(world_from_camera: np.ndarray, k: Intrinsics, pixel: tuple[float, float]) -> np.ndarray:
    """Return the point of the plane z = 0 that is seen at a pixel, in world coordinates."""
    ray = world_from_camera[:3, :3] @ [(pixel[0] - k.cx) / k.fx, (pixel[1] - k.cy) / k.fy, 1.0]
    start = world_from_camera[:3, 3]
    return start - start[2] / ray[2] * ray


def test_a_photograph_of_another_camera_is_refused_and_clicks_need_joint_angles(scene: OpenProject, tmp_path: Path):
    page, other, model = scene.page, tmp_path / "other.png", tmp_path / "arm.xml"
    other.write_bytes(cv2.imencode(".png", np.zeros((10, 10, 3), np.uint8))[1].tobytes())
    model.write_text("<mujoco/>")
    page.locator("[data-act=open-robot-alignment]").click()
    dialog = page.get_by_role("dialog", name="Align the robot")
    expect(dialog.locator(".click-picture img")).to_be_visible(timeout=LONG)
    dialog.locator("[data-file=photo]").set_input_files(other)
    expect(dialog.get_by_role("alert")).to_contain_text("other.png has another size")
    expect(dialog.locator(".click-picture")).to_have_count(1)
    dialog.locator("[data-file=base]").set_input_files(model)
    dialog.locator(".click-picture").click()
    dialog.get_by_role("button", name="Align", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Give the joint angles of each photograph", timeout=LONG)
    dialog.get_by_label("Joint angles (rad): Photograph").fill("shoulder=0.4 elbow=-1.2")
    dialog.get_by_role("button", name="Align", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("arm.xml", timeout=LONG)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

"""The panel that adjusts an object: typed poses and sizes, drags in the viewer, fits, mass and friction, exports."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import wait_until
from playwright.sync_api import Locator, Page, expect
from scipy.spatial.transform import Rotation

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
    select(adjuster.page)
    return adjuster


def select(page: Page) -> None:
    page.locator(f".object-list [data-id='{OBJECT}']").click()
    expect(fit(page)).to_contain_text("outline")


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


def test_poses_are_refitted_and_reset_and_objects_are_weighed(adjuster: Mounted):
    page, value, one = adjuster.page, adjuster.value("adjuster"), record(adjuster)
    expect(page.get_by_role("button", name="Reset pose")).to_be_disabled()
    expect(page.get_by_role("button", name="Ask the model")).to_be_disabled()
    page.route("**/bare/event/**", lambda route: route.fulfill(json={}))  # what is sent changes nothing
    pose = {"id": OBJECT} | {key: one[key] for key in ("pos", "quat_wxyz", "scale")}
    one |= {"adjusted": True, "settle_note": "moved it 3 mm down"}
    one |= {"mass": {"value": 0.2, "range": [0.1, 0.3], "source": ""}}
    adjuster.set_value("adjuster", value | {"objects": [one], "model": "seer", "version": "2"})
    expect(page.locator(".adjuster .settled")).to_have_text("Settling: moved it 3 mm down")
    for name in ("Refit", "Refit with size", "Reset pose", "Ask the model"):
        page.get_by_role("button", name=name, exact=True).click()
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
    one |= {"mass": {"value": 4.0, "range": [0.1, 0.3], "source": "person"}}
    adjuster.set_value("adjuster", value | {"objects": [one], "model": "seer", "pending": [f"object {OBJECT}"]})
    expect(page.locator(".adjuster .physics .tag.warn")).to_have_text("! Outside 100–300")
    expect(page.locator(".adjuster .range .mark").first).to_have_attribute("style", "left: 100%;")
    expect(page.get_by_role("button", name="Asking the model")).to_be_disabled()
    enter(adjuster, "Friction", 0.55)
    page.get_by_role("button", name="Reset", exact=True).click()
    physics = [message for _, message in adjuster.sent[-2:]]
    assert [(one["mass"], one["friction"]) for one in physics] == [(4.0, 0.55), (None, None)]


def test_a_size_typed_in_percent_reaches_the_twin_and_objects_are_exported_with_their_meshes(mount: Mount):
    adjuster = mount("stack", "object-list", "adjuster")
    page = adjuster.page
    select(page)

    def placement() -> dict[str, Any]:
        return next(one for one in adjuster.json("scene.json")["placements"] if one["segment_id"] == OBJECT)

    before = placement()
    enter(adjuster, "size in %", 120)
    after = placement()
    bases = [one["world_from_object"]["pos"][2] - one["size"][2] / 2 for one in (before, after)]
    assert after["scale"] == pytest.approx(1.2 * before["scale"], abs=0.01)
    assert bases[0] == pytest.approx(bases[1], abs=0.003)
    expect(fit(page)).to_contain_text("worse")
    for form, suffix in (("URDF", ".urdf"), ("MJCF", ".xml")):
        with page.expect_download() as download:
            page.get_by_role("link", name=form).click()
        names = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())).namelist()
        assert any(name.endswith(".obj") for name in names) and any(name.endswith(suffix) for name in names)
    page.get_by_role("button", name="Reset pose").click()
    adjuster.wait_until_drawn()
    expect(page.get_by_role("button", name="Reset pose")).to_be_disabled()
    assert placement()["found"] is None and placement()["scale"] == pytest.approx(before["scale"])


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

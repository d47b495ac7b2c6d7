"""What the mask room keeps with the project: masks found anew, another camera, names of what was dropped; and how
SAM 2's standing is told."""

import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import FrameError, load
from pipeline.project import Project
from pipeline.segmentation import Segment, SegmentationError, rle
from studio.camera import camera, given
from studio.dropping import Drops, name_of, recording_of
from studio.segmenters import everything
from studio.services import Settings
from studio.session import SessionError, next_id

SAMPLES = Path(__file__).parents[2] / "sample_scenes"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.create(tmp_path / "table", load(SAMPLES / "blocks"))
    shape = project.frame.depth.shape
    masks = [np.zeros(shape, bool), np.zeros(shape, bool)]
    masks[0][10:40, 10:40] = masks[1][60:90, 60:90] = True
    project.keep_segments(tuple(Segment(i, mask, 1.0, "depth") for i, mask in enumerate(masks, 1)))
    return project


def test_masks_found_anew_take_the_place_of_all_until_undo(project: Project):
    before = project.segments() or ()
    mask = np.zeros(project.frame.depth.shape, bool)
    mask[5:30, 5:30] = True
    project.decide("delete_segment", id=2)
    project.decide("found", source="sam2", masks=[{"id": 4, "mask": rle(mask), "score": 0.8}])
    (only,) = project.segments() or ()
    assert (only.id, only.source, only.score) == (4, "sam2", 0.8) and (only.mask == mask).all()
    assert next_id(project) == 5
    again = Project.open(project.folder).segments() or ()
    assert [one.id for one in again] == [4], "it is there again after a restart"
    project.undo()
    project.undo()
    assert [(one.id, one.mask.sum()) for one in project.segments() or ()] == [(b.id, b.mask.sum()) for b in before]


def test_another_camera_changes_what_is_measured_and_undo_takes_it_back(project: Project):
    came, keys = project.frame, project.key("frame")
    told = {"fx": came.intrinsics.fx * 0.8, "fy": came.intrinsics.fy * 0.8, "cx": 100.0, "cy": 90.0}
    project.decide("camera", **told)
    assert project.frame.intrinsics.fx == told["fx"] and project.frame.rgb is came.rgb
    assert project.frame is project.frame and project.key("frame") != keys
    assert Project.open(project.folder).frame.intrinsics == project.frame.intrinsics
    project.undo()
    assert project.frame.intrinsics == came.intrinsics and project.key("frame") == keys


def test_the_table_grows_as_the_focal_length_shrinks(project: Project):
    before = camera(project.frame, project.frame_as_it_came, project.support)
    k = project.frame.intrinsics
    project.decide("camera", **given({"fx": k.fx / 1.2, "fy": k.fy / 1.2, "cx": k.cx, "cy": k.cy}, project.frame))
    after = camera(project.frame, project.frame_as_it_came, project.support)
    assert after["changed"] and not before["changed"] and after["came"] == before["came"]
    assert before["table"] and after["table"] and after["table"][0] > 1.05 * before["table"][0]


@pytest.mark.parametrize("wrong", [{"fx": 3.0}, {"fy": float("nan")}, {"cx": -5.0}, {"fx": "wide"}, {"fx": None}])
def test_numbers_that_no_camera_has_are_refused_in_one_line(wrong: dict):
    frame = load(SAMPLES / "blocks")
    told = {key: getattr(frame.intrinsics, key) for key in ("fx", "fy", "cx", "cy")} | wrong
    with pytest.raises(FrameError) as error:
        given(told, frame)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["kitchen_3.zip"], "kitchen_3"),
        (["desk_rgb.png", "desk_depth.png", "desk_camera.json"], "desk"),
        (["rgb_mugs-2.png", "depth_mugs-2.png", "camera_mugs-2.json"], "mugs_2"),
        (["rgb.png", "depth.png", "camera.json"], "table_2026_11_22_0304"),
        (["frame.npz"], "table_2026_11_22_0304"),
    ],
)
def test_a_project_is_named_after_what_its_files_say_else_after_the_day(files: list[str], name: str):
    assert name_of([Path(file) for file in files], time.strptime("2026-11-22 03:04", "%Y-%m-%d %H:%M")) == name


def test_a_drop_is_looked_through_and_an_old_one_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for place in ("first", "second"):
        (tmp_path / place).symlink_to(SAMPLES / "blocks")
    drops = Drops(keep=1)
    token = drops.add([SAMPLES / "blocks" / name for name in ("rgb.png", "depth.png", "camera.json")])
    dropped = drops.get(token)
    assert len(dropped.recording) == 1 and dropped.called(0) == dropped.name
    assert dropped.recording.frame(0).rgb.shape == load(SAMPLES / "blocks").rgb.shape
    several = [tmp_path / f"{kind}_{number}.png" for kind in ("rgb", "depth") for number in (1, 2)]
    for file in several:
        file.symlink_to(SAMPLES / "blocks" / f"{file.stem[:-2]}.png")
    last = drops.add(several)
    with pytest.raises(SessionError, match="drop them again"):
        drops.get(token)
    assert [copies.name for copies in tmp_path.glob("grs-studio-dropped-*/*")] == [last]
    drops.add([SAMPLES / "blocks" / name for name in ("rgb.png", "depth.png")])
    assert not list(tmp_path.glob("grs-studio-dropped-*/*"))
    with pytest.raises(FrameError, match="must say depth"):
        recording_of([SAMPLES / "blocks" / "rgb.png"], tmp_path / "copies")
    with pytest.raises(SessionError, match="Nothing was dropped"):
        drops.add([])


def test_settings_of_sam2_come_from_the_browser_and_are_checked(monkeypatch: pytest.MonkeyPatch):
    told = everything({"points_per_side": 8.0, "keep_all": True, "unknown": 1})
    assert told.points_per_side == 8 and told.keep_all is True and told.box_nms_thresh == 0.7
    for wrong in (
        {"points_per_side": 500},
        {"pred_iou_thresh": 2},
        {"points_per_side": "many"},
        {"points_per_side": None},
    ):
        with pytest.raises(SegmentationError):
            everything(wrong)
    monkeypatch.setenv("GRS_SAM2_DEVICE", "mps")
    assert Settings.from_environment().device == "mps"


def test_a_checkpoint_that_cannot_be_loaded_leaves_the_clicks_to_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch = pytest.importorskip("torch", reason="LIGHT set-up: torch and sam2 are not installed")
    pytest.importorskip("sam2", reason="LIGHT set-up: torch and sam2 are not installed")
    from pipeline.segmentation import DepthSegmenter, Prompt
    from studio.segmenters import Views

    layer = {"image_encoder.trunk.patch_embed.proj.weight": torch.zeros(7, 3, 7, 7)}
    torch.save({"model": layer}, tmp_path / "odd.pt")
    monkeypatch.setenv("GRS_SAM2", str(tmp_path / "odd.pt"))
    frame = load(SAMPLES / "blocks")
    views = Views(frame, DepthSegmenter())
    assert views.state("sam2")["word"] == "idle"
    views.choose("sam2")
    views.open("sam2").wait(60)  # type: ignore[attr-defined]
    told = views.state("sam2")
    assert told["word"] == "failed" and "\n" not in told["note"]
    height, width = frame.depth.shape
    (best, *_) = views.ask(Prompt(np.array([[width / 2, height / 2]]), np.array([1])))
    assert best.source == "depth" and views.chosen == "sam2"
    views.choose("sam2")  # tries again
    assert views.state("sam2")["word"] in ("queued", "loading", "failed")

"""Masks: automatic ones in steps, operations, run lengths, files, formats of other programs, prompts.

Of regions without height and the faces of one wall: what is added, extended, joined, or left as it is.
"""

import io
import json
import operator
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image
from scipy import ndimage

from pipeline import segmentation
from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import ScriptedSegmenter, Segment, SegmentationError, encode_rle, read_prompts
from pipeline.segmentation.automatic import assign_ids, automatic_steps
from pipeline.segmentation.coco import decompress_counts
from pipeline.segmentation.depth.foreground import is_plausible, merge_foreground
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.instance_split import merge_vertically, share_wall
from pipeline.segmentation.exchange import MaskFormat, read_masks, write_masks
from pipeline.segmentation.label_studio import build_task, decode_brush, encode_brush
from pipeline.segmentation.mask_operations import fill_holes, iou, join_greedily, padded_window, part_at_pixel
from pipeline.segmentation.segment import NamedMask
from tests.frame.rendered import render

FRAME = Frame(np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), np.float32), Intrinsics(8, 8, 8, 8, 4, 4))


def square(row: int, column: int, side: int = 3) -> np.ndarray:
    mask = np.zeros((8, 8), bool)
    mask[row : row + side, column : column + side] = True
    return mask


def drain(steps) -> tuple[list, tuple[Segment, ...]]:
    progress = []
    while True:
        try:
            progress.append(next(steps))
        except StopIteration as end:
            return progress, end.value


class SlowView:
    """A view like SAM 2's: it encodes the frame, then segments it in steps."""

    def __init__(self, fails: bool = False):
        self.statuses = iter(["queued", "loading", "encoding", "ready"])
        self.cancelled, self.fails, self.settings = False, fails, None

    def wait(self, timeout=None):
        return SimpleNamespace(status=next(self.statuses), progress=0.5)

    def automatic_steps(self, settings=None):
        self.settings = settings
        if self.fails:
            raise SegmentationError("no weights")
        yield 0.5
        yield 1.0
        return (Segment(1, square(0, 0)),)

    def cancel(self):
        self.cancelled = True


def test_a_view_reports_its_progress_or_takes_one_step_raises_its_errors_and_is_cancelled_when_closed():
    view = ScriptedSegmenter([square(0, 0), square(4, 4, 4)]).open(FRAME)
    progress, segments = drain(automatic_steps(view))
    assert len(progress) == 1 and [(one.id, int(one.mask.sum())) for one in segments] == [(1, 9), (2, 16)]
    view = SlowView()
    progress, segments = drain(automatic_steps(view, "settings"))
    assert [step.done for step in progress] == [50, 50, 50, 50, 100] and all(step.total == 100 for step in progress)
    assert len({step.message for step in progress}) == 4 and len(segments) == 1 and view.settings == "settings"
    with pytest.raises(SegmentationError, match="no weights"):
        drain(automatic_steps(SlowView(fails=True)))
    for steps in (1, 3, 4):
        view = SlowView()
        work = automatic_steps(view)
        for _ in range(steps):
            next(work)
        work.close()
        assert view.cancelled


def test_known_objects_keep_their_ids_none_is_lost_or_given_twice_and_merging_split_segments_restores_the_mask():
    before = [Segment(3, square(0, 0)), Segment(7, square(4, 4))]
    segments = [Segment(1, square(4, 4, 4)), Segment(2, square(0, 5)), Segment(3, square(0, 0))]
    now = {segment.id: segment.mask for segment in assign_ids(segments, before, first_new=8)}
    assert now.keys() == {3, 7, 8}
    assert (now[7] == square(4, 4, 4)).all() and (now[3] == square(0, 0)).all() and (now[8] == square(0, 5)).all()
    before = [Segment(i, square(0, 0)) for i in (1, 2)]
    segments = [Segment(i, square(0, 0)) for i in (1, 2, 3)]
    assert sorted(segment.id for segment in assign_ids(segments, before, first_new=3)) == [1, 2, 3]
    mask = np.zeros((60, 100), bool)
    mask[10:50, 5:45] = mask[10:50, 55:95] = mask[28:32, 40:60] = True
    parts = segmentation.split(segmentation.Segment(3, mask), first_id=7)
    assert [part.id for part in parts] == [3, 7] and not (parts[0].mask & parts[1].mask).any()
    assert np.array_equal(segmentation.merge(parts).mask, mask) and segmentation.merge(parts).id == 3
    mask = np.zeros((40, 40), bool)
    mask[5:35, 5:35] = True
    with pytest.raises(segmentation.SegmentationError, match="no neck"):
        segmentation.split(segmentation.Segment(1, mask), first_id=2)
    with pytest.raises(segmentation.SegmentationError, match="two segments or more"):
        segmentation.merge([segmentation.Segment(1, mask)])


def test_holes_iou_windows_parts_and_joins_of_masks_are_exact():
    for seed in range(20):
        mask = np.random.default_rng(seed).random((17, 23)) < 0.6
        assert np.array_equal(fill_holes(mask), ndimage.binary_fill_holes(mask))
    mask = np.eye(5, dtype=bool)
    assert iou(mask, mask) == 1 and iou(mask, ~mask) == 0 and iou(mask & False, mask & False) == 0
    mask = np.zeros((20, 30), bool)
    mask[3:6, 25:28] = True
    assert padded_window(mask, 4) == (slice(0, 10), slice(21, 30))
    mask = np.eye(4, dtype=bool)
    assert part_at_pixel(mask, 1, 1).sum() == 1 and not part_at_pixel(mask, 0, 1).any()
    for items, joined in (([1, 2, 11, 3], [6, 11]), ([1, 11, 21], [1, 11, 21]), ([], [])):
        assert join_greedily(items, lambda a, b: a // 10 == b // 10, operator.add) == joined


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=24)))
def test_run_lengths_and_brush_masks_are_decoded_to_the_same_mask(mask):
    assert (decode_brush(encode_brush(mask), mask.shape) == mask).all()
    runs = segmentation.encode_rle(mask)
    assert np.array_equal(segmentation.decode_rle(runs), mask)
    assert sum(runs["counts"]) == mask.size and runs["size"] == list(mask.shape)
    assert segmentation.encode_rle(np.array([[1, 0], [1, 1]], bool))["counts"] == [0, 2, 1, 1]  # by columns, background
    with pytest.raises(segmentation.SegmentationError, match="do not fill"):
        segmentation.decode_rle({"size": [2, 2], "counts": [1, 2]})


def test_written_segments_are_read_unchanged(tmp_path):
    labels = np.zeros((20, 30), int)
    labels[2:9, 3:12], labels[10:15, 20:29] = 1, 2
    kinds = "object", "robot or hand"
    segments = [segmentation.Segment(i, labels == i, 0.5, "human", kind) for i, kind in enumerate(kinds, 1)]
    segmentation.write_segments(segments, labels.shape, tmp_path)
    loaded = segmentation.read_segments(tmp_path)
    assert [(s.id, s.score, s.source, s.kind) for s in loaded] == [
        (1, 0.5, "human", kinds[0]),
        (2, 0.5, "human", kinds[1]),
    ]
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, loaded, strict=True))
    image = np.array(Image.open(tmp_path / "masks.png"))
    assert image.dtype == np.uint16 and np.array_equal(image, labels)
    note = json.loads((tmp_path / "coco.json").read_text())["annotations"][0]
    assert note["bbox"] == [3, 2, 9, 7] and note["area"] == 63
    (tmp_path / "coco.json").write_text("{")
    with pytest.raises(segmentation.SegmentationError, match="segment the frame again"):
        segmentation.read_segments(tmp_path)


@pytest.fixture(scope="module")
def frame():
    return render(width=160).frame


def prompts(tmp_path, frame, text):
    file = tmp_path / "prompts.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return read_prompts(file, frame)


def test_prompts_are_read_by_id_and_invalid_ones_refused_in_one_line(tmp_path, frame):
    objects = [{"id": 4, "points": [[10, 20, 1], [30.5, 40, 0]], "box": None}, {"id": 2, "box": [1, 2, 30, 40]}]
    by_id = prompts(tmp_path, frame, {"objects": objects})
    assert list(by_id) == [4, 2]
    assert by_id[4].points.tolist() == [[10, 20], [30.5, 40]] and by_id[4].labels.tolist() == [1, 0]
    assert by_id[2].box is not None and by_id[2].box.tolist() == [1, 2, 30, 40]
    for text, message in (
        ("{", "not JSON"),
        ({"objects": []}, "no objects"),
        ({"objects": [3]}, "id is None"),
        ({"objects": [{"id": 1}]}, "object 1: An empty prompt"),
        ({"objects": [{"id": 1, "points": [[5, 5, 1]]}, {"id": 1, "points": [[5, 5, 1]]}]}, "given twice"),
        ({"objects": [{"id": 1, "points": [[500, 5, 1]]}]}, "object 1: Point 500, 5 lies outside"),
        ({"objects": [{"id": 1, "points": [[5, 5]]}]}, "points should be"),
        ({"objects": [{"id": 1, "points": [[5, 5, 0]]}]}, "must be a plus"),
        ({"objects": [{"id": 1, "box": [1, 2]}]}, "box should be"),
        ({"objects": [{"id": 1, "box": [50, 50, 40, 60]}]}, "object 1: .*box"),
        ({"objects": [{"id": 1, "points": [[5, 5, 2]]}]}, "Labels are 1"),
    ):
        with pytest.raises(SegmentationError, match=rf"\A.*({message}).*\Z"):
            prompts(tmp_path, frame, text)


FORMATS: tuple[MaskFormat, ...] = ("coco", "cvat", "label-studio", "labels", "images")
SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=24)
LABELS = SHAPES.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 4))).filter(lambda a: a.any())


def objects(labels: np.ndarray) -> tuple[NamedMask, ...]:
    return tuple(NamedMask(int(i) * 3, f"object {i}", labels == i) for i in np.unique(labels) if i)


@pytest.mark.parametrize("form", FORMATS)
@given(labels=LABELS)
@settings(max_examples=30)
def test_exported_masks_are_imported_unchanged(form: MaskFormat, labels: np.ndarray):
    sent = objects(labels)
    name, data = write_masks(form, sent, labels.shape)
    back = read_masks(data, labels.shape)
    assert [item.id for item in back] == [item.id for item in sent], name
    assert all((a.mask == b.mask).all() for a, b in zip(back, sent, strict=True))
    if form != "labels":
        assert [item.name.replace("_", " ") for item in back] == [item.name for item in sent]


def test_brush_runs_and_compressed_run_lengths_are_read_and_packed_as_label_studio_and_coco_do():
    mask = np.zeros((400, 300), bool)
    mask[300:] = True
    assert (decode_brush(encode_brush(mask), mask.shape) == mask).all()
    words = [0, 0, 0, 255, 9, 9, 9, 0]
    bits = f"{8:032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in (3, 4, 8, 16))
    bits += f"0{0:02b}{7:03b}" + "".join(f"{word:08b}" for word in words)
    data = [int(bits.ljust(-(-len(bits) // 8) * 8, "0")[i : i + 8], 2) for i in range(0, len(bits), 8)]
    assert decode_brush(data, (1, 2)).tolist() == [[True, False]]
    # Count 20, then 57, 27: words of 8 bits, lengths of 3, 4, 8 and 16 (the head of the example in its tests).
    assert encode_brush(np.ones((1, 5), bool))[:6] == [0, 0, 0, 20, 57, 27]
    assert decompress_counts("231N") == [2, 3, 1, 1]
    counts = [0, 2_000_000, 17, 31, 1_000, 16, 999, 1_999_999, 0]
    assert decompress_counts("0PTQm1a0olnRNgn0AO_SQm1iPO") == counts, "as rleToString of COCO's maskApi.c writes them"


def test_an_export_for_cvat_has_its_layout_and_its_polygons_and_coloured_labels_become_objects():
    square = {
        "images": [{"id": 7, "width": 10, "height": 8, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "segmentation": [[2, 3, 6, 3, 6, 7, 2, 7]]}],
    }
    (cup,) = read_masks(json.dumps(square).encode(), (8, 10))
    expected = np.zeros((8, 10), bool)
    expected[3:7, 2:6] = True
    assert cup.name == "cup" and np.count_nonzero(cup.mask ^ expected) <= 9
    picture = np.zeros((6, 6, 3), np.uint8)
    picture[:2], picture[4:] = (255, 0, 0), (0, 0, 255)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    blue, red = read_masks(buffer.getvalue(), (6, 6))
    assert (blue.id, red.id) == (1, 2) and blue.mask[4:].all() and red.mask[:2].all()
    _, data = write_masks("cvat", [NamedMask(1, "mug", np.eye(4, dtype=bool))], (4, 4), "colour.png")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["annotations/instances_default.json"]
        coco = json.loads(archive.read("annotations/instances_default.json"))
    assert coco["images"][0]["file_name"] == "colour.png"
    assert coco["annotations"][0]["segmentation"] == encode_rle(np.eye(4, dtype=bool))
    assert coco["annotations"][0]["iscrowd"] == 1


def test_files_without_masks_or_with_masks_of_another_size_are_refused_in_one_line():
    masks = [NamedMask(1, "a", np.ones((6, 8), bool)), NamedMask(2, "b", np.eye(6, 8, dtype=bool))]
    for form in FORMATS:
        with pytest.raises(SegmentationError, match=r"8 x 6|48 pixels"):
            read_masks(write_masks(form, masks, (6, 8))[1], (12, 16))
    for data in (
        *(b"", b"hello", b"{}", b"[]"),
        b"PK\x03\x04broken",
        b"\x89PNG\r\n\x1a\nbroken",
        b'{"images": [], "annotations": []}',
        b'[{"annotations": [{"result": [{"value": {"rle": [1]}}]}]}]',
        b'[{"annotations": [{"result": [{"value": {"rle": [1, 2]}, "original_width": 8, "original_height": 6}]}]}]',
    ):
        with pytest.raises(SegmentationError) as caught:
            read_masks(data, (6, 8))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 320


def test_a_persons_annotation_comes_before_a_models_prediction():
    mine, guessed = (build_task([NamedMask(1, name, np.eye(6, 8, dtype=bool))], "rgb.png")
                     for name in ("mine", "guessed"))  # fmt: skip
    (kind,) = {"annotations", "predictions"} & mine.keys()
    task = mine | {"predictions": guessed[kind], "annotations": mine[kind]}
    assert [one.name for one in read_masks(json.dumps([task]).encode(), (6, 8))] == ["mine"]


H, W, METRES_PER_PIXEL = 120, 160, 0.005


def seen_from_above(rgb: np.ndarray, height: np.ndarray | None = None) -> HeightMap:
    """Return a table seen from 0.8 m above, with colours (H, W, 3) and heights (H, W) in metres."""
    z = np.zeros((H, W), np.float32) if height is None else height.astype(np.float32)
    rows, cols = np.indices((H, W), dtype=np.float32)
    points = np.dstack([cols * METRES_PER_PIXEL, rows * METRES_PER_PIXEL, z])
    corners = np.array([[0, 0], [W, 0], [W, H], [0, H]]) * METRES_PER_PIXEL
    return HeightMap(rgb, points, 0.8 - z, 1, 200.0, corners, rgb, np.array([1.0, 0, 0]))


def plain(colour: tuple[int, ...] = (200, 200, 200)) -> np.ndarray:
    return np.broadcast_to(np.array(colour, np.uint8), (H, W, 3)).copy()


def patch(top: int, left: int, side: int) -> np.ndarray:
    mask = np.zeros((H, W), bool)
    mask[top : top + side, left : left + side] = True
    return mask


DISC = patch(40, 60, 24)


def test_a_flat_sheet_is_added_a_part_extended_by_the_rest_and_a_square_of_a_chequered_ground_is_not():
    rgb = plain()
    rgb[DISC] = (20, 120, 40)
    view, probability = seen_from_above(rgb), np.where(DISC, 0.95, 0.02)
    (region,) = merge_foreground(view, [], probability)
    assert np.count_nonzero(region & DISC) > 0.95 * np.count_nonzero(region | DISC)
    assert is_plausible(view, region, probability)
    rgb, (rows, cols) = plain(), np.indices((H, W))
    rgb[(rows // 20 + cols // 20) % 2 == 0] = (90, 50, 20)
    assert not is_plausible(seen_from_above(rgb), patch(40, 60, 20), np.full((H, W), 0.99))
    view = seen_from_above(plain(), np.where(DISC, 0.05, 0))
    for probability in (np.where(DISC, 0.95, 0.02), np.full((H, W), 0.02)):
        assert merge_foreground(view, [DISC], probability) == [DISC]
    half = DISC & (np.indices((H, W))[1] < 72)
    (region,) = merge_foreground(seen_from_above(plain()), [half], np.where(DISC, 0.95, 0.02))
    assert np.count_nonzero(region & DISC) > 0.95 * np.count_nonzero(region | DISC)


def test_what_is_improbable_too_wide_or_a_wall_is_not_plausible():
    wide, wall, sure = np.zeros((H, W), bool), np.zeros((H, W)), np.full((H, W), 0.95)
    wide[40:60, 2:-2] = True
    wall[DISC], wall[30:40, 60:84] = 0.4, 0.7
    for mask, height, probability in ((DISC, None, np.full((H, W), 0.6)), (wide, None, sure), (DISC, wall, sure)):
        rgb = plain()
        rgb[mask] = (20, 120, 40)
        assert not is_plausible(seen_from_above(rgb, height), mask, probability)


ROWS, COLUMNS = 60, 80
HALF = ROWS // 2


def cylinder_wall(radius_above, radius_below, noise=0.0005):
    """Return a cylinder 12 cm tall, viewed from one side; its two halves may differ in radius (m)."""
    angle, height = np.meshgrid(np.linspace(np.pi, 2 * np.pi, COLUMNS), np.linspace(0.12, 0, ROWS))
    radius = np.where(np.arange(ROWS)[:, None] < HALF, radius_above, radius_below)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    points += np.random.default_rng(0).normal(0, noise, points.shape)
    blank = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    square, depth = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), np.ones((ROWS, COLUMNS))
    return HeightMap(blank, points.astype(np.float32), depth, 1, 500.0, square, blank, np.array([1.0, 0, 0]))


UPPER = np.repeat(np.arange(ROWS)[:, None] < HALF, COLUMNS, axis=1)


def test_a_can_in_two_colours_is_one_object_and_cans_of_two_sizes_or_masks_apart_are_two():
    for radius in (0.02, 0.035, 0.06):
        for pair in ((UPPER, ~UPPER), (~UPPER, UPPER)):
            assert share_wall(cylinder_wall(radius, radius), *pair)
        (merged,) = merge_vertically(cylinder_wall(radius, radius), [UPPER, ~UPPER])
        assert merged.all()
    for above, below in ((0.03, 0.04), (0.045, 0.035), (0.02, 0.06)):
        masks = merge_vertically(cylinder_wall(above, below), [UPPER, ~UPPER])
        assert len(masks) == 2 and not (masks[0] & masks[1]).any()
    view, far = cylinder_wall(0.03, 0.03), ~UPPER
    far[: HALF + 10] = False
    view.depth[:] = 0
    assert not share_wall(view, UPPER, ~UPPER)
    assert not share_wall(cylinder_wall(0.03, 0.03), UPPER, far)

"""Mask merging: parts of one asset become one object; two objects side by side stay two."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.description import describe
from pipeline.geometry import bounding_box
from pipeline.matching import Match
from pipeline.matching.measured import Candidate
from pipeline.scene.mask_merging import merge_segments
from pipeline.scene.observed_object import observe_objects
from pipeline.segmentation import Segment


def asset_placement(library, id, at, number=1):
    asset = library[id]
    return make.placement(asset.mesh, id, at, number=number, size=asset.size, collision=asset.collision, asset_id=id)


def match_to(segment_id, asset_id, score=0.8):
    if asset_id is None:
        return Match(segment_id, None, 1.0, "", ())
    return Match(segment_id, asset_id, 1.0, "", (Candidate(asset_id, score, {}, ""),))


def merged_masks(scene, masks, own, merged, library):
    """Return the merged masks, where segment i matches asset own[i] and any two together match the asset `merged`."""
    observation, _ = make.observe(scene)
    segments = [Segment(i, mask) for i, mask in enumerate(masks, 1)]
    descriptions = [describe(observation.frame, observation.support, segment) for segment in segments]
    matches = [match_to(segment.id, asset) for segment, asset in zip(segments, own, strict=True)]
    observed = observe_objects(observation, segments, descriptions, matches)

    def recognise(segment):
        return describe(observation.frame, observation.support, segment), match_to(segment.id, merged)

    return [result for result in merge_segments(observed, library, recognise) if result is not None]


def halves(mask: np.ndarray, share: float = 0.6) -> list[np.ndarray]:
    box = bounding_box(mask)
    left = np.arange(mask.shape[1]) < box.left + int(share * box.width)
    return [mask & left, mask & ~left]


@pytest.mark.parametrize("id", ["red_mug", "cracker_box", "drill"])
def test_parts_of_an_asset_are_merged_under_the_larger_ones_number(library, id):
    scene = make.scene(asset_placement(library, id, (0, 0)))
    mask = make.photograph(scene)[2][0].mask
    left, right = halves(mask)
    (merged,) = merged_masks(scene, [right, left], [None, None], id, library)
    larger = 1 if right.sum() > left.sum() else 2
    assert (merged.kept_id, merged.removed_id) == (larger, 3 - larger)
    assert np.array_equal(merged.segment.mask, mask)
    assert merged.match.asset_id == id and merged.description.segment_id == larger


def test_three_parts_are_merged_into_one_object(library):
    scene = make.scene(asset_placement(library, "cracker_box", (0, 0)))
    first, rest = halves(make.photograph(scene)[2][0].mask, 0.4)
    merged = merged_masks(scene, [first, *halves(rest, 0.5)], [None] * 3, "cracker_box", library)
    assert len(merged) == 2 and len({m.kept_id for m in merged} | {m.removed_id for m in merged}) == 3


@pytest.mark.parametrize("merged", ["blue_block", "cracker_box", None])
def test_two_objects_side_by_side_stay_two_whatever_they_match_together(library, merged):
    blue = asset_placement(library, "blue_cube", (-0.035, 0))
    scene = make.scene(blue, asset_placement(library, "red_cube", (0.035, 0.02), number=2))
    masks = [segment.mask for segment in make.photograph(scene)[2]]
    assert merged_masks(scene, masks, [None, None], merged, library) == []


def test_a_part_that_fits_an_asset_by_itself_is_not_merged(library):
    """Two cubes flush with each other fill a block; as cubes they fit equally well."""
    cube, block = library["red_cube"], library["red_block"]
    flush = make.placement(cube.mesh, "a", (-block.size[0] / 4, 0), size=block.size * [0.5, 1, 1], asset_id=cube.id)
    other = make.placement(cube.mesh, "b", (block.size[0] / 4, 0), size=flush.size, asset_id=cube.id)
    scene = make.scene(flush, replace(other, segment_id=2))
    masks = [segment.mask for segment in make.photograph(scene)[2]]
    assert len(merged_masks(scene, masks, [None, None], "red_block", library)) == 1
    library = replace(library, assets=tuple(replace(a, size=flush.size) if a.id == cube.id else a for a in library))
    assert merged_masks(scene, masks, ["red_cube", "red_cube"], "red_block", library) == []

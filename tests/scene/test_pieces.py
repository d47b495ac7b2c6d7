"""Masks that are pieces of one asset become one thing; two things that stand side by side stay two."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make

from pipeline.assets import Library
from pipeline.description import describe
from pipeline.matching import Match
from pipeline.matching.matches import Candidate
from pipeline.scene.pieces import wholes
from pipeline.scene.seen import things_seen
from pipeline.segmentation import Segment


@pytest.fixture(scope="module")
def library():
    return Library.open()


def thing(library, id, at, number=1):
    asset = library[id]
    return make.thing(asset.mesh, id, at, number=number, size=asset.size, collision=asset.collision, asset_id=id)


def matched(segment_id, asset_id, score=0.8):
    if asset_id is None:
        return Match(segment_id, None, 1.0, "", ())
    return Match(segment_id, asset_id, 1.0, "", (Candidate(asset_id, score, {}, ""),))


def put_together(scene, masks, own, whole, library):
    """Pairs of segments that become one, where segment i shows asset own[i] and any two together show `whole`."""
    frame, support, _ = make.photograph(scene)
    segments = [Segment(i, mask) for i, mask in enumerate(masks, 1)]
    told = [describe(frame, support, one) for one in segments]
    matches = [matched(one.id, asset) for one, asset in zip(segments, own, strict=True)]
    seen = things_seen(frame, support, segments, told, matches)
    found = wholes(frame, support, seen, library, lambda s, _: matched(s.id, whole), None)
    return [one for one in found if one is not None]


def halves(mask: np.ndarray, share: float = 0.6) -> list[np.ndarray]:
    """A mask cut across, the left part having about so much of its width."""
    columns = np.flatnonzero(mask.any(axis=0))
    left = np.arange(mask.shape[1]) < columns[int(share * len(columns))]
    return [mask & left, mask & ~left]


@pytest.mark.parametrize("id", ["red_mug", "cracker_box", "drill"])
def test_the_pieces_of_an_asset_are_one_thing_under_the_larger_ones_number(library, id):
    scene = make.scene(thing(library, id, (0, 0)))
    mask = make.photograph(scene)[2][0].mask
    left, right = halves(mask)
    (whole,) = put_together(scene, [right, left], [None, None], id, library)
    larger = 1 if right.sum() > left.sum() else 2
    assert (whole.kept, whole.gone) == (larger, 3 - larger)
    assert np.array_equal(whole.segment.mask, mask)
    assert whole.match.asset_id == id and whole.description.segment_id == larger


def test_three_pieces_are_one_thing_too(library):
    scene = make.scene(thing(library, "cracker_box", (0, 0)))
    first, rest = halves(make.photograph(scene)[2][0].mask, 0.4)
    found = put_together(scene, [first, *halves(rest, 0.5)], [None] * 3, "cracker_box", library)
    assert len(found) == 2 and len({one.kept for one in found} | {one.gone for one in found}) == 3


@pytest.mark.parametrize("whole", ["blue_block", "cracker_box", None])
def test_two_things_side_by_side_are_two_whatever_they_look_like_together(library, whole):
    scene = make.scene(thing(library, "blue_cube", (-0.035, 0)), thing(library, "red_cube", (0.035, 0.02), number=2))
    masks = [one.mask for one in make.photograph(scene)[2]]
    assert put_together(scene, masks, [None, None], whole, library) == []


def test_a_piece_that_is_an_asset_by_itself_stays_one(library):
    """Two cubes flush with each other fill a block; as cubes they are no worse explained."""
    cube, block = library["red_cube"], library["red_block"]
    flush = make.thing(cube.mesh, "a", (-block.size[0] / 4, 0), size=block.size * [0.5, 1, 1], asset_id=cube.id)
    other = replace(make.thing(cube.mesh, "b", (block.size[0] / 4, 0), size=flush.size, asset_id=cube.id), segment_id=2)
    masks = [one.mask for one in make.photograph(make.scene(flush, other))[2]]
    scene = make.scene(flush, other)
    assert len(put_together(scene, masks, [None, None], "red_block", library)) == 1
    library = replace(library, assets=tuple(replace(a, size=flush.size) if a.id == cube.id else a for a in library))
    assert put_together(scene, masks, ["red_cube", "red_cube"], "red_block", library) == []

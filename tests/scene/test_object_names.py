"""Masks of one asset become one object; names are unique, and every earlier name still refers to its object."""

from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.decisions import Decision
from pipeline.description import Attributes, Description, describe
from pipeline.geometry import Pose, bounding_box
from pipeline.matching import Candidate, Match
from pipeline.scene import Placement, Scene
from pipeline.scene.mask_merging import merge_segments
from pipeline.scene.object_names import colour_and_kind, current_names, name_objects, use_current_names
from pipeline.scene.observed_object import observe_objects
from pipeline.segmentation import Segment
from pipeline.tasks import Task, rename_in_task

LIBRARY = Library.open()
SIZE = np.full(3, 0.05)


def description(id: int, name: str, colour: str, source: str = "measured") -> Description:
    shape = "cube" if "cube" in name else "box"
    attributes = Attributes(colour, (0, 0, 0), shape, SIZE, 0.0, SIZE / 2, 0.0)
    return Description(id, True, name, name, attributes, source=source)


def named_placements(descriptions, assets, decisions=(), score=0.9, source="measured", former=None):
    """Return the named placements of objects as these assets, None for a reconstruction."""
    matches = [match_to(d.segment_id, asset, score, source) for d, asset in zip(descriptions, assets, strict=True)]
    pose, mesh = Pose(SIZE, np.array([1.0, 0, 0, 0])), Path("a.obj")
    pairs = zip(descriptions, assets, strict=True)
    placed = [Placement(d.name, d.segment_id, id, 1.0, SIZE, pose, mesh, (), 0.1, 1.0) for d, id in pairs]
    scene = Scene(np.eye(4), np.zeros((3, 2)), (0, 0, 0), tuple(placed))
    return name_objects(scene, descriptions, matches, LIBRARY, decisions, former or {}).placements


def test_a_name_is_the_measured_colour_and_the_asset_is_unique_and_those_of_people_and_models_stay():
    (p,) = named_placements([description(1, "white_cube", "white")], [None])
    assert (p.name, p.aliases) == ("white_cube", ())
    (p,) = named_placements([description(1, "red_cylinder", "red")], ["ketchup_bottle"], score=0.3)
    assert p.name == "red_bottle"
    rename = Decision("rename", {"id": 1, "name": "Granny's mug"})
    (by_person,) = named_placements([description(1, "granny_s_mug", "white", "human")], ["white_mug"], [rename])
    (by_model,) = named_placements([description(1, "chipped_cup", "white", "eyes-1")], ["white_mug"])
    assert (by_person.name, by_model.name) == ("granny_s_mug", "chipped_cup")
    assert {"white_mug", "white_box"} <= set(by_person.aliases)
    names = ("white_cube", "white_cube_2", "white_mug", "brown_cube")
    descriptions = [description(i, name, name.split("_")[0]) for i, name in enumerate(names)]
    placed = named_placements(descriptions, ["white_mug", "white_mug", None, "white_mug"])
    assert len({p.name for p in placed}) == len(placed)
    for p, measured in zip(placed, names, strict=True):
        assert p.name not in {name for name in names if name != measured}
    everything = [name for p in placed for name in (p.name, *p.aliases)]
    assert len(everything) == len(set(everything)), "one name, one object"
    for colour, asset, name in (
        ("red", "ketchup_bottle", "red_ketchup_bottle"),
        ("orange", "orange", "orange"),
        ("green", "teal_bowl", "teal_bowl"),
        ("brown", "large_wooden_cube", "wooden_cube"),
    ):
        assert colour_and_kind(colour, LIBRARY[asset]) == name


@pytest.mark.parametrize(
    ("likeness", "container", "source", "name"),
    [
        (0.05, False, "measured", "brown_object"), (0.05, True, "measured", "orange"),
        (0.05, False, "human", "orange"), (0.3, False, "measured", "orange"),
    ],
)  # fmt: skip
def test_a_solid_object_of_another_colour_is_not_called_by_its_asset(likeness, container, source, name):
    brown = description(1, "brown_object", "brown")
    (placed,) = named_placements([brown], ["orange"])
    scene = Scene(np.eye(4), np.zeros((3, 2)), (0, 0, 0), (replace(placed, container=container),))
    match = Match(1, "orange", 1.0, "", (Candidate("orange", 0.9, {"colour": likeness}, ""),), source)
    assert name_objects(scene, [brown], [match], LIBRARY).placements[0].name == name


def test_a_solid_reconstruction_is_not_called_a_bowl():
    for category, container, source, name in (
        ("box", False, "measured", "blue_box"),
        ("thing", False, "measured", "blue_object"),
        ("bowl", True, "measured", "blue_bowl"),
        ("box", False, "human", "blue_bowl"),
    ):
        bowl = description(1, "blue_bowl", "blue", source)
        bowl = replace(bowl, attributes=replace(bowl.attributes, shape="bowl"))
        (placed,) = named_placements([bowl], [None])
        placed = replace(placed, category=category, container=container)
        scene = Scene(np.eye(4), np.zeros((3, 2)), (0, 0, 0), (placed,))
        (p,) = name_objects(scene, [bowl], [Match(1, None, 1.0, "", ())], LIBRARY).placements
        assert p.name == name and ("blue_bowl" in p.aliases) == (name != "blue_bowl")


@pytest.mark.parametrize("gone", range(3))
@pytest.mark.parametrize("added", [(), (4,)])
def test_an_object_that_goes_or_gets_another_asset_renames_no_other(gone, added):
    mugs = [description(i, f"white_cylinder_{i}", "white") for i in range(3)]
    before = {p.segment_id: p.name for p in named_placements(mugs, ["white_mug"] * 3)}
    others = [one for one in mugs if one.segment_id != gone]
    others += [description(i, f"white_box_{i}", "white") for i in added]
    after = {p.segment_id: p.name for p in named_placements(others, ["white_mug"] * len(others), former=before)}
    assert {id: name for id, name in after.items() if id not in added} == {i: before[i] for i in before if i != gone}
    back = {p.segment_id: p.name for p in named_placements(mugs, ["white_mug"] * 3, former=after)}
    assert back == before or added, "a new object may have taken the name that was free"
    other_asset = ["white_bowl" if i == gone else "white_mug" for i in range(3)]
    changed = {p.segment_id: p.name for p in named_placements(mugs, other_asset, former=before)}
    assert {i: changed[i] for i in before if i != gone} == {i: before[i] for i in before if i != gone}


def test_a_task_keeps_its_object_after_another_asset_was_chosen_by_complete_names():
    before = description(1, "white_cube", "white"), description(2, "blue_bowl", "blue")
    task = Task("t", "Put white_cube on blue_plate.", ("white_cube", "blue_plate"), ("white_cube rests on blue_plate",))
    choices = [Decision("choose_asset", {"id": 2, "asset_id": asset}) for asset in ("blue_plate", "white_bowl")]
    placed = named_placements(before, ["white_mug", "white_bowl"], choices)
    renamed = rename_in_task(task, lambda text: use_current_names(text, current_names(placed)))
    assert [p.name for p in placed] == ["white_mug", "blue_bowl"]
    assert renamed.instruction == "Put white_mug on blue_bowl."
    assert (renamed.objects, renamed.goals) == (("white_mug", "blue_bowl"), ("white_mug rests on blue_bowl",))
    said = "Put the orange sphere, which was orange, beside orange_2."
    kept = use_current_names(said, {"orange": "orange_sphere", "orange_2": "orange_sphere_2"})
    assert kept == "Put the orange sphere, which was orange_sphere, beside orange_sphere_2."
    beside = use_current_names("white_cube_2 beside white_cube", {"white_cube": "white_mug"})
    assert beside == "white_cube_2 beside white_mug"


def asset_placement(library, id, at, number=1):
    asset = library[id]
    return make.placement(asset.mesh, id, at, number=number, size=asset.size, collision=asset.collision, asset_id=id)


def match_to(segment_id, asset_id, score=0.8, source="measured"):
    return Match(segment_id, asset_id, 1.0, "", (Candidate(asset_id, score, {}, ""),) if asset_id else (), source)


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


def test_three_parts_are_merged_into_one_object_but_not_two_objects_or_parts_that_fit_assets_themselves(library):
    scene = make.scene(asset_placement(library, "cracker_box", (0, 0)))
    first, rest = halves(make.photograph(scene)[2][0].mask, 0.4)
    merged = merged_masks(scene, [first, *halves(rest, 0.5)], [None] * 3, "cracker_box", library)
    assert len(merged) == 2 and len({m.kept_id for m in merged} | {m.removed_id for m in merged}) == 3
    blue = asset_placement(library, "blue_cube", (-0.035, 0))
    scene = make.scene(blue, asset_placement(library, "red_cube", (0.035, 0.02), number=2))
    masks = [segment.mask for segment in make.photograph(scene)[2]]
    for together in ("blue_block", "cracker_box", None):
        assert merged_masks(scene, masks, [None, None], together, library) == []
    # two cubes flush with each other fill a block; as cubes they fit equally well
    cube, block = library["red_cube"], library["red_block"]
    flush = make.placement(cube.mesh, "a", (-block.size[0] / 4, 0), size=block.size * [0.5, 1, 1], asset_id=cube.id)
    other = make.placement(cube.mesh, "b", (block.size[0] / 4, 0), size=flush.size, asset_id=cube.id)
    scene = make.scene(flush, replace(other, segment_id=2))
    masks = [segment.mask for segment in make.photograph(scene)[2]]
    assert len(merged_masks(scene, masks, [None, None], "red_block", library)) == 1
    library = replace(library, assets=tuple(replace(a, size=flush.size) if a.id == cube.id else a for a in library))
    assert merged_masks(scene, masks, ["red_cube", "red_cube"], "red_block", library) == []

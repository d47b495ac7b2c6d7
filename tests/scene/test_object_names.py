"""Object names: from colour and asset, unique; every earlier name still refers to the same object."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.decisions import Decision
from pipeline.description import Attributes, Description
from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match
from pipeline.scene import Placement, Scene
from pipeline.scene.object_names import colour_and_kind, current_names, name_objects, use_current_names
from pipeline.tasks import Task, rename_in_task

LIBRARY = Library.open()
SIZE = np.full(3, 0.05)


def description(id: int, name: str, colour: str, source: str = "measured") -> Description:
    shape = "cube" if "cube" in name else "box"
    attributes = Attributes(colour, (0, 0, 0), shape, SIZE, 0.0, SIZE / 2, 0.0)
    return Description(id, True, name, name, attributes, source=source)


def named_placements(descriptions, assets, decisions=(), score=0.9, source="measured", former=None):
    """Return the named placements of objects as these assets, None for a reconstruction."""
    matches = [
        Match(d.segment_id, asset, 1.0, "", (Candidate(asset, score, {}, ""),) if asset else (), source)
        for d, asset in zip(descriptions, assets, strict=True)
    ]
    placements = tuple(
        Placement(
            d.name, d.segment_id, asset, 1.0, SIZE, Pose(SIZE, np.array([1.0, 0, 0, 0])), Path("a.obj"), (), 0.1, 1.0
        )
        for d, asset in zip(descriptions, assets, strict=True)
    )
    scene = Scene(np.eye(4), np.zeros((3, 2)), (0, 0, 0), placements)
    return name_objects(scene, descriptions, matches, LIBRARY, decisions, former or {}).placements


@pytest.mark.parametrize(
    ("colour", "asset", "name"),
    [
        ("white", "white_mug", "white_mug"),
        ("blue", "red_mug", "blue_mug"),
        ("red", "ketchup_bottle", "red_ketchup_bottle"),
        ("orange", "orange", "orange"),
        ("green", "teal_bowl", "teal_bowl"),
        ("brown", "large_wooden_cube", "wooden_cube"),
        ("red", "apple", "red_apple"),
    ],
)
def test_a_name_is_the_measured_colour_and_what_the_asset_is(colour, asset, name):
    assert colour_and_kind(colour, LIBRARY[asset]) == name


def test_names_are_unique_and_those_of_people_and_models_stay():
    (p,) = named_placements([description(1, "white_cube", "white")], [None])
    assert (p.name, p.aliases) == ("white_cube", ())
    (p,) = named_placements([description(1, "red_cylinder", "red")], ["ketchup_bottle"], score=0.3)
    assert p.name == "red_bottle"
    rename = Decision("rename", {"id": 1, "name": "Granny's mug"})
    (by_person,) = named_placements([description(1, "granny_s_mug", "white", "human")], ["white_mug"], [rename])
    (by_model,) = named_placements([description(1, "chipped_cup", "white", "eyes-1")], ["white_mug"])
    assert (by_person.name, by_model.name) == ("granny_s_mug", "chipped_cup")
    assert {"white_mug", "white_box"} <= set(by_person.aliases)
    names = [
        ("white_cube", "white_mug"),
        ("white_cube_2", "white_mug"),
        ("white_mug", None),
        ("brown_cube", "white_mug"),
    ]
    descriptions = [description(i, name, name.split("_")[0]) for i, (name, _) in enumerate(names)]
    placed = named_placements(descriptions, [asset for _, asset in names])
    assert len({p.name for p in placed}) == len(placed)
    for p, (measured, _) in zip(placed, names, strict=True):
        assert p.name not in {name for name, _ in names if name != measured}
    everything = [name for p in placed for name in (p.name, *p.aliases)]
    assert len(everything) == len(set(everything)), "one name, one object"


@pytest.mark.parametrize(
    ("category", "container", "source", "name"),
    [
        ("box", False, "measured", "blue_box"),
        ("thing", False, "measured", "blue_object"),
        ("bowl", True, "measured", "blue_bowl"),
        ("box", False, "human", "blue_bowl"),
    ],
)
def test_a_solid_reconstruction_is_not_called_a_bowl(category, container, source, name):
    bowl = description(1, "blue_bowl", "blue", source)
    bowl = replace(bowl, attributes=replace(bowl.attributes, shape="bowl"))
    (placed,) = named_placements([bowl], [None])
    scene = Scene(np.eye(4), np.zeros((3, 2)), (0, 0, 0), (replace(placed, category=category, container=container),))
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
    choices = [
        Decision("choose_asset", {"id": 2, "asset_id": "blue_plate"}),
        Decision("choose_asset", {"id": 2, "asset_id": "white_bowl"}),
    ]
    placed = named_placements(before, ["white_mug", "white_bowl"], choices)
    renamed = rename_in_task(task, lambda text: use_current_names(text, current_names(placed)))
    assert [p.name for p in placed] == ["white_mug", "blue_bowl"]
    assert renamed.instruction == "Put white_mug on blue_bowl."
    assert (renamed.objects, renamed.goals) == (("white_mug", "blue_bowl"), ("white_mug rests on blue_bowl",))
    assert (
        use_current_names("white_cube_2 beside white_cube", {"white_cube": "white_mug"})
        == "white_cube_2 beside white_mug"
    )

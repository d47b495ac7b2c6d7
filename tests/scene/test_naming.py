"""An object is called what stands there; every name it had before still means it."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.decisions import Decision
from pipeline.description import Attributes, Description
from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match
from pipeline.scene import Placement, Scene
from pipeline.scene.naming import colour_and_kind, in_present_names, named, present_names
from pipeline.tasks import Task, reworded

LIBRARY = Library.open()
SIZE = np.full(3, 0.05)


def seen(id: int, name: str, colour: str, source: str = "measured") -> Description:
    shape = "cube" if "cube" in name else "box"
    attributes = Attributes(colour, (0, 0, 0), shape, SIZE, 0.0, SIZE / 2, 0.0)
    return Description(id, True, name, name, attributes, source=source)


def twin(descriptions, assets, decisions=(), score=0.9, source="measured"):
    """The named scene of objects that stand in the twin as those assets, or as made from the view."""
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
    return named(scene, descriptions, matches, LIBRARY, decisions).placements


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


def test_what_nothing_fits_keeps_its_measured_name():
    (one,) = twin([seen(1, "white_cube", "white")], [None])
    assert (one.name, one.also) == ("white_cube", ())


def test_where_only_the_kind_is_sure_only_the_kind_is_said():
    (one,) = twin([seen(1, "red_cylinder", "red")], ["ketchup_bottle"], score=0.3)
    assert one.name == "red_bottle"


def test_what_a_person_or_a_model_called_it_stays():
    rename = Decision("rename", {"id": 1, "name": "Granny's mug"})
    (mine,) = twin([seen(1, "granny_s_mug", "white", "human")], ["white_mug"], [rename])
    (told,) = twin([seen(1, "chipped_cup", "white", "eyes-1")], ["white_mug"])
    assert (mine.name, told.name) == ("granny_s_mug", "chipped_cup")
    assert {"white_mug", "white_box"} <= set(mine.also)


def test_every_name_is_used_once_and_none_is_what_another_was_measured_as():
    names = [
        ("white_cube", "white_mug"),
        ("white_cube_2", "white_mug"),
        ("white_mug", None),
        ("brown_cube", "white_mug"),
    ]
    placed = twin([seen(i, name, name.split("_")[0]) for i, (name, _) in enumerate(names)], [a for _, a in names])
    assert len({p.name for p in placed}) == len(placed)
    for p, (own, _) in zip(placed, names, strict=True):
        assert p.name not in {name for name, _ in names if name != own}
    everything = [name for p in placed for name in (p.name, *p.also)]
    assert len(everything) == len(set(everything)), "one name, one object"


def test_a_task_that_names_an_object_as_before_means_it_after_another_asset_was_chosen():
    before = seen(1, "white_cube", "white"), seen(2, "blue_bowl", "blue")
    task = Task("t", "Put white_cube on blue_plate.", ("white_cube", "blue_plate"), ("white_cube rests on blue_plate",))
    choices = [
        Decision("choose_asset", {"id": 2, "asset_id": "blue_plate"}),
        Decision("choose_asset", {"id": 2, "asset_id": "white_bowl"}),
    ]
    placed = twin(before, ["white_mug", "white_bowl"], choices)
    now = reworded(task, lambda text: in_present_names(text, present_names(placed)))
    assert [p.name for p in placed] == ["white_mug", "blue_bowl"]
    assert now.instruction == "Put white_mug on blue_bowl."
    assert (now.objects, now.goals) == (("white_mug", "blue_bowl"), ("white_mug rests on blue_bowl",))


def test_only_whole_names_are_replaced():
    assert (
        in_present_names("white_cube_2 beside white_cube", {"white_cube": "white_mug"})
        == "white_cube_2 beside white_mug"
    )

"""Recoloured assets: the shape of the library in the colour of the photograph, unless a person decides otherwise."""

import io
from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest
from PIL import Image

from pipeline.decisions import Decision
from pipeline.description import Attributes
from pipeline.description.colour import name_colour
from pipeline.resources import SAMPLE_SCENES
from pipeline.scene import scene_files
from pipeline.scene.appearance import recolour
from pipeline.scene.overrides import overrides_from_decisions

RED, WHITE, TEAL = (190, 30, 40), (228, 226, 230), (40, 150, 140)


def measured(rgb) -> Attributes:
    name, _ = name_colour(np.full((50, 3), rgb, np.uint8))
    return Attributes(name, rgb, "irregular", np.full(3, 0.1), 0.0, np.zeros(3), 0.001)


def library_mesh(name) -> Path:
    return SAMPLE_SCENES / "library" / name / "mesh.obj"


@pytest.mark.parametrize(("asset", "seen"), [("red_bowl", WHITE), ("wooden_bowl", RED), ("white_mug", TEAL)])
def test_an_asset_of_one_colour_is_recoloured_if_the_object_has_another(asset, seen):
    assert recolour.seen_colour(library_mesh(asset), measured(seen), 0.05, None) == seen


@pytest.mark.parametrize(("asset", "seen"), [("red_bowl", RED), ("white_mug", WHITE), ("teal_bowl", TEAL)])
def test_an_asset_in_the_right_colour_stays_as_it_is(asset, seen):
    assert recolour.seen_colour(library_mesh(asset), measured(seen), 0.05, None) is None


def test_the_matcher_and_a_person_may_leave_an_asset_as_it_is_until_another_is_chosen():
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(WHITE), 0.6, None) is None
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(WHITE), 0.05, False) is None
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(RED), 0.9, True) == RED
    off = Decision("recolour", {"id": 1, "value": False})
    assert overrides_from_decisions([off])[1].recolour is False
    chosen = Decision("choose_asset", {"id": 1, "asset_id": "red_mug"})
    assert overrides_from_decisions([off, chosen])[1].recolour is None


def test_tinting_moves_the_main_colour_also_in_the_exported_twin_which_can_be_written_again(tmp_path):
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, :4], picture[:, 4:] = RED, (40, 60, 190)
    tinted = recolour.tinted(picture, RED, TEAL)
    assert np.abs(tinted[:, :4].astype(int) - TEAL).max() <= 2
    assert np.abs(tinted[:, 4:].astype(int) - picture[:, 4:]).max() <= 12
    mesh = library_mesh("red_bowl")
    bowl = replace(make.placement(make.box(tmp_path), "bowl", (0, 0)), mesh=mesh, collision=(), recolour=TEAL)
    project = tmp_path / "project"
    project.mkdir()
    scene_files.write_scene(make.scene(bowl), project)
    first = colours_of(project)
    assert np.linalg.norm(np.median(first, axis=0) - TEAL) < 25
    again = scene_files.read_scene(project)
    assert again.placements[0].recolour == TEAL
    scene_files.write_scene(again, project)
    assert np.abs(np.median(colours_of(project), axis=0) - np.median(first, axis=0)).max() <= 4


def colours_of(project) -> np.ndarray:
    texture = project / "scene" / "bowl.png"
    if texture.exists():
        return np.asarray(Image.open(io.BytesIO(texture.read_bytes())).convert("RGB")).reshape(-1, 3)
    line = next(one for one in (project / "scene" / "bowl.mtl").read_text().splitlines() if one.startswith("Kd"))
    return np.array([[float(value) * 255 for value in line.split()[1:]]])

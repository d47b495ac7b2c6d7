"""Tables and shelves that carry objects together: each object's twin stands where it stood, on what it stood on."""

import json

import numpy as np
import pytest
from offline_studio import offline_services

from pipeline.export.formats.urdf import export_urdf
from pipeline.geometry import transform
from pipeline.project import Project
from pipeline.run import run_stages
from pipeline.run.cut_off import doubtful_objects
from pipeline.scene.evidence import doubts
from pipeline.simulation import kit
from pipeline.simulation.robots.oracle.carry_planning import HAND_ROOM
from pipeline.tasks import scene_to_json
from tests.frame.rendered import render

PLACES = {
    "a second table": ('<geom type="box" size=".3 .35 .06" pos=".82 0 .06"/>', (0.9, -0.2, 0.12),
                       {"red_box": (0.33, 0.1, 0), "blue_cylinder": (0.15, 0, 0),
                        "green_sphere": (0.68, -0.05, 0.12), "yellow_cube": (0.85, 0.08, 0.12)}),
    "a board behind": ('<geom type="box" size=".3 .12 .05" pos=".05 .2 .05"/>', (0.1, 0.13, 0.1),
                       {"red_box": (-0.05, 0.03, 0), "blue_cylinder": (0.15, -0.12, 0),
                        "green_sphere": (-0.13, 0.24, 0.1), "yellow_cube": (0.15, 0.2, 0.1)}),
}  # fmt: skip
"""A surface above the table, a point that shows it, and where the lowest points of the objects are.

The red box is so tall that it rises above both surfaces, and it hides the middle of the board behind it.
"""
FORMS = {
    "red_box": ("box", (0.035, 0.035, 0.12)), "blue_cylinder": ("cylinder", (0.035, 0.05)),
    "green_sphere": ("sphere", (0.04,)), "yellow_cube": ("box", (0.03, 0.03, 0.03)),
}  # fmt: skip


@pytest.fixture(scope="module", params=PLACES)
def twin(request, tmp_path_factory):
    """Returns the rendered scene, the true centres of its objects by label, and its project with a twin."""
    board, shown, feet = PLACES[request.param]
    centres = {name: np.add(foot, [0, 0, FORMS[name][1][-1]]) for name, foot in feet.items()}
    geoms = [
        f'<geom name="{name}" type="{FORMS[name][0]}" size="{" ".join(map(str, FORMS[name][1]))}" '
        f'pos="{" ".join(map(str, centre))}"/>'
        for name, centre in centres.items()
    ]
    across = shown[0] / 2
    scene = render("".join([board, *geoms]), eye=(across, -0.9, 0.8), at=(across, 0, 0.05), width=640)
    project = Project.create(tmp_path_factory.mktemp("shelves") / "project", scene.frame)
    project.decide("ground", pixel=list(scene.pixel(*shown)), also=[list(scene.pixel(0.0, -0.25, 0.0))])
    for _ in run_stages(project, offline_services(), "scene"):
        pass
    return scene, centres, project


def names_of(scene, project):
    masks = {segment.id: segment.mask for segment in project.segments()}
    found = {
        p.name: max(scene.labels, key=lambda label, p=p: np.count_nonzero(scene.labels[label] & masks[p.segment_id]))
        for p in project.scene().placements
    }
    assert sorted(found.values()) == sorted(FORMS), "one object each, and none of a shelf's own pixels"
    return found


def test_each_object_rests_within_a_centimetre_of_the_truth_on_its_own_surface(twin, tmp_path):
    scene, centres, project = twin
    made, labels = project.scene(), names_of(scene, project)
    (shelf,) = made.shelves
    twin_from_true = made.world_from_camera @ np.linalg.inv(scene.world_from_camera)
    for p in made.placements:
        error = p.world_from_object.pos - transform(twin_from_true, centres[labels[p.name]])
        assert np.linalg.norm(error) < 0.01 and not (p.fixed or p.foot or p.prop), p.name
        assert shelf.carries(p) == (labels[p.name] in ("green_sphere", "yellow_cube"))
    evidence = project.evidence()
    assert not doubts(evidence) and evidence.standing > 0.95 and evidence.missing == 0 and not evidence.objects
    export_urdf(project.folder, tmp_path / "urdf")
    poses = json.loads((tmp_path / "urdf" / "poses.json").read_text())["objects"]
    assert [one["fixed"] for one in poses if one["name"] == shelf.name] == [True]


def test_a_shelf_is_no_table_for_tasks_and_what_stands_on_it_stays_there_where_places_are_drawn(twin):
    scene, _, project = twin
    labels, made = names_of(scene, project), kit.Scene.load(project.folder)
    above = [name for name, label in labels.items() if label in ("green_sphere", "yellow_cube")]
    state = kit.Simulation(made, 0).state()
    for name in labels:
        assert state.touches(name, "shelf_1") == (name in above) != state.touches(name, "table")
        assert kit.on_table(name).met(state) == (name not in above)
    assert not doubtful_objects(project, made)
    assert {one["name"] for one in scene_to_json(made)["objects"] if "stands_on" in one} == set(above)
    moved = kit.Simulation(made, 3)
    moved.scatter(*labels)
    for name in labels:
        assert np.allclose(moved[name].position, made[name].position) == (name in above)
        assert name in above or made.shelves[0].distance_outside(moved[name].position[:2]) > moved[name].radius
    taken = kit.Simulation(made, 0)
    taken.goal(kit.on_table(above[0]))
    run = taken.rollout()
    assert run.solved and made.shelves[0].distance_outside(run.end(above[0]).position[:2]) > HAND_ROOM, run.why

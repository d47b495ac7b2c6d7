"""A twin of its own photograph is believed; whatever breaks the photograph or the twin is named, with a cure."""

import json
from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.matching import Candidate, Match
from pipeline.scene.doubts import doubts, summarise
from pipeline.scene.evidence import Evidence, measure_evidence, size_ratio
from pipeline.scene.mjcf import builder

SIZES = ((0.07, 0.05, 0.1), (0.08, 0.06, 0.14), (0.06, 0.06, 0.06), (0.09, 0.05, 0.07))
PLACES = ((-0.15, 0.0), (0.0, 0.12), (0.14, -0.02), (0.05, -0.15))
COLOURS = ((200, 40, 40), (40, 160, 60), (50, 70, 200), (220, 200, 60))


@pytest.fixture(scope="module")
def table(tmp_path_factory, library):
    """Returns the inputs and the scene of a photograph of four boxes."""
    folder = tmp_path_factory.mktemp("evidence")
    scene = make.scene(
        *(
            make.placement(make.box(folder, SIZES[n]), f"box_{n}", PLACES[n], yaw=0.4 * n, number=n + 1, rgb=COLOURS[n])
            for n in range(4)
        )
    )
    return make.inputs(scene, library, folder), scene


def measure(table, change=lambda depth: depth, **more):
    """Return the evidence for a twin, (inputs, scene), of its photograph after a change of its depth."""
    inputs, scene = table
    frame = inputs.observation.frame
    frame = replace(frame, depth=np.ascontiguousarray(change(frame.depth)), **more)
    inputs = replace(inputs, observation=replace(inputs.observation, frame=frame))
    return measure_evidence(inputs, scene, builder.compile_spec(builder.build_spec(scene)))


def test_a_twin_of_its_own_photograph_explains_it_and_its_evidence_is_kept_as_json(table):
    found = measure(table)
    assert not doubts(found) and found.explained > 0.98 and found.standing > 0.98 and found.missing == 0
    assert found.depth_error is not None and found.depth_error < 1e-3 and found.edges is not None and found.edges > 2
    assert found.grounds[0] > 0.9 and not found.unexplained[5:-5, 5:-5].mean() > 0.01
    kept = json.loads(json.dumps(found.to_json()))
    again = Evidence.from_json(kept)
    assert again is not None and again.to_json() == kept and summarise(again) == summarise(found)
    for broken in (None, [], {}, kept | {"explained": "much"}, kept | {"grounds": 3}, kept | {"objects": [1]}):
        assert Evidence.from_json(broken) is None


@pytest.mark.parametrize(
    "change, term",
    [
        (lambda depth: depth[::-1], "depth"),
        (lambda depth: depth[:, ::-1], "depth"),
        (lambda depth: np.roll(depth, (14, 17), (0, 1)), "edges"),
        (lambda depth: np.roll(depth, -18, 1), "edges"),
        (lambda depth: np.where(np.arange(240)[:, None] < 150, depth, 0.9 * depth), "explained"),
    ],
)
def test_depth_that_is_not_of_the_photograph_is_doubted(table, change, term):
    assert term in doubts(measure(table, change))


def test_a_twin_without_its_objects_with_others_or_elsewhere_is_doubted(table):
    inputs, scene = table
    half = measure((inputs, replace(scene, placements=scene.placements[:2])))
    assert half.missing == 2 and list(doubts(half)) == ["explained"] and "lack: 2" in doubts(half)["explained"]
    assert half.unexplained.sum() > 200, "what is missing shows in the picture"
    assert "nothing stands" in doubts(measure((inputs, replace(scene, placements=()))))["explained"]
    moved = [
        replace(p, world_from_object=replace(p.world_from_object, pos=p.world_from_object.pos + np.array([0, 0.07, 0])))
        for p in scene.placements
    ]
    elsewhere = measure((inputs, replace(scene, placements=tuple(moved))))
    assert {"objects", "depth"} & set(doubts(elsewhere)) and "outline agrees" in elsewhere.objects["box_0"]
    huge = replace(moved[0], size=np.array(SIZES[0]) * 6)
    wall = measure((inputs, replace(scene, placements=(huge, *scene.placements[1:]))))
    assert "rather a wall" in wall.objects["box_0"] and "box_3" not in wall.objects


def test_a_ground_that_is_hardly_likelier_than_another_is_doubted_unless_a_person_chose_it(table):
    found = measure(table)
    assert "choose it on the Frame page" in doubts(replace(found, grounds=(0.5, 0.45)))["ground"]
    assert not doubts(replace(found, grounds=(0.7, 0.3)))
    assert measure(table, ground_pixel=(100, 200)).grounds == ()


@pytest.mark.parametrize("factor, doubtful", [(1.0, False), (1.3, False), (2.0, True), (0.4, True), (10.0, True)])
def test_sizes_are_compared_with_assets_that_look_alike_and_a_wrong_unit_is_doubted(table, library, factor, doubtful):
    inputs, scene = table
    likes = [(0.8, 0.9), (0.3, 0.3), (0.0, 0.9)]  # of the right asset, of another one, and of one that is not alike
    matches, descriptions = [], []
    for number, described in enumerate(inputs.descriptions):
        asset = library.assets[number]
        others = [asset, *library.assets[-2:]]
        pairs = zip(others, likes, strict=True)
        alike = tuple(Candidate(one.id, 0.5, {"picture": p, "appearance": a}, "") for one, (p, a) in pairs)
        matches.append(Match(described.segment_id, None, 1.0, "", alike))
        size = np.array(asset.size) * factor
        descriptions.append(replace(described, attributes=replace(described.attributes, size=size)))
    assert size_ratio(descriptions, matches, library) == pytest.approx(factor)
    found = measure((replace(inputs, matches=matches, descriptions=descriptions), scene))
    assert ("sizes" in doubts(found)) == doubtful
    assert size_ratio(descriptions, [replace(one, candidates=()) for one in matches], library) is None

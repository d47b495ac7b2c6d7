"""Groups of identical objects."""

from studio.objects.identical_objects import identical_groups


def record(id: int, **more) -> dict:
    """Return a red cube, with other fields where given."""
    default = {"id": id, "is_object": True, "size": [0.05, 0.05, 0.05], "colour_name": "red", "shape": "cube"}
    return default | {"match": {"asset_id": None}} | more


def test_identical_objects_share_an_asset_or_colour_shape_and_size():
    mugs = [record(id, match={"asset_id": "mug"}, colour_name=colour) for id, colour in ((1, "blue"), (2, "green"))]
    cubes = [
        record(3),
        record(4, size=[0.052, 0.048, 0.05]),
        record(5, size=[0.09, 0.09, 0.09]),
        record(6, shape="sphere"),
    ]
    assert identical_groups([*mugs, *cubes]) == {1: [1, 2], 2: [1, 2], 3: [3, 4], 4: [3, 4]}


def test_what_is_no_object_or_not_described_is_equal_to_norecord():
    undescribed = {"id": 3, "is_object": True}
    assert identical_groups([record(1), record(2, is_object=False), undescribed, {"id": 4, "is_object": True}]) == {}


def test_objects_of_growing_size_are_not_a_group():
    row = [record(id, size=[0.1 * 1.08**id] * 3) for id in range(1, 6)]
    assert max(len(group) for group in identical_groups(row).values()) <= 2

"""scene.json says all that a scene is."""

import json

import numpy as np
import pytest
import scene_making as make

from pipeline.scene import SceneError, files, mjcf


def some(tmp_path):
    box = make.thing(
        make.box(tmp_path), "box", (0.1, 0), yaw=0.3, asset_id="a", colour="red", rgb=(200, 1, 2), foot=True, prop=0.05
    )
    return make.scene(box, make.thing(make.can(tmp_path), "can", (-0.1, 0), number=4, container=True))


def test_a_scene_written_and_read_is_the_same_scene(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    written = files.write_scene(some(tmp_path), project)
    read = files.read_scene(project)
    assert files.scene_to_json(read, project) == files.scene_to_json(written, project)
    assert read.placements[0].mesh == project / "scene" / "box.obj"
    assert all(path.is_file() for p in read.placements for path in (p.mesh, *p.collision))


def test_writing_what_was_read_changes_nothing(tmp_path):
    files.write_scene(some(tmp_path), tmp_path)
    first = {p.name: p.read_bytes() for p in (tmp_path / "scene").iterdir()}
    files.write_scene(files.read_scene(tmp_path), tmp_path)
    assert {p.name: p.read_bytes() for p in (tmp_path / "scene").iterdir()} == first


def test_scene_json_has_the_contracts_shape_and_names_no_place_outside_the_project(tmp_path):
    files.write_scene(some(tmp_path), tmp_path)
    text = (tmp_path / "scene.json").read_text()
    data = json.loads(text)
    assert np.shape(data["world_from_camera"]) == (4, 4)
    for p in data["placements"]:
        assert {"name", "segment_id", "asset_id", "scale", "size", "world_from_object"} <= set(p)
        assert len(p["size"]) == 3
        assert len(p["world_from_object"]["pos"]) == 3
        assert len(p["world_from_object"]["quat_wxyz"]) == 4
    assert str(tmp_path) not in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"placements": [{}]}', "nonsense"])
def test_a_damaged_scene_json_is_said_in_one_line(tmp_path, text):
    (tmp_path / "scene.json").write_text(text)
    with pytest.raises(SceneError, match="build the scene again"):
        files.read_scene(tmp_path)


def test_no_scene_yet_is_said_too(tmp_path):
    with pytest.raises(SceneError, match="build the scene first"):
        files.read_scene(tmp_path)
    with pytest.raises(SceneError):
        mjcf.load_spec(tmp_path)

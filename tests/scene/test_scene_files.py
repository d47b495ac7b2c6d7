"""Reading and writing scene.json: a scene that is written and read is the same scene."""

import drawn_scene as make
import pytest

from pipeline.scene import SceneError, scene_files
from pipeline.scene.mjcf import builder


def box_and_can(tmp_path):
    box = make.placement(
        make.box(tmp_path), "box", (0.1, 0), yaw=0.3, asset_id="a", colour="red", rgb=(200, 1, 2), foot=True, prop=0.05
    )
    return make.scene(box, make.placement(make.can(tmp_path), "can", (-0.1, 0), number=4, container=True))


def test_a_scene_written_and_read_is_the_same_scene(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    written = scene_files.write_scene(box_and_can(tmp_path), project)
    read = scene_files.read_scene(project)
    assert scene_files.scene_to_json(read, project) == scene_files.scene_to_json(written, project)
    assert read.placements[0].mesh == project / "scene" / "box.obj"
    assert all(path.is_file() for p in read.placements for path in (p.mesh, *p.collision))


def test_writing_what_was_read_changes_nothing(tmp_path):
    scene_files.write_scene(box_and_can(tmp_path), tmp_path)
    first = {p.name: p.read_bytes() for p in (tmp_path / "scene").iterdir()}
    scene_files.write_scene(scene_files.read_scene(tmp_path), tmp_path)
    assert {p.name: p.read_bytes() for p in (tmp_path / "scene").iterdir()} == first


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"placements": [{}]}', "nonsense"])
def test_a_damaged_scene_json_is_one_line(tmp_path, text):
    (tmp_path / "scene.json").write_text(text)
    with pytest.raises(SceneError, match="build the scene again"):
        scene_files.read_scene(tmp_path)


def test_a_missing_scene_is_one_line(tmp_path):
    with pytest.raises(SceneError, match="build the scene first"):
        scene_files.read_scene(tmp_path)
    with pytest.raises(SceneError):
        builder.load_spec(tmp_path)

"""Exports as other programs take them: one file of OpenUSD, XML for old versions of MuJoCo, masks for annotation."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from ready_projects import ready_project

from pipeline.export import export_project
from pipeline.export.formats.masks import export_coco, export_label_studio
from pipeline.project import Project
from pipeline.segmentation.exchange import read_masks

SCENE = "blocks"


@pytest.mark.parametrize("name", ["twin.usdz", "twin.usda", "twin.usdc", "twin.usd"])
def test_openusd_is_one_stage_that_finds_its_textures(name: str, tmp_path: Path):
    from pxr import Sdf, Usd, UsdUtils

    export_project(ready_project(SCENE), "usd", tmp_path / name)
    assert Usd.Stage.Open(str(tmp_path / name)).GetPrimAtPath("/World/red_cube")
    _, textures, unresolved = UsdUtils.ComputeAllDependencies(Sdf.AssetPath(str(tmp_path / name)))
    assert len(textures) == 8 and not unresolved
    if name.endswith(".usdz"):
        assert [file.name for file in tmp_path.iterdir()] == [name]
        assert all(one.compress_type == zipfile.ZIP_STORED for one in zipfile.ZipFile(tmp_path / name).infolist())


def test_mjcf_has_only_the_files_that_it_names_and_nothing_of_new_versions_alone(tmp_path: Path):
    export_project(ready_project(SCENE), "mjcf", tmp_path / "twin")
    text = (tmp_path / "twin" / "scene.xml").read_text()
    assert "colorspace" not in text and set(re.findall(r'solref="[^"]*"', text)) == {'solref="0.01 1"'}
    others = {"scene.xml", "export.json", "LICENCES.md"}
    assert {file.name for file in (tmp_path / "twin").iterdir()} - others == set(re.findall(r' file="([^"]*)"', text))
    assert json.loads((tmp_path / "twin" / "export.json").read_text())["needs"] == "MuJoCo 3.3.0 or newer"


def test_masks_for_annotation_tools_are_those_of_the_project_by_name(tmp_path: Path):
    project = Project.open(ready_project(SCENE))
    segments = {one.id: one.mask for one in project.segments() or ()}
    for export, file in ((export_coco, tmp_path / "masks.json"), (export_label_studio, tmp_path / "masks.zip")):
        export(project.folder, file)
        masks = read_masks(file.read_bytes(), project.frame.depth.shape)
        assert "red_cube" in {one.name for one in masks}
        assert sorted(int(one.mask.sum()) for one in masks) == sorted(int(mask.sum()) for mask in segments.values())
    task = json.loads(zipfile.ZipFile(tmp_path / "masks.zip").read("tasks.json"))[0]
    assert task["data"]["image"].startswith("data:image/jpeg;base64,")

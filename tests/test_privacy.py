"""What is kept and exported does not tell who made it, on which machine, or where."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import privacy
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from pipeline.errors import without_folders
from pipeline.frame import load
from pipeline.project import Project

BLOCKS = Path(__file__).parents[1] / "sample_scenes" / "blocks"


def by_author(picture: Image.Image, file: Path) -> None:
    texts = PngInfo()
    texts.add_text("Author", privacy.MARK, zip=True)
    picture.save(file, pnginfo=texts)


def test_the_search_for_leaks_finds_a_name_wherever_it_hides(tmp_path: Path):
    hidden = {"plain.json": f'"{privacy.MARK}"', "capitals.json": privacy.MARK.upper(), f"{privacy.MARK}.obj": ""}
    hidden |= {"this_folder.mtl": f"map_Kd {privacy.ROOT}/a.png"}
    for name, text in hidden.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "utf-16.bin").write_bytes(privacy.MARK.encode("utf-16-le"))
    by_author(Image.new("RGB", (2, 2)), tmp_path / "text_of_a_picture.png")
    np.savez_compressed(tmp_path / "array.npz", who=np.array([privacy.MARK]))  # an array of text in a zip
    with zipfile.ZipFile(tmp_path / "zip_in_a_zip.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "array.npz", "inner.zip")
    found = privacy.leaks(tmp_path)
    assert {line.partition(":")[0].split("/")[0].split(" (")[0] for line in found} == set(os.listdir(tmp_path))
    (tmp_path / "none").mkdir()
    assert privacy.leaks(tmp_path / "none") == []


def test_a_message_that_is_kept_names_files_without_their_folders():
    address = "https://api.openai.com/v1/chat has no m, and/or 3/4 m/s"
    for message, kept in (
        ("Nothing can be saved in /home/ada/my table: disk full", "Nothing can be saved in my table: disk full"),
        ("[Errno 2] No such file: '/home/ada/x/y.obj'", "[Errno 2] No such file: 'y.obj'"),
        ("~/frames/rgb.png is cut off", "rgb.png is cut off"),
        (r"C:\Users\Ada\rgb.png is cut off", "rgb.png is cut off"),
        ("(see /usr/lib/x.so)", "(see x.so)"),
        (address, address),
        ("scene/scene.xml lacks a body", "scene/scene.xml lacks a body"),
    ):
        assert without_folders(message, Path("/home/ada/my table")) == kept


def test_failed_stages_and_frames_are_kept_without_the_folder_or_author_that_they_name(tmp_path: Path):
    folder = tmp_path / f"{privacy.MARK} at work" / "table"
    project = Project.create(folder, load(BLOCKS))
    project.fail("scene", "key", "measured", 0.1, f"{folder}/scene/a.obj cannot be written")
    assert privacy.leaks(folder) == []
    assert Project.open(folder).error("scene") == "table/scene/a.obj cannot be written"
    frame = Path(shutil.copytree(BLOCKS, tmp_path / "frame"))
    by_author(Image.open(BLOCKS / "rgb.png"), frame / "rgb.png")
    assert privacy.leaks(frame)
    camera = json.loads((frame / "camera.json").read_text())
    (frame / "camera.json").write_text(json.dumps(camera | {"source": f"/home/{privacy.MARK}/bags/one.bag"}))
    project = Project.create(tmp_path / "table", load(frame))
    assert project.frame.source == "one.bag" and privacy.leaks(project.folder) == []

"""What is kept and exported does not tell who made it, on which machine, or where."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import privacy
import pytest
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


def packed_zip(folder: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text.txt", f"made by {privacy.MARK} " * 50)
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", inner.getvalue())


HIDING_PLACES = {
    "a plain file": lambda folder: (folder / "a.json").write_text(f'"{privacy.MARK}"'),
    "capitals": lambda folder: (folder / "a.json").write_text(privacy.MARK.upper()),
    "UTF-16": lambda folder: (folder / "a.bin").write_bytes(privacy.MARK.encode("utf-16-le")),
    "a file's name": lambda folder: (folder / f"{privacy.MARK}.obj").write_text(""),
    "a compressed text of a PNG": lambda folder: by_author(Image.new("RGB", (2, 2)), folder / "a.png"),
    "a zip in a zip": packed_zip,
    "an array": lambda folder: np.savez_compressed(folder / "a.npz", who=np.array([privacy.MARK])),
    "this folder": lambda folder: (folder / "a.mtl").write_text(f"map_Kd {privacy.ROOT}/a.png"),
}


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_the_search_for_leaks_finds_a_name_wherever_it_hides(place: str, tmp_path: Path):
    assert privacy.leaks(tmp_path) == []
    HIDING_PLACES[place](tmp_path)
    assert len(privacy.leaks(tmp_path)) >= 1


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

"""The film of a project opens from disk without a network, stays small, and holds where a round failed."""

import re

import imageio.v2 as imageio
import numpy as np
import pytest
import tabletop

from pipeline.export.export_format import ExportError
from pipeline.export.film import html_page, mp4
from pipeline.export.film.chapters import Chapter, _labelled, chapters
from pipeline.export.film.motion_pictures import FPS, TURN_FRAMES, play_rollout, turn_model
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.segmentation import Segment
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json

FRAMES = tuple(np.full((120, 160, 3), shade, np.uint8) for shade in (0, 80, 160, 240))
PARTS = [
    Chapter("Photograph", ("put <the> cube & bowl",), FRAMES[:1]),
    Chapter("Round 0: failed", ("because",), FRAMES, 2, "the <bowl> tilts", ("--- a", "+++ b", "@@ 1", "-old", "+new")),
    Chapter("Twin", (), ()),
]


def count_frames(path) -> int:
    with imageio.get_reader(path, format="FFMPEG") as video:  # type: ignore[arg-type]
        return sum(1 for _ in video.iter_data())


def test_the_page_holds_everything_itself_stills_without_an_encoder_and_no_more_than_its_limit(monkeypatch, tmp_path):
    page = html_page._page("scene <1>", PARTS)
    assert not re.findall(r'(?:src|href)="(?!data:)', page) and "<script" not in page
    assert "default-src 'none'" in page
    assert "scene &lt;1&gt;" in page and "the &lt;bowl&gt; tilts" in page and "put &lt;the&gt; cube &amp; bowl" in page
    assert page.count("data:video/mp4") == 1 and page.count("data:image/jpeg") == 2
    assert page.count('poster="data:image/jpeg') == 1, "a video shows its failing moment before it plays"
    assert '<span class="added">+new' in page and '<span class="removed">-old' in page
    monkeypatch.setattr(html_page, "motion", lambda chapter: None)
    page = html_page._page("scene", PARTS)
    assert page.count("data:image/jpeg") == 1 + 3 and "data:video" not in page
    monkeypatch.setattr(html_page, "MAX_BYTES", 100)
    monkeypatch.setattr(html_page, "chapters", lambda project: PARTS)
    monkeypatch.setattr(html_page, "project_of", lambda folder: type("Named", (), {"name": "desk"}))
    with pytest.raises(ExportError, match=r"^The film of desk takes 0 MB; 15 MB is the most. Export mp4.$"):
        html_page.export_html(tmp_path, tmp_path / "film.html")
    assert not (tmp_path / "film.html").exists()


def test_a_film_is_held_at_the_failing_moment_in_pictures_of_one_size_with_words_in_any_alphabet(tmp_path):
    pictures = [list(mp4._pictures(part)) for part in PARTS]
    assert {picture.shape for part in pictures for picture in part} == {(360 + mp4.BAND_PX, 480, 3)}
    held, diff = round(mp4.HOLD_SECONDS * FPS), round(mp4.DIFF_SECONDS * FPS)
    assert [len(part) for part in pictures] == [round(mp4.STILL_SECONDS * FPS), diff + len(FRAMES) + held, 0]
    (tmp_path / "motion.mp4").write_bytes(mp4.motion(PARTS[1]) or b"")
    assert count_frames(tmp_path / "motion.mp4") == len(FRAMES) + held
    strips = [_labelled(np.zeros((10, 200, 3), np.uint8), words)[10:] for words in ("Tasse", "Größe", "", "чашка")]
    assert len({strip.tobytes() for strip in strips}) == len(strips) and (strips[2] == 255).all()


def test_a_model_turns_and_a_rollout_is_drawn_without_leaving_a_file(tmp_path):
    project = tabletop.write(tmp_path)
    xml = project / "scene" / "scene.xml"
    turned = turn_model(xml)
    assert len(turned) == TURN_FRAMES and not np.array_equal(turned[0], turned[TURN_FRAMES // 2])
    import mujoco

    qpos = np.repeat(mujoco.MjModel.from_xml_path(str(xml)).qpos0[None], 20, 0)
    qpos[:, 2] += np.linspace(0, 0.3, 20)
    before = set((project / "scene").iterdir())
    frames = play_rollout(xml.read_text(), np.linspace(0, 1, 20), qpos, project)
    assert len(frames) == FPS and not np.array_equal(frames[0], frames[-1])
    assert set((project / "scene").iterdir()) == before


def test_a_film_calls_objects_as_a_person_does_and_shows_no_id(tmp_path):
    project = tabletop.project(tmp_path / "one")
    scene = project.scene()
    assert scene
    first, second = scene.placements[:2]
    project.decide("display_name", id=first.segment_id, name="Grandma's mug")
    mask = np.zeros((24, 32), bool)
    mask[4:12, 4:12] = True
    project.save_segments((Segment(first.segment_id, mask, 1.0, "human"),))
    write_json(project.folder / "task.json", task_to_json(Task("t", f"Lift {first.name}.", (first.name,), ())))
    failed = Report((CheckResult("a", False, f"{first.name} fell on {second.name}"),), (0.0,))
    write_round(Round(0, None, Program("", ""), failed, "done", f"{first.name} fell", 0.0), project.folder)
    parts = list(chapters(Project.open(project.folder)))
    texts = [text for part in parts for text in (part.title, part.caption, *part.lines)]
    assert parts[0].lines == ("Lift Grandma's mug.",)
    assert next(part for part in parts if part.title.startswith("Objects")).lines == ("Grandma's mug",)
    assert "Grandma's mug fell on" in parts[-1].caption and "Grandma's mug fell" in parts[-1].lines
    assert not [text for text in texts if first.name in text or second.name in text]

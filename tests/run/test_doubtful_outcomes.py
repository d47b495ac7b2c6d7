"""Wherever an outcome is read, a twin that may not show its photograph is doubtful, never solved."""

import json
import shutil
import zipfile
from dataclasses import asdict

import pytest
from ready_projects import ready_project

from pipeline.export import export_project
from pipeline.frame import Doubt
from pipeline.project import Project
from pipeline.project_sets import ProjectSet, SetSettings, set_card
from pipeline.run import run_stage
from studio.batch.batch_file import BatchItem
from studio.batch.report import batch_page, frame_report
from studio.board.project_facts import read_facts
from studio.services.open_services import open_services
from studio.services.settings import Settings

DOUBT = "the ground is only 52% certain; choose it on the Frame page"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(ready_project("blocks", "solution"), tmp_path / "blocks")


def read_everywhere(folder, tmp_path):
    """Return what board, zip, export, report and a set's card say."""
    export_project(folder, "zip", tmp_path / "p.zip")
    export_project(folder, "mjcf", tmp_path / "mjcf")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        readme = archive.read("p/README.md").decode()
    report = batch_page("b", [frame_report(folder.parent, BatchItem("frame", "blocks", "done"))])
    facts = read_facts(folder)
    assert facts
    card = set_card(folder.parent, ProjectSet("b", SetSettings(), {"blocks": "train"}, made=0))
    return facts.state, readme, json.loads((tmp_path / "mjcf" / "export.json").read_text()), report + card


def test_a_believed_twin_is_solved_and_a_doubtful_one_nowhere(folder, tmp_path):
    record = json.loads((folder / "project.json").read_text())
    assert record["doubtful"] == [] and set(record["fit"]) == {"explained", "depth_m", "edges", "ground"}
    assert record["fit"]["explained"] > 0.95 and all(0 <= one <= 1 for one in record["fit"].values())
    state, readme, export, report = read_everywhere(folder, tmp_path)
    assert state == "solved" and "Solution: solved" in readme and export["doubtful"] == []
    assert "| Solved tasks | 1 |\n| Doubtful twins | 0 |" in report
    assert "the twin explains" in report and "1 tasks with a solved seed." in report
    (folder / "project.json").write_text(json.dumps(record | {"doubtful": [asdict(Doubt.of_line("ground", DOUBT))]}))
    state, readme, export, report = read_everywhere(folder, tmp_path)
    assert state == "doubtful" and "Solution: doubtful" in readme and export["doubtful"] == [DOUBT]
    assert "| Solved tasks | 0 |\n| Doubtful twins | 1 |" in report
    assert DOUBT in report and "done, doubtful" in report and "0 tasks with a solved seed, 1 twins doubtful." in report
    project, services = Project.open(folder), open_services(Settings(seeds=1))
    lines = [step.message for step in run_stage(project, services, "solution")]
    project.close()
    assert lines[-1].startswith("doubtful: ") and lines[-2] == f"doubtful: {DOUBT}" and "explains" in lines[-3]
    assert not [line for line in lines if line.startswith("solved")]


def test_a_project_of_an_older_version_or_with_an_edited_record_opens_without_evidence(folder):
    record = json.loads((folder / "project.json").read_text())
    kept = {name: value for name, value in record.items() if name not in ("doubtful", "evidence")}
    for facts in ({}, {"doubtful": None, "evidence": []}, {"doubtful": [DOUBT], "evidence": {"explained": 1}}):
        (folder / "project.json").write_text(json.dumps(kept | facts))
        project = Project.open(folder)
        assert project.evidence() is None and project.doubts() == () and project.scene() is not None

"""A batch on a real local Ray cluster gives what the local runner gives (`make soak`)."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.__main__ import main
from studio.batch.batch_file import BatchFile, BatchItem, read_batch
from studio.batch.frame_process import Bounds
from studio.batch.runner import BatchRunner

SAMPLES = Path(__file__).resolve().parents[2] / "sample_scenes"
SAME = ("segments/masks.png", "segments/coco.json", "frame/depth.png")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frames")
    for name in ("blocks", "stack"):
        (folder / name).symlink_to(SAMPLES / name)
    (folder / "broken").mkdir()
    (folder / "broken" / "rgb.png").write_bytes(b"no picture")
    return folder


def states(out: Path) -> dict[str, str]:
    return {item["project"]: item["state"] for item in json.loads((out / "batch.json").read_text())["items"]}


@pytest.mark.soak
def test_a_batch_on_a_cluster_gives_the_bytes_of_a_local_one(address: str, frames: Path, tmp_path: Path, capsys: Any):
    assert main(["batch", str(frames), "--out", str(tmp_path / "ray"), "--until", "segments", "--ray", address]) == 0
    lines = capsys.readouterr().err
    assert "blocks: segments" in lines and lines.splitlines()[-1].startswith("2 of 3 done")
    assert main(["batch", str(frames), "--out", str(tmp_path / "here"), "--until", "segments"]) == 0
    assert states(tmp_path / "ray") == states(tmp_path / "here")
    messages = [{item.project: item.message for item in _record(tmp_path / name).items} for name in ("ray", "here")]
    assert messages[0] == messages[1] and messages[0]["broken"]
    for name in ("blocks", "stack"):
        for file in SAME:
            assert (tmp_path / "ray" / name / file).read_bytes() == (tmp_path / "here" / name / file).read_bytes()


@pytest.mark.soak
def test_a_frame_on_a_cluster_is_stopped(address: str, tmp_path: Path):
    from studio.batch.ray_cluster import RayCluster

    record = BatchFile(tmp_path, {}, [BatchItem(str(SAMPLES / "blocks"), "blocks")])
    record.write()
    cluster = RayCluster(address)
    runner: BatchRunner

    def stop(line: str) -> None:
        if line.startswith("blocks: descriptions"):
            runner.stop()

    runner = BatchRunner(record, [], Bounds(), stop, make=cluster.make)
    runner.run(1)
    cluster.close()
    assert _record(tmp_path).items[0].state == "todo"
    assert json.loads((tmp_path / "blocks" / "project.json").read_text())["stages"]["segments"] == "done"


@pytest.mark.soak
def test_a_cluster_that_does_not_answer_is_one_line_and_nothing_is_made(tmp_path: Path, capsys: Any):
    assert main(["batch", str(SAMPLES / "blocks"), "--out", str(tmp_path / "out"), "--ray", "127.0.0.1:1"]) == 2
    error = capsys.readouterr().err
    assert "no Ray cluster answers at 127.0.0.1:1" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_ray_the_option_says_what_to_install(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["batch", str(SAMPLES / "blocks"), "--out", str(tmp_path / "out"), "--ray", "auto"]) == 2
    error = capsys.readouterr().err
    assert "--ray needs Ray; install it with: pip install 'grs-studio[ray]'" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def _record(out: Path) -> BatchFile:
    record = read_batch(out)
    assert record is not None
    return record

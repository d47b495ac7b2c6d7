"""Many frames in processes of their own: a broken one stops nobody, a killed batch goes on where it was."""

import contextlib
import io
import json
import os
import re
import sys
import threading
from types import SimpleNamespace

import pytest
from ready_projects import ROOT, ready_project

from pipeline import secret_environment
from studio.__main__ import main
from studio.batch.batch_file import BatchFile, BatchItem, read_batch
from studio.batch.frame_process import Bounds, FrameProcess
from studio.batch.frames import BatchError, find_frames, project_names
from studio.batch.report import FrameReport, batch_page
from studio.batch.runner import BatchRunner, CostShares

SAMPLES = ROOT / "sample_scenes"


def batch(*arguments) -> tuple[int, str]:
    """Run a batch whose frames have processes of their own; return its exit code and what it printed."""
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        code = main(["batch", *map(str, arguments)])
    return code, printed.getvalue()


def items(out):
    return {item["project"]: item for item in json.loads((out / "batch.json").read_text())["items"]}


def blocks_batch(out):
    return BatchFile(out, {}, [BatchItem(str(SAMPLES / "blocks"), "blocks")])


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """A folder of two frames, one of which is broken."""
    folder = tmp_path_factory.mktemp("frames")
    (folder / "blocks").symlink_to(SAMPLES / "blocks")
    (folder / "broken").mkdir()
    (folder / "broken" / "rgb.png").write_bytes(b"no picture")
    return folder


@pytest.fixture(scope="module")
def done(frames, tmp_path_factory):
    """A finished batch up to the segments: its folder and what it printed."""
    out = tmp_path_factory.mktemp("batch") / "out"
    code, printed = batch(frames, "--out", out, "--until", "segments", "--jobs", "2")
    assert code == 0, printed
    return out, printed


def test_a_broken_frame_says_why_and_stops_nobody_progress_is_printed_and_what_is_done_is_not_run_again(done, frames):
    out, printed = done
    assert {name: item["state"] for name, item in items(out).items()} == {"blocks": "done", "broken": "failed"}
    assert items(out)["blocks"]["stage"] == "segments" and items(out)["blocks"]["seconds"] > 0
    message = items(out)["broken"]["message"]
    assert message and "\n" not in message and "Traceback" not in printed
    lines = printed.splitlines()
    assert "blocks: segments" in lines
    assert any(line.startswith("blocks: done (") and "of 2 done" in line for line in lines)
    assert lines[-1].startswith("1 of 2 done") and any("left" in line for line in lines)
    assert (out / "blocks" / "segments" / "masks.png").is_file()
    before = (out / "blocks" / "project.json").stat().st_mtime_ns
    code, printed = batch(frames, "--out", out, "--until", "segments")
    assert code == 0 and "blocks: segments" not in printed
    assert (out / "blocks" / "project.json").stat().st_mtime_ns == before
    for name in ("segments/masks.png", "segments/coco.json"):
        assert (out / "blocks" / name).read_bytes() == (ready_project("blocks") / name).read_bytes()


def test_frames_run_at_the_same_time(tmp_path):
    met = threading.Barrier(2, timeout=60)

    def run() -> str:
        met.wait()
        return ""

    together = SimpleNamespace(run=run, kill=lambda: None)
    record = BatchFile(tmp_path, {}, [BatchItem(f"/{name}", name) for name in "ab"])
    BatchRunner(record, [], Bounds(), make=lambda *_: together).run(2)
    assert [item["state"] for item in items(tmp_path).values()] == ["done", "done"]


def test_a_project_that_was_killed_while_it_was_made_is_made_again_and_one_that_takes_too_long_is_ended(tmp_path):
    (tmp_path / "blocks" / "frame").mkdir(parents=True)
    record = blocks_batch(tmp_path)
    record.write()
    BatchRunner(record, ["--until=frame"], Bounds()).run(1)
    assert items(tmp_path)["blocks"]["state"] == "done" and (tmp_path / "blocks" / "project.json").is_file()
    BatchRunner(blocks_batch(tmp_path / "slow"), [], Bounds(seconds=0.3)).run(1)
    (item,) = read_batch(tmp_path / "slow").items
    assert (item.state, item.message) == ("failed", "it took longer than 0.3 s; --timeout gives it more")


def test_a_frames_process_gets_the_key_that_this_process_hides_and_nobody_reads_it_in_a_task(tmp_path, monkeypatch):
    monkeypatch.setattr(secret_environment, "_hidden", {})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret_environment.hide_secrets()
    tasks = []
    record = blocks_batch(tmp_path)
    monkeypatch.setattr(FrameProcess, "run", lambda self: tasks.append(self.task) or "")
    BatchRunner(record, [], Bounds()).run(1)
    assert "OPENAI_API_KEY" not in os.environ and tasks[0].environment["OPENAI_API_KEY"] == "sk-secret"
    assert "sk-secret" not in repr(tasks[0])


def test_the_cost_ceiling_holds_for_all_frames_together():
    shares = CostShares(3.0, frames=3, spent=0.0)
    first, second = shares.take(), shares.take()
    assert (first, second) == (1.0, 1.0)
    shares.settle(first, 0.2)
    assert shares.take() == pytest.approx(1.8)  # what the first left is not lost
    assert CostShares(1.0, 2, spent=5.0).take() == 0.0
    assert CostShares(None, 2, spent=5.0).take() is None


def test_a_folder_of_frames_counts_as_its_frames_and_names_stay(tmp_path):
    for name in ("a/one", "b/one"):
        (tmp_path / name).mkdir(parents=True)
        for file in ("rgb.png", "depth.png", "camera.json"):
            (tmp_path / name / file).symlink_to(SAMPLES / "blocks" / file)
    (tmp_path / "a" / ".hidden").mkdir()
    found = find_frames([tmp_path / "a", tmp_path / "b", tmp_path / "a" / "one"])
    assert found == [tmp_path / "a" / "one", tmp_path / "b" / "one"]
    assert list(project_names(found, {}).values()) == ["one", "one_2"]
    assert list(project_names(found, {str(found[1]): "one"}).values()) == ["one_2", "one"]
    with pytest.raises(BatchError, match=r"there is no .*nowhere; name frames, or a folder of frames"):
        find_frames([tmp_path / "nowhere"])


@pytest.mark.parametrize(("more", "message"), [(["--jobs", "0"], "take numbers above 0"), ([], "holds other files")])
def test_bad_input_is_one_line_and_exit_code_2_and_nothing_is_lost(tmp_path, refused, more, message):
    (tmp_path / "letter.txt").write_text("dear")
    assert message in refused("batch", SAMPLES / "blocks", "--out", tmp_path, *more)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_the_report_is_one_file_with_every_frame_and_what_people_did_that_needs_no_network(done, tmp_path, refused):
    out, _ = done
    assert main(["report", str(out), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(page) < 10_000_000 and "default-src 'none'" in page
    assert not re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="(?!data:)', page)
    assert "2 frames: 1 done, 1 failed" in page and "Plotly.newPlot" in page
    for item in items(out).values():
        assert f'<h2>{item["project"]} <span class="{item["state"]}">{item["state"]}</span></h2>' in page
    assert page.count('alt="Photograph"') == page.count('alt="Masks"') == 1
    edited = FrameReport(BatchItem("/frames/a", "a", "done"), decisions=("rename: 2",))
    assert "<dd>rename: 2</dd>" in batch_page("b", [edited])
    assert "has no batch.json" in refused("report", tmp_path, "--out", tmp_path / "none.html")


@pytest.fixture(scope="module")
def address():
    """The address of a cluster of two cores on this machine."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    yield cluster.address
    cluster.shutdown()


@pytest.mark.soak
def test_a_batch_on_a_cluster_gives_the_bytes_of_a_local_one(address, frames, tmp_path, capsys):
    assert main(["batch", str(frames), "--out", str(tmp_path / "ray"), "--until", "scene", "--ray", address]) == 0
    lines = capsys.readouterr().err
    assert "blocks: scene" in lines and lines.splitlines()[-1].startswith("1 of 2 done")
    assert main(["batch", str(frames), "--out", str(tmp_path / "here"), "--until", "scene"]) == 0
    by_ray, here = (items(tmp_path / name) for name in ("ray", "here"))
    for key in ("state", "message"):
        assert {name: one[key] for name, one in by_ray.items()} == {name: one[key] for name, one in here.items()}
    assert by_ray["broken"]["message"]
    for file in ("segments/masks.png", "segments/coco.json", "frame/depth.png", "scene.json", "scene/scene.xml"):
        assert (tmp_path / "ray/blocks" / file).read_bytes() == (tmp_path / "here/blocks" / file).read_bytes()


@pytest.mark.soak
def test_an_evaluation_on_a_cluster_gives_the_episodes_of_a_local_one(address, tmp_path):
    command = ["evaluate-policy", str(ready_project("blocks", "solution")), "--policy", "hold", "--seconds", "1"]
    (tmp_path / "still.py").write_text("def act(observation, words):\n    return [0.1] * 5\n")
    command += ["--count", "8", "--policy", f"{tmp_path}/still.py:act", "--out"]
    assert main([*command, str(tmp_path / "here")]) == main([*command, str(tmp_path / "ray"), "--ray", address]) == 0
    by_ray, here = ({path.relative_to(at): path.read_bytes() for path in at.rglob("*") if path.is_file()}
                    for at in (tmp_path / "ray", tmp_path / "here"))  # fmt: skip
    assert by_ray == here and len(here) > 2 * 16


@pytest.mark.soak
def test_a_frame_on_a_cluster_is_stopped(address, tmp_path):
    from studio.batch.ray_cluster import RayCluster

    record = blocks_batch(tmp_path)
    record.write()
    cluster = RayCluster(address)
    stop = lambda line: runner.stop() if line.startswith("blocks: descriptions") else None  # noqa: E731
    runner = BatchRunner(record, [], Bounds(), stop, make=cluster.make)
    runner.run(1)
    cluster.close()
    assert items(tmp_path)["blocks"]["state"] == "todo"
    assert json.loads((tmp_path / "blocks" / "project.json").read_text())["stages"]["segments"] == "done"


@pytest.mark.soak
def test_a_cluster_that_does_not_answer_is_one_line_and_nothing_is_made(tmp_path, refused):
    told = refused("batch", SAMPLES / "blocks", "--out", tmp_path / "out", "--ray", "127.0.0.1:1")
    assert "no Ray cluster answers at 127.0.0.1:1" in told and not (tmp_path / "out").exists()


def test_without_ray_the_option_says_what_to_install(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    told = refused("batch", SAMPLES / "blocks", "--out", tmp_path / "out", "--ray", "auto")
    assert told.startswith("--ray needs Ray; install it with: pip install") and not (tmp_path / "out").exists()

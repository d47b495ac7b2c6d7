"""A workspace and its copy in an object store: what changed on one side reaches the other, and nothing is lost."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offline_studio import FRAME

from pipeline.project import Project
from pipeline.store import StoreError, WriterLock, write_text
from pipeline.store.folder_sync import folder_hashes, sync_folder
from pipeline.store.object_store import LIST_FILE, ObjectStore
from studio.__main__ import main


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def s3_bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a place in an empty bucket, as `s3://` finds it by the settings of the environment."""
    for name, value in {"ENDPOINT_URL": s3_server, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    bucket = fsspec.filesystem("s3")
    bucket.mkdir("lab")
    yield "s3://lab/projects"
    bucket.rm("lab", recursive=True)


@pytest.fixture(params=["memory", "local", pytest.param("s3", marks=pytest.mark.soak)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    fsspec.filesystem("memory").store.clear()
    if request.param == "s3":
        return request.getfixturevalue("s3_bucket")
    return "memory://lab/projects" if request.param == "memory" else (tmp_path / "store").as_uri()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        Project.create(tmp_path / "home" / name, FRAME, name).close()
    return tmp_path / "home"


def contents(workspace: Path) -> dict[str, Any]:
    return {folder.name: dict(folder_hashes(folder)) for folder in sorted(workspace.glob("[!.]*"))}


def test_another_machine_gets_the_projects_and_sends_its_changes_back(url: str, home: Path, tmp_path: Path, capsys):
    away = tmp_path / "away"
    assert main(["sync", str(home), url]) == 0 and main(["sync", str(away), url]) == 0
    assert contents(away) == contents(home) and Project.open(away / "one").name == "one"
    write_text(away / "one" / "notes" / "a.txt", "new")
    (away / "one" / "frame" / "rgb.png").unlink()
    assert main(["sync", str(away), url, "one"]) == 0
    capsys.readouterr()
    assert main(["sync", str(home), url]) == 0
    assert contents(home) == contents(away) and not (home / "one" / "frame" / "rgb.png").exists()
    assert capsys.readouterr().err.splitlines()[:2] == ["one: 1 file fetched", "two: unchanged"]


def test_what_changed_on_both_sides_is_kept_until_a_person_says_which(url: str, home: Path, tmp_path: Path, capsys):
    away = tmp_path / "away"
    for workspace in (home, away):
        assert main(["sync", str(workspace), url]) == 0
    for workspace in (home, away):
        write_text(workspace / "one" / "said.txt", workspace.name)
    assert main(["sync", str(home), url]) == 0
    before = contents(away)
    capsys.readouterr()
    assert main(["sync", str(away), url]) == 2
    error = capsys.readouterr().err
    assert "one: not synced: it has changed here and there; --keep here or --keep there" in error
    assert contents(away) == before and main(["sync", str(away), url, "--keep", "here"]) == 0
    assert main(["sync", str(home), url]) == 0 and (home / "one" / "said.txt").read_text() == "away"
    write_text(away / "one" / "said.txt", "again")
    write_text(home / "one" / "said.txt", "other")
    assert main(["sync", str(home), url]) == 0 and main(["sync", str(away), url, "--keep", "there"]) == 0
    assert (away / "one" / "said.txt").read_text() == "other"


def test_a_project_that_is_open_elsewhere_is_left_and_the_others_are_synced(url: str, home: Path, monkeypatch: Any):
    acquire = WriterLock.acquire

    def refuse(folder: Path) -> WriterLock:
        if folder.name == "one":
            raise StoreError("one is open in another process")
        return acquire(folder)

    monkeypatch.setattr(WriterLock, "acquire", staticmethod(refuse))
    assert main(["sync", str(home), url]) == 2 and ObjectStore.open(url).names() == ["two"]


def test_a_copy_that_was_cut_off_is_refused_and_the_next_sync_completes_it(url: str, home: Path, tmp_path: Path):
    store, away = ObjectStore.open(url), tmp_path / "away" / "one"
    sync_folder(home / "one", store, "project.json")
    store.fs.pipe_file(f"{store.root}/one/project.json", b"{")
    with pytest.raises(StoreError, match="is not complete; sync the machine that sent it again"):
        sync_folder(away, store, "project.json")
    assert not away.exists() or not any(away.rglob("*"))
    write_text(home / "one" / "project.json", (home / "one" / "project.json").read_text() + " ")
    sync_folder(home / "one", store, "project.json")
    sync_folder(away, store, "project.json")
    assert folder_hashes(away) == folder_hashes(home / "one")


def test_a_list_that_leads_out_of_its_folder_is_refused_and_a_missing_bucket_named(tmp_path: Path):
    fsspec.filesystem("memory").store.clear()
    store = ObjectStore.open("memory://lab")
    for path in ("../out", "/etc/x", "a/../../x", "", ".writer.lock", "a//b", "a\\b", "./x"):
        content = json.dumps({"schema": 1, "files": {path: "0" * 64}}).encode()
        store.fs.pipe_file(f"{store.root}/one/{LIST_FILE}", content)
        with pytest.raises(StoreError, match="is damaged"):
            sync_folder(tmp_path / "away" / "one", store, "project.json")
        assert not (tmp_path / "away").exists(), path
    nothing = SimpleNamespace(exists=lambda path: False)
    with pytest.raises(StoreError, match="s3://nothing/lab: there is no bucket nothing; create it or correct its name"):
        ObjectStore(nothing, "nothing/lab", "s3://nothing/lab").names()
    assert ObjectStore(nothing, "nothing/lab", "memory://nothing/lab").names() == []


def test_bad_input_is_one_line_and_exit_code_2(home: Path, refused: Any):
    fsspec.filesystem("memory").store.clear()
    for arguments, message in (
        (["nowhere"], "is not an address"),
        (["nonsense://x"], "is no place that fsspec knows"),
        (["memory://lab", "../one"], "is not the name of a project"),
        (["memory://lab", "three"], "there is no project"),
    ):
        assert message in refused("sync", home, *arguments)
    project = home / "one" / "project.json"
    assert f"{project} is a file, so nothing can be written" in refused("sync", project / "below", "memory://lab")


FILES = st.dictionaries(st.sampled_from(["project.json", "a.txt", "b/c.txt", "b/d.bin"]), st.binary(max_size=20))


@given(changes=st.lists(st.tuples(st.sampled_from(["here", "away"]), FILES), max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_changes_that_take_turns_both_sides_are_equal(changes: list, tmp_path: Path):
    fsspec.filesystem("memory").store.clear()
    store = ObjectStore.open("memory://lab")
    folders = {side: tmp_path / side / "one" for side in ("here", "away")}
    for folder in folders.values():
        shutil.rmtree(folder.parent, ignore_errors=True)
    for side, files in [("here", {}), *changes]:
        folder = folders[side]
        for other in folder.rglob("*.txt"):
            other.unlink()
        for path, content in {"project.json": b"{}", **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        for one in (folder, *folders.values()):
            sync_folder(one, store, "project.json")
        assert folder_hashes(folders["here"]) == folder_hashes(folders["away"]) == store.hashes("one")


@pytest.mark.parametrize("link", ["scene", "scene.json", "rounds/000"])
def test_a_link_in_a_strangers_project_is_followed_neither_to_read_nor_to_write(link: str, tmp_path: Path, capsys: Any):
    precious, project, store = tmp_path / "precious", tmp_path / "lab" / "one", (tmp_path / "store").as_uri()
    Project.create(project, FRAME).close()
    for name in ("scene/scene.xml", "rounds/000/sim.py", "scene.json"):
        write_text(project / name, "ours")
    assert main(["sync", str(project.parent), store]) == 0
    write_text(precious / "scene.xml", "secret")
    shutil.rmtree(project / link, ignore_errors=True)
    (project / link).unlink(missing_ok=True)
    (project / link).symlink_to(precious)
    with pytest.raises(StoreError, match="holds a link"):
        Project.open(project)
    capsys.readouterr()
    for command in (
        ["sync", str(project.parent), store, "--keep", "there"],
        ["export", str(project), "--format", "zip", "--out", str(tmp_path / "out.zip")],
        ["tasks", str(project), "--report", str(tmp_path / "tasks.html")],
    ):
        assert main(command) == 2 and "holds a link" in capsys.readouterr().err
    assert [path.name for path in precious.iterdir()] == ["scene.xml"] and not (tmp_path / "out.zip").exists()

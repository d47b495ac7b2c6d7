"""The process that opens models has no key, no network and no files but those given; its answers are checked."""

import threading
from pathlib import Path

import pytest

from pipeline.assets import AssetError
from pipeline.assets.importers import isolated_import
from pipeline.assets.importers.import_staging import staging_folder, take_over
from pipeline.assets.importers.isolated_import import import_isolated
from pipeline.confinement import platform_coverage
from pipeline.untrusted.worker_process import network_environment

covered = pytest.mark.skipif(
    not (platform_coverage()["files"] and platform_coverage()["calls"]), reason="needs Landlock and seccomp"
)


@covered
def test_a_taken_over_reader_reaches_no_key_network_file_or_other_asset(tmp_path, monkeypatch):
    monkeypatch.setattr(isolated_import, "MODULE", "tests.assets.hostile_worker")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    kept = tmp_path / "library" / "kept"
    kept.mkdir(parents=True)
    (kept / "asset.json").write_text("kept")
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "mesh.obj").write_text(str(secret))
    steps = list(import_isolated([drop / "mesh.obj"], drop, tmp_path / "library", {}, threading.Event()))
    assert steps[0].warnings == (), "what a taken-over reader could do"
    assert not [step for step in steps if step.warnings or step.id]
    assert ["may be an attack" in step.error for step in steps[1:2]] == [True]
    assert "took too much memory or time, or crashed" in steps[-1].error
    assert (kept / "asset.json").read_text() == "kept" and secret.read_text() == "secret"
    assert [path.name for path in (tmp_path / "library").iterdir()] == ["kept"]
    assert [path.name for path in drop.iterdir()] == ["mesh.obj"]


def test_staging_takes_over_plain_files_only_and_a_download_gets_the_proxy_but_no_key(tmp_path, monkeypatch):
    dead = tmp_path / ".import.999999999.0123abcd"
    dead.mkdir()
    with staging_folder(tmp_path):
        assert not dead.exists() and len(list(Path(tmp_path).iterdir())) == 1
    with staging_folder(tmp_path / "library") as staging:
        (staging / "leak").mkdir()
        (staging / "leak" / "mesh.obj").symlink_to("/etc/hostname")
        (staging / "good").mkdir()
        (staging / "good" / "mesh.obj").write_text("v 0 0 0")
        for id, message in (("leak", "more than plain files"), ("../x", "id is"), ("none", "cannot be read")):
            with pytest.raises(AssetError, match=message):
                take_over(staging, id, tmp_path / "library", may_replace=True)
        take_over(staging, "good", tmp_path / "library", may_replace=False)
    assert [path.name for path in (tmp_path / "library").iterdir()] == ["good"]
    for name in ("OPENAI_API_KEY", "GRS_AUTH", "AWS_SECRET_ACCESS_KEY", "GRS_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    environment = network_environment()
    assert environment["https_proxy"] == "http://proxy:1" and "secret" not in environment.values()

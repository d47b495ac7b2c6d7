"""What others wrote is here unchanged, with its licence."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
THREE, AXE = ROOT / "static" / "vendor" / "three", ROOT / "tests" / "vendor" / "axe-core"


def test_every_vendored_file_has_the_checksum_it_came_with():
    for folder in (THREE, AXE):
        lines = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
        sums = {name: checksum for checksum, name in lines}
        assert sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums}
        present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert present - {"SHA256SUMS", "README.md"} == set(sums)


def test_the_licence_and_the_version_are_there_and_our_own_pages_name_no_address_outside():
    assert "MIT License" in (THREE / "LICENSE").read_text()
    assert "REVISION = '187'" in (THREE / "build" / "three.core.js").read_text().replace('"', "'")
    assert "three@0.187.0" in (THREE / "README.md").read_text()
    assert "Mozilla Public License, version 2.0" in (AXE / "LICENSE").read_text()
    assert "axe v4.14.1" in (AXE / "axe.min.js").read_text()[:40]
    assert "axe-core@4.14.1" in (AXE / "README.md").read_text()
    pages = [path for path in (THREE.parents[1] / "viewer").rglob("*") if path.is_file()]
    assert pages
    for path in pages:
        lines = path.read_text().splitlines()
        assert not [line for line in lines if "://" in line and "www.w3.org" not in line], path

"""The wheel and the image hold everything the studio needs; benches start; what others wrote is here unchanged."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from studio.__main__ import parser
from studio.web import gate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {name: name for name in ("pipeline", "components", "studio")}
FOLDERS = PACKAGES | {"static": "components/_static", "sample_scenes": "pipeline/_sample_scenes"}
START = """
import sys

class OnlyTheDependencies:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "sam2", "gymnasium", "stable_baselines3", "pxr", "mujoco_warp", "ray",
                                      "rosbags", "transformers"):
            raise ModuleNotFoundError(f"{name} comes with an extra")

sys.meta_path.insert(0, OnlyTheDependencies())
import pipeline, studio.app
from components.component import STATIC
from pipeline import plugins
from pipeline.assets.library import BUILTIN_LIBRARY
print(pipeline.__file__, studio.app.__file__, BUILTIN_LIBRARY, STATIC, sep="\\n")
assert STATIC.is_dir() and BUILTIN_LIBRARY.is_dir() and "depth" in plugins.entries("segmenters")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=ROOT, check=True)
    (path,) = built.glob("grs_studio-*.whl")
    return path


def test_a_wheel_holds_every_file_of_its_packages_and_its_commands(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        entry_points = next(name for name in held if name.endswith(".dist-info/entry_points.txt"))
        commands = archive.read(entry_points).decode()
    for folder, place in FOLDERS.items():
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix not in (".pyc", ".pyi")]
        assert files and {f"{place}/{path.relative_to(ROOT / folder).as_posix()}" for path in files} <= held
    assert "grs-studio = studio.__main__:main" in commands and "[grs_studio.segmenters]" in commands


def test_the_studio_starts_from_a_wheel_without_the_packages_of_its_extras(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    site = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, cwd=tmp_path / "empty", env=site, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(tmp_path / "site") for line in done.stdout.split())


@pytest.mark.soak
def test_a_sample_frame_is_solved_in_an_environment_that_holds_only_the_wheel(wheel: Path, tmp_path: Path):
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    python, uv = environment / "bin" / "python", Path(sys.executable).with_name("uv")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([uv, "venv", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "--python", python, wheel], check=True)
    (frame,) = environment.glob("lib/python*/site-packages/pipeline/_sample_scenes/blocks")
    subprocess.run([python, "-c", START], cwd=empty, env=outside, check=True)
    command = [environment / "bin" / "grs-studio", "run", frame, "--out", "project"]
    subprocess.run(command, cwd=empty, env=outside, check=True)
    assert json.loads((empty / "project" / "solution.json").read_text())["solved"] is True


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


def last(steps: list[tuple[str, str]], word: str) -> str:
    return [rest for instruction, rest in steps if instruction == word][-1]


def test_projects_lie_in_the_volume_only_copies_reach_the_build_and_the_studio_runs_as_a_user_without_rights(steps):
    volume, environment = last(steps, "VOLUME"), last(steps, "ENV")
    assert f"GRS_WORKSPACE={volume}" in environment and f"GRS_USERS={volume}/" in environment
    assert not re.search(r"GRS_AUTH|--auth|API_KEY|PASSWORD=", (ROOT / "Dockerfile").read_text())
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*", "everything is left out first: a workspace, keys, .git"
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    assert all((ROOT / name).exists() for name in sent)
    assert {*FOLDERS, "pyproject.toml", "README.md", "LICENSE"} <= sent
    copied = [rest.split()[0] for word, rest in steps if word == "COPY" and "--from" not in rest]
    assert all(name == "." or name in sent for name in copied)
    assert not {".git", "workspace", "tests", ".users.json", ".venv", "node_modules"} & sent
    user = last(steps, "USER")
    made = next(rest for word, rest in steps if word == "RUN" and "useradd" in rest)
    found = re.search(rf"useradd .*--uid {user} (\w+)", made)
    assert int(user) > 0 and found
    assert f"--owner={found[1]}" in made and made.rstrip().endswith(last(steps, "VOLUME"))
    words = [word for word, _ in steps]
    assert words.index("USER") > max(i for i, word in enumerate(words) if word in ("RUN", "COPY"))
    command = re.findall(r'"([^"]+)"', last(steps, "CMD"))
    arguments = parser().parse_args(command)
    assert last(steps, "ENTRYPOINT") == '["grs-studio"]'
    assert arguments.host == "0.0.0.0" and str(arguments.port) == last(steps, "EXPOSE")
    path = re.search(r"http://127\.0\.0\.1:(\d+)(/[\w.]*)", last(steps, "HEALTHCHECK"))
    assert path and path[1] == last(steps, "EXPOSE") and path[2] in gate.PUBLIC_FILES


def test_hadolint_finds_nothing():
    words = [Path(sys.executable).with_name("hadolint"), ROOT / "Dockerfile"]
    assert not subprocess.run(words, capture_output=True, text=True).stdout


@pytest.mark.soak
def test_the_image_is_built_and_holds_the_studio():
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker engine on this machine")
    image = "grs-studio:soak"
    assert subprocess.run(["docker", "build", "--tag", image, ROOT]).returncode == 0
    studio = ["--entrypoint", "python", image, "-c", "import studio.app"]
    assert subprocess.run(["docker", "run", "--rm", *studio]).returncode == 0


BENCHES = [path for path in sorted((ROOT / "bench").rglob("*.py")) if path.name != "__init__.py"]
OURS = {"pipeline", "studio", "components", "bench", "scripts", "tests", "sample_scenes"}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in OURS:
            yield from ((str(node.module), name.name) for name in node.names)


def is_there(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name) or bool(import_module(f"{module}.{name}"))
    except ModuleNotFoundError as error:
        return str(error.name).partition(".")[0] not in OURS  # else a package of an extra is missing


def test_a_bench_imports_only_names_that_there_are():
    missing = [
        f"{path.relative_to(ROOT)}: {module} has no {name}"
        for path in BENCHES for module, name in imports(path) if not is_there(module, name)
    ]  # fmt: skip
    assert BENCHES and not missing


VENDORED = [*(ROOT / "static" / "vendor").iterdir(), *(ROOT / "tests" / "vendor").iterdir()]


def test_every_vendored_file_has_the_checksum_it_came_with():
    assert {"three", "preact", "htm", "axe-core"} <= {folder.name for folder in VENDORED}
    for folder in VENDORED:
        lines = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
        sums = {name: checksum for checksum, name in lines}
        assert sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums}
        present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert present - {"SHA256SUMS", "README.md"} == set(sums)


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")
def test_a_command_starts_light_and_draws_without_a_display_or_a_variable():
    code = "import os, sys, studio.__main__; print(os.environ['MUJOCO_GL'], *{*HEAVY} & {*sys.modules})"
    heavy = ("mujoco", "trimesh", "scipy", "cv2", "PIL", "gradio", "openai", "open3d")
    bare = {name: value for name, value in os.environ.items() if name not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    words = [sys.executable, "-c", code.replace("HEAVY", repr(heavy))]
    assert subprocess.run(words, cwd=ROOT, env=bare, capture_output=True, text=True, check=True).stdout == "egl\n"

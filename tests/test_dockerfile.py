"""The Dockerfile: what it promises, as far as it can be read without docker, which builds it in `make soak`."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from studio.__main__ import parser
from studio.server import gate

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


def last(steps: list[tuple[str, str]], word: str) -> str:
    return [rest for instruction, rest in steps if instruction == word][-1]


def test_images_have_a_version_projects_lie_in_the_volume_and_only_copies_reach_the_build(steps: list[tuple[str, str]]):
    for rest in (rest for word, rest in steps if word == "FROM"):
        image = rest.split()[0]
        assert re.fullmatch(r"[a-z0-9./-]+:\d[\w.-]+", image) and "latest" not in image
    volume, environment = last(steps, "VOLUME"), last(steps, "ENV")
    assert f"GRS_WORKSPACE={volume}" in environment and f"GRS_USERS={volume}/" in environment
    assert not re.search(r"GRS_AUTH|--auth|API_KEY|PASSWORD=", (ROOT / "Dockerfile").read_text())
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*", "everything is left out first: a workspace, keys, .git"
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    assert all((ROOT / name).exists() for name in sent)
    folders = {"pipeline", "components", "studio", "static", "sample_scenes"}
    assert folders | {"pyproject.toml", "README.md", "LICENSE"} <= sent
    copied = [rest.split()[0] for word, rest in steps if word == "COPY" and "--from" not in rest]
    assert all(name == "." or name in sent for name in copied)
    assert not {".git", "workspace", "tests", ".users.json", ".venv", "node_modules"} & sent


def test_the_studio_runs_as_a_user_without_rights_by_a_command_that_it_takes(steps: list[tuple[str, str]]):
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
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.soak
def test_the_image_is_built_and_holds_the_studio():
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker engine on this machine")
    image = "grs-studio:soak"
    assert subprocess.run(["docker", "build", "--tag", image, ROOT]).returncode == 0
    studio = ["--entrypoint", "python", image, "-c", "import studio.server.app"]
    assert subprocess.run(["docker", "run", "--rm", *studio]).returncode == 0

"""Every export in the programs that it is for, each in an environment of its own (`make soak`; bench/consumers)."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ready_projects import ROOT, ready_project
from reference_frames import reference_frame

from bench.consumers import CONSUMERS, READERS, differences, kept, opened, truth
from bench.measurement import NotMeasured
from pipeline.export import export_project

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def made(twin_folder, tmp_path_factory):
    """Return what gives the truth of a project by its name, and one of its exports by format and file name."""
    exports = tmp_path_factory.mktemp("consumed")

    @functools.cache
    def project(name: str) -> Path:
        if name in ("blocks", "stack"):
            return ready_project(name)
        if name == "furniture":
            return twin_folder
        command = ["-m", "studio", "run", str(reference_frame("m2t2_00")), "--out", str(exports / name)]
        subprocess.run([sys.executable, *command, "--until", "scene"], cwd=ROOT, check=True)
        return exports / name

    @functools.cache
    def export(name: str, file_format: str, file: str) -> Path:
        (exports / f"{name}_files").mkdir(exist_ok=True)
        export_project(project(name), file_format, exports / f"{name}_files" / file)
        return exports / f"{name}_files" / file

    return functools.cache(lambda name: truth(project(name))), export


@pytest.mark.parametrize("name", ["furniture", "stack", "blocks", "photograph"])
@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda one: f"{one.name} {one.export[1]}")
def test_it_reads_every_object_right_and_lets_it_stand_or_says_why_not(consumer, name, made, tmp_path):
    truth_of, export = made
    wanted = truth_of(name)
    try:
        found = opened(consumer, export(name, *consumer.export), wanted, tmp_path)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    if "said" in found:
        assert consumer.refuses and re.search(consumer.refuses, found["said"]), found["said"]
        pytest.skip(f"{consumer.name} cannot read this scene: {consumer.refuses}")
    wrong, figures = differences(consumer, found["objects"], wanted)
    assert not wrong
    kept(consumer, name, found["version"], figures)


def test_ppo_of_two_libraries_learns_on_the_environment(environment):
    command = [sys.executable, str(READERS / "learn.py"), str(environment)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["steps"] >= 20_000 and found["episodes"] > 20, "they are truncated"
    assert found["loop_episodes"] > 0 and np.isfinite(found["loss"])

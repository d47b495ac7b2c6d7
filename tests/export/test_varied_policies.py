"""A policy over HTTP, a function and learned policies run under the same conditions as the scripted robots."""

import json
from pathlib import Path

import numpy as np
import pytest
import twins
from http_server import serving

from pipeline.simulation import Program
from pipeline.variation import VariationStudy
from pipeline.variation import variation_files as files
from studio.__main__ import main

pytest.importorskip("gymnasium", reason='pip install "grs-studio[gymnasium]"')

from pipeline.closed_loop.conditions import write_environment
from pipeline.export.gym_env.package import demonstrate
from pipeline.export.gym_env.twin_world import TwinWorld

COUNT = 2


def vary(solved: Path, out: Path, *arguments: str) -> dict:
    assert main(["vary", str(solved), "--count", str(COUNT), "--seed", "4", "--out", str(out), *arguments]) == 0
    return json.loads((out / "variation.json").read_text())


def demonstrations(solved: Path, folder: Path, sandbox) -> dict[str, np.ndarray]:
    found = {}
    study = VariationStudy(solved, ("red_cube",), None, 4, COUNT)
    for id in study.ids:
        start = folder / id
        study.write(id, start)
        _, record = sandbox.run(Program(twins.PROGRAM, ""), start, seeds=(0,))
        recipes, _ = sandbox.arrange(Program(twins.PROGRAM, ""), start, [0])
        write_environment(start, recipes[0], "gripper")
        objects = list(TwinWorld(start, 0).objects().values())
        found[key(objects)] = demonstrate(TwinWorld(start, 0), record)[0]
    return found


def key(objects) -> str:
    return json.dumps(np.round(np.asarray(objects, float), 6).tolist())


def test_a_served_policy_solves_what_the_oracle_solves_under_the_same_conditions(
    solved, sandbox, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("pipeline.assets.library.Library.open", lambda *_: None)  # no cousins, no distractors
    actions = demonstrations(solved, tmp_path / "starts", sandbox)
    begun = []

    def answer(_: str, body: bytes) -> tuple[int, bytes]:
        question = json.loads(body)
        if question["begins"]:
            begun.append(actions[key(question["observation"]["objects"])])
            return 200, json.dumps({"actions": begun[-1].tolist()}).encode()
        return 200, json.dumps({"action": [0.0] * 5}).encode()

    out = tmp_path / "out"
    oracle = vary(solved, out)
    conditions = (out / files.CONDITIONS).read_bytes()
    with serving(answer) as address:
        served = vary(solved, out, "--robot", "policy", "--policy", address)
        again = vary(solved, out, "--robot", "policy", "--policy", address)
    assert len(begun) == COUNT and again == served, "a repeated command asks nothing again"
    assert (out / files.CONDITIONS).read_bytes() == conditions and served["robot"] == f"policy {address}"
    assert served["success"] == oracle["success"] and served["success"]["successes"] >= COUNT - 1
    idle = vary(solved, tmp_path / "idle", "--robot", "policy", "--policy", "hold", "--seconds", "1")
    assert idle["success"]["successes"] == 0
    assert {row["reason"] for row in idle["failures"]} == {"0% of the goals met after 1 s"}
    assert "Conditions that fail" in (tmp_path / "idle" / "report.html").read_text()
    capsys.readouterr()
    assert main(["vary", str(solved), "--robot", "policy", "--policy", "hold", "--out", str(out)]) == 2
    assert "holds outcomes of http://" in capsys.readouterr().err


def test_a_policy_that_cannot_be_asked_is_no_failure_of_a_condition(solved, tmp_path, capsys):
    with serving(lambda *_: (500, b"{}")) as address:
        out = tmp_path / "out"
        arguments = ["vary", str(solved), "--count", "2", "--robot", "policy", "--policy", address, "--out", str(out)]
        assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "HTTP 500" in error and error.count("\n") == 1 and not (out / "outcomes_policy.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--robot", "policy"), "has no learned policies; run grs-studio learn"),
        (("--policy", "hold"), "belong to --robot policy"),
        (("--robot", "policy", "--policy", "demonstration"), "a varied start has no demonstration"),
        (("--robot", "policy", "--policy", "hold", "--seconds", "0"), "--seconds 0 is not between"),
        (("--robot", "policy", "--images"), "learned policies see no pictures"),
        (("--robot", "policy", "--policy", "moon"), "is no policy; choose"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_one_line(solved, tmp_path, capsys, arguments, words):
    if arguments == ("--robot", "policy"):
        pytest.importorskip("stable_baselines3", reason='pip install "grs-studio[learn]"')
    assert main(["vary", str(solved), "--count", "1", "--out", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1

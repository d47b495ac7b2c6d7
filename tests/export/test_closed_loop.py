"""The exported environment runs alone; a policy controls it, also under varied conditions, measured as the oracle."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import cv2
import gymnasium
import numpy as np
import pytest
import twins

from pipeline.closed_loop import policy as policies
from pipeline.closed_loop.policies import episodes_at_once
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols.http import MAX_ANSWER_BYTES, HttpPolicy
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.variation import variation_files as files
from studio.__main__ import main
from tests.models import hostile
from tests.models.hostile import HostileServer, serving

NEEDED = {"mujoco", "numpy", "scipy", "gymnasium", "grs_env"}
CODE = """
import sys, warnings
for name in ("pipeline", "trimesh", "PIL", "cv2", "pydantic", "pandas", "torch"):
    sys.modules[name] = None
sys.path.insert(0, ".")
warnings.simplefilter("error")
import json, grs_env, numpy as np
from gymnasium.utils.env_checker import check_env
check_env(grs_env.make(), skip_render_check=True)
env = grs_env.make()
starts = {seed: env.reset(seed=seed)[0]["objects"] for seed in env.layouts}
again = env.reset(seed=3)[0]["objects"]
one, other = env.reset(seed=13)[1]["layout"], env.reset(options={"layout": 3})[1]["layout"]
env.reset(seed=0)
idle = [env.step(np.zeros(env.action_space.shape))[4]["success"] for _ in range(20)]
short = grs_env.make(max_steps=3)
short.reset(seed=0)
ends = [short.step(np.zeros(short.action_space.shape))[2:4] for _ in range(3)]
two = grs_env.make_vec(2, "sync", max_steps=3)
two.reset(seed=0)
stepped = [two.step(two.action_space.sample()) for _ in range(3)]
runs = [grs_env.demonstration(seed) for seed in env.layouts]
try:
    grs_env.demonstration(2)
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "layouts": env.layouts, "names": env.object_names, "success": [run.success for run in runs],
    "actions": [[len(run.observations) - len(run.actions), float(abs(run.actions).max())] for run in runs],
    "first": [run.rewards[0] for run in runs], "last": [run.rewards[-1] for run in runs],
    "same": bool((starts[3] == again).all()), "differ": bool((starts[0] != starts[3]).any()), "other": [one, other],
    "ends": ends, "limit": env.max_steps / max(len(run.actions) for run in runs), "together": stepped[-1][3].tolist(),
    "shape": stepped[0][0]["objects"].shape, "idle": any(idle), "refused": refused, "instruction": env.instruction,
}))
"""


def test_the_environment_is_clean_and_every_demonstration_reaches_success(environment):
    site = str(Path(gymnasium.__file__).parents[1])  # -I leaves PYTHONPATH out
    code = f"import sys; sys.path.append({site!r})" + CODE
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["layouts"] == list(twins.SEEDS) and result["success"] == [True, True]
    assert all(first < 0.9 < last for first, last in zip(result["first"], result["last"], strict=True))
    assert all(more == 1 and largest <= 1 for more, largest in result["actions"])
    assert result["same"] and result["differ"] and result["other"] == [3, 3] and not result["idle"]
    assert "cabinet" in result["names"] and result["instruction"].startswith("Put the red cube")
    assert result["ends"] == [[False, False], [False, False], [False, True]] and result["together"] == [True, True]
    assert result["limit"] >= 3 and result["shape"] == [2, len(result["names"]), 7]
    assert result["refused"] == "there is no demonstration of seed 2; there are: 0, 3"


ACTIONS, CHUNK = 5, 80


def summary(out: Path) -> dict:
    return json.loads((out / "evaluation.json").read_text())["policies"][0]


def test_a_server_that_answers_the_demonstration_in_chunks_solves_every_layout(environment, tmp_path):
    questions = []

    def answer(_: str, body: bytes) -> tuple[int, bytes]:
        question = json.loads(body)
        questions.append(question)
        actions = np.load(environment / "layouts" / f"{question['layout']:03d}.npy")
        begin = round(question["seconds"] / 0.032)
        return 200, json.dumps({"actions": actions[begin : begin + CHUNK].tolist() or [[0.0] * ACTIONS]}).encode()

    with serving(answer) as address:
        out = tmp_path / "out"
        arguments = ["evaluate-policy", str(environment), "--policy", address, "--out", str(out), "--images"]
        assert main(arguments) == 0
        asked = len(questions)
        assert main(arguments) == 0
    assert len(questions) == asked, "what was measured is not measured again"
    assert summary(out)["success"] == 1
    first = [question for question in questions if question["begins"]]
    assert [question["layout"] for question in first] == list(twins.SEEDS)
    assert all(set(question["observation"]) == {"state", "objects", "image", "wrist"} for question in questions)
    assert first[0]["instruction"].startswith("Put the red cube")
    png = np.frombuffer(base64.b64decode(first[0]["observation"]["image"]), np.uint8)
    picture = cv2.imdecode(png, cv2.IMREAD_COLOR)
    assert picture is not None
    env = TwinEnv(folder=environment)
    env.reset(options={"layout": twins.SEEDS[0]})
    drawn = env.draw(picture.shape[1], picture.shape[0]).astype(int)
    env.close()
    assert np.abs(picture[..., ::-1] - drawn).mean() < 0.5 * np.abs(picture - drawn).mean()


def test_the_demonstration_diverges_from_itself_by_nothing_and_doing_nothing_solves_nothing(solved, tmp_path):
    oracle, again, idle = tmp_path / "oracle", tmp_path / "again", tmp_path / "idle"
    assert main(["evaluate-policy", str(solved), "--policy", "demonstration", "--out", str(oracle)]) == 0
    environment, real = str(oracle / "environment"), str(oracle / "episodes" / "demonstration")
    arguments = ["evaluate-policy", environment, "--policy", "demonstration", "--real", real, "--out", str(again)]
    assert main(arguments) == 0 and summary(again)["rmse"] < 1e-9
    arguments = ["evaluate-policy", environment, "--policy", "hold", "--seconds", "2", "--real", real]
    assert main([*arguments, "--out", str(idle)]) == 0
    assert summary(idle)["success"] == 0 and summary(idle)["rmse"] > 0.01


def test_an_answer_that_is_no_action_ends_in_one_line(environment, tmp_path, refused):
    for status, body, word in (
        (200, b"not json", "not JSON"),
        (200, b"[]", '"action"'),
        (200, b'{"action": [1, 2]}', "shape"),
        (200, b'{"action": [NaN, 0, 0, 0, 0]}', "NaN"),
        (200, b"[" + b"0," * MAX_ANSWER_BYTES + b"0]", "more than 1 MB"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b'{"action": [1' + b"0" * 400 + b", 0, 0, 0, 0]}", "numbers"),
        (200, b'{"action": ' + b"[" * 90 + b"0" + b"]" * 90 + b"}", "numbers"),
        (500, b'{"error": "one\\n\\u001b[2Jtwo"}', "500: one two"),
        (500, b"[" * 100_000, "200 is expected"),
    ):
        with serving(lambda *_, answer=(status, body): answer) as address:
            message = refused("evaluate-policy", environment, "--policy", address, "--out", tmp_path / word)
        assert word in message and "\x1b" not in message and "Traceback" not in message


@pytest.mark.parametrize("behaviour", [hostile.drips, hostile.drips_headers])
def test_an_answer_that_drips_without_end_is_given_up_after_the_time_of_one_answer(monkeypatch, behaviour):
    monkeypatch.setattr(policies, "ANSWER_SECONDS", 0.4)
    with HostileServer(behaviour) as server:
        policy = HttpPolicy(server.url)
        policy.begin(0, "")
        with pytest.raises(PolicyError, match=r"did not answer within 0\.4 s"):
            policy.act({"state": np.zeros(ACTIONS)}, 0.0)


def test_the_episodes_of_a_function_do_not_depend_on_how_many_run_at_a_time(solved, tmp_path):
    (tmp_path / "kept.py").write_text("calls = []\n")
    (tmp_path / "mine.py").write_text(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import kept\n"
        "def act(observation, words):\n    kept.calls.append(1)\n    print(len(kept.calls))\n"
        "    return [min(1, len(kept.calls) / 100)] * 5\n"
    )
    outs = []
    for jobs in (1, 2):
        out = tmp_path / f"jobs_{jobs}"
        command = ["evaluate-policy", str(solved), "--policy", f"{tmp_path}/mine.py:act", "--count", "3"]
        assert main([*command, "--seconds", "2", "--jobs", str(jobs), "--out", str(out)]) == 0
        files = sorted((out / "rollouts").rglob("*.npz"))
        outs.append([(out / "outcomes.jsonl").read_bytes(), *(path.read_bytes() for path in files)])
    assert outs[0] == outs[1] and len(outs[0]) == 4
    assert [episodes_at_once(address, 20) for address in (
        "openpi://h:1", "vla-eval://h:1?replan=2", "vla-eval://h:1?time=real", "groot://h:1", "http://h/act", "a.py:f",
    )] == [8, 8, 1, 1, 1, 20]  # fmt: skip


COUNT = 2


def vary(solved: Path, out: Path, *arguments: str) -> dict:
    assert main(["vary", str(solved), "--count", str(COUNT), "--seed", "4", "--out", str(out), *arguments]) == 0
    return json.loads((out / "variation.json").read_text())


def test_a_policy_is_tried_once_on_the_conditions_of_the_oracle(solved, tmp_path, monkeypatch, refused):
    monkeypatch.setattr("pipeline.assets.library.Library.open", lambda *_: None)  # no cousins, no distractors
    out, hold = tmp_path / "out", ("--robot", "policy", "--policy", "hold", "--seconds", "1")
    oracle, conditions = vary(solved, out), (out / files.CONDITIONS).read_bytes()
    idle = vary(solved, out, *hold)
    monkeypatch.setattr("pipeline.closed_loop.episodes.run_policy", None)  # nothing is tried again
    assert vary(solved, out, *hold) == idle and (out / files.CONDITIONS).read_bytes() == conditions
    assert idle["robot"] == "policy hold" and oracle["success"]["successes"] >= COUNT - 1
    assert idle["success"]["successes"] == 0
    assert {row["reason"] for row in idle["failures"]} == {"0% of the goals met after 1 s"}
    assert "Conditions that fail" in (out / "report.html").read_text()
    line = refused("vary", solved, "--robot", "policy", "--policy", "demonstration", "--out", out)
    assert "holds outcomes of hold" in line


def test_what_cannot_be_tried_or_asked_is_refused_in_one_line(solved, tmp_path, refused):
    policy, file = ("--robot", "policy"), tmp_path / "mine.py"
    file.write_text("def fails(*_):\n    raise KeyError('x')\n")
    with serving(lambda *_: (500, b"{}")) as address:
        for arguments, words in (
            (("--policy", "hold"), "belong to --robot policy"),
            ((*policy, "--policy", "hold", "--seconds", "0"), "--seconds 0 is not between"),
            ((*policy, "--images"), "learned policies see no pictures"),
            ((*policy, "--policy", "moon"), "is no policy; choose"),
            ((*policy, "--policy", f"{file}:fails"), "the policy's function failed: KeyError"),
            ((*policy, "--policy", f"{file}:missing"), "has no function missing"),
            ((*policy, "--policy", address), "HTTP 500"),
        ):
            assert words in refused("vary", solved, "--count", "1", "--out", tmp_path / words[:9], *arguments)
    assert not list(tmp_path.rglob("outcomes_policy.jsonl")), "a policy that cannot be asked is no failed condition"
    pytest.importorskip("stable_baselines3", reason='pip install "grs-studio[learn]"')
    line = refused("vary", solved, "--count", "1", "--out", tmp_path / "out", *policy)
    assert "has no learned policies; run grs-studio learn" in line

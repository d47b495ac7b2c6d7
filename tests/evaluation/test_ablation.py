"""Table 1 and the ablation of the router: every matcher, task and row, resumable, with intervals and cost."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tabletop
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bench.mask_scores import score_masks, simulate_clicks
from pipeline.assets import Library
from pipeline.evaluation import AblationScene, AblationTrial, EvaluationError, JudgedProposal, ablate, matcher_table
from pipeline.evaluation.ablation import FILE, ROWS, AblationError, AblationOptions, keep_steps, read_steps
from pipeline.evaluation.ablation_report import bar_chart, markdown, summary, write_ablation
from pipeline.evaluation.match_scores import MatchOutcome, frame_outcomes, recall_at, score
from pipeline.evaluation.matcher_evaluation import VERDICT, MatcherEvaluation, read_truth, score_matchers
from pipeline.evaluation.matcher_table import to_csv, to_json
from pipeline.evaluation.scene_judge import JudgedScene
from pipeline.evaluation.significance import compare_groups, holm, mean_interval
from pipeline.matching import Candidate, LibraryFeatures, Match
from pipeline.models import ModelError, ModelSettings
from pipeline.models.budget import CeilingReached, spent_usd
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.stage_model import SceneContext
from pipeline.models.trace.recorder import TracingModel, read_trace
from pipeline.planner import PlannerModel
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter, decode_rle
from pipeline.simulation import CheckResult, Report
from scripts.scripted_model_server.server import ScriptedServer

PICTURE = np.full((48, 64, 3), 90, np.uint8)
COUNT = 2


def trial(mode: str, reward: float, crashed: bool = False) -> AblationTrial:
    return AblationTrial("table", "task", "stack", mode, reward, crashed, reward > 0.99, 1, 0, 2.0, "because")


TRIALS = [trial("none", 0.5), trial("none", 0.7, crashed=True), trial("route", 1.0), trial("route", 1.0)]


class HalfSolvingSandbox:
    def run(self, program, project_dir, *_, **__):
        return Report((CheckResult("check_it", False, "half"),), (0.5,), evidence={"goals": []}), None


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    names, found = list(tabletop.OBJECTS), []
    for number in range(3):
        folder = tmp_path_factory.mktemp("tables") / f"table{number}"
        objects = {name: tabletop.OBJECTS[name] for name in names[: len(names) - number]}
        tabletop.write(folder, objects=objects)
        notes = {name: f"(mark {k}) a plain {name}" for k, name in enumerate(objects, 1)}
        judged = JudgedScene(folder.name, [name.replace("_", " ") for name in objects], PICTURE)
        found.append(AblationScene(folder, SceneContext(notes, (PICTURE,), str(number)), judged=judged))
    return found


@pytest.fixture(scope="module")
def served():
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def model(served):
    def open_model(folder, ceiling=None):
        prices = {"usd_per_million_in": 2.0, "usd_per_million_out": 8.0}
        settings = ModelSettings("openai", served.model, base_url=served.url, ceiling_usd=ceiling, **prices)
        return TracingModel(OpenAIModel(settings), folder / "trace.jsonl")

    return open_model


OPTIONS = AblationOptions(tuple(ROWS), COUNT, 3)


@pytest.fixture(scope="module")
def whole(scenes, model, served, tmp_path_factory):
    before, folder = len(served.requests), tmp_path_factory.mktemp("whole")
    steps = list(ablate(scenes, model(folder), HalfSolvingSandbox(), OPTIONS))
    return steps, served.requests[before:], list(read_trace(folder / "trace.jsonl"))


def test_crashed_runs_are_left_out_of_one_score_count_as_zero_in_the_other_and_are_written_as_tables(tmp_path):
    none, route = summary(TRIALS)
    assert (none["reward_without_crashed"], none["reward_with_crashed"]) == (0.5, 0.25)
    assert (none["crashed"], none["tasks"], none["done"]) == (1, 2, 0.0)
    assert (route["reward_without_crashed"], route["reward_with_crashed"], route["done"]) == (1.0, 1.0, 1.0)
    assert none["reward_with_crashed_low"] <= 0.25 <= none["reward_with_crashed_high"]
    assert summary([trial("none", 0.5, crashed=True)])[0]["reward_without_crashed"] is None
    judged = [JudgedProposal("table", "task", True, found) for found in (True, False)]
    rows = write_ablation([*TRIALS, *judged], tmp_path / "out", "rules", "Cost: nothing <much>.")
    assert len(list(csv.DictReader((tmp_path / "out" / "trials.csv").open()))) == len(TRIALS)
    assert [row["mode"] for row in csv.DictReader((tmp_path / "out" / "ablation.csv").open())] == ["none", "route"]
    assert json.loads((tmp_path / "out" / "ablation.json").read_text())["summary"] == rows
    table = markdown(rows)
    assert "| router | 2 | 100% | 0 | 1.00 (1.00-1.00) | 1.00 (1.00-1.00) |" in table and "| 50% of 2 | 0.71 |" in table
    page = (tmp_path / "out" / "ablation.html").read_text()
    assert "Plotly.newPlot" in page and "<script src=" not in page, "it needs no network"
    assert "Kruskal-Wallis" in page and "nothing &lt;much&gt;" in page and "<td>router</td>" in page
    bars = bar_chart(rows, "rules").data
    assert [tuple(bar.y) for bar in bars] == [(0.5, 1.0), (0.25, 1.0)]
    assert [bar.name for bar in bars] == ["crashed runs left out", "crashed runs count 0"]


def test_every_row_starts_from_the_same_program_and_a_failing_model_is_a_crashed_trial(tmp_path):
    scene = AblationScene(tabletop.write(tmp_path))
    trials = list(ablate([scene], PlannerModel(), HalfSolvingSandbox(), AblationOptions(count=1, max_rounds=3)))
    assert [t.mode for t in trials] == ["none", "repair", "route"]
    assert len({t.task for t in trials}) == 1 and {t.reward for t in trials} == {0.5}
    assert trials[0].of_simulation == trials[0].of_checks == 0 and not any(t.done for t in trials)

    class SilentModel(PlannerModel):
        def ask(self, question):
            if question.kind == "write_program":
                raise ModelError("no words")
            return super().ask(question)

    scene = AblationScene(tabletop.write(tmp_path))
    trials = list(ablate([scene], SilentModel(), HalfSolvingSandbox(), AblationOptions(count=1)))
    assert [(t.crashed, t.reward, t.why) for t in trials] == [(True, 0.0, "no words")] * 3
    with pytest.raises(AblationError, match="no scene to run the ablation on"):
        next(ablate([], PlannerModel(), HalfSolvingSandbox()))


def test_rows_without_pictures_send_none_all_tasks_are_judged_and_a_stopped_run_goes_on(whole, scenes, model, tmp_path):
    steps, requests, trace = whole
    trials = [one for one in steps if isinstance(one, AblationTrial)]
    assert len(trials) == 3 * COUNT * len(ROWS) and {one.mode for one in trials} == set(ROWS)
    asked = [one for one in requests if one.kind != "judge_task"]
    sights = {(one.kind, len(one.pictures)) for one in asked}
    assert sights >= {(kind, count) for kind in ("propose_tasks", "write_program", "route") for count in (0, 1)}
    assert all("(mark 1) a plain red_cube" in one.prompt for one in asked)
    assert len([line for line in trace if line["event"] == "end"]) == len(requests), "every call is traced"
    verdicts = [one for one in steps if isinstance(one, JudgedProposal)]
    asked = [one for one in requests if one.kind == "judge_task"]
    assert len(verdicts) == 2 * 3 * COUNT and {one.pictures for one in verdicts} == {True, False}
    assert asked and all(len(one.pictures) == 3 and "red_cube" not in one.prompt for one in asked)
    alone = ablate(scenes[:2], model(tmp_path), HalfSolvingSandbox(), OPTIONS)
    assert not any(isinstance(one, JudgedProposal) for one in alone), "two scenes are too few"
    for stop in (1, len(steps) // 2, len(steps)):
        folder = tmp_path / f"stopped{stop}"
        keep_steps(folder, "scripted", steps[:stop])
        with (folder / FILE).open("a") as file:
            file.write('{"step": "trial", "scen')  # killed while writing
        done = read_steps(folder, "scripted")
        assert done == steps[:stop]
        rest = list(ablate(scenes, model(folder), HalfSolvingSandbox(), OPTIONS, done))
        assert [_result(one) for one in (*done, *rest)] == [_result(one) for one in steps]
    with pytest.raises(AblationError, match="by scripted, not by gpt-9"):
        read_steps(folder, "gpt-9")


@pytest.mark.parametrize("ceiling", [0.0, 0.05, 0.2])
def test_no_ablation_crosses_its_ceiling(scenes, model, tmp_path, ceiling):
    traced = model(tmp_path, ceiling)
    with pytest.raises(CeilingReached):
        list(ablate(scenes, traced, HalfSolvingSandbox(), replace(OPTIONS, count=1)))
    assert spent_usd(read_trace(tmp_path / "trace.jsonl")) <= ceiling and traced.budget.spent_usd <= ceiling


def _result(step):
    return replace(step, seconds=0.0) if isinstance(step, AblationTrial) else step


SCORES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=12)


def test_different_groups_differ_and_equal_ones_do_not():
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0, 0.4, 30).tolist(), rng.uniform(0.6, 1, 30).tolist()
    found = compare_groups({"low": low, "again": low, "high": high})
    assert found and found.p < 1e-6
    by_pair = {(one.first, one.second): one.p for one in found.pairs}
    assert by_pair["low", "again"] == pytest.approx(1) and by_pair["low", "high"] < 1e-6
    assert "low and high" in found.sentence and "low and again" not in found.sentence
    assert compare_groups({"one": [1.0, 0.5], "empty": [float("nan")]}) is None


@given(st.lists(SCORES, min_size=2, max_size=4))
def test_probabilities_lie_in_their_range_holm_keeps_their_order_and_an_interval_holds_its_mean(groups):
    found = compare_groups({str(k): group for k, group in enumerate(groups)})
    assert found and 0 <= found.p <= 1 and all(0 <= one.p <= 1 for one in found.pairs)
    assert len(found.pairs) == len(groups) * (len(groups) - 1) // 2
    for scores in groups:
        corrected = holm(scores)
        assert all(p <= c <= 1 for p, c in zip(scores, corrected, strict=True))
        assert [corrected[k] for k in np.argsort(scores, kind="stable")] == sorted(corrected)
        low, high = mean_interval(scores)
        assert min(scores) - 1e-9 <= low <= np.mean(scores) + 1e-9 and low <= high <= max(scores) + 1e-9


MUG = {"id": 1, "exact": ["mug"], "category": ["cup"], "either": ["bowl"]}
NOTHING = {"id": 2, "exact": [], "category": [], "either": []}


def row(chosen, exact=("mug",), frame="a", ranked=("mug",)):
    category = frozenset({"cup"} if exact else ())
    return MatchOutcome(frame, frozenset(exact), category, frozenset({"bowl"}), chosen, ranked)


def test_a_segment_counts_for_the_object_it_covers_and_a_substitute_is_right_as_a_category_alone():
    truth = np.zeros((20, 20), int)
    truth[:8, :8], truth[12:, 12:] = 1, 2
    masks = {5: truth == 1, 6: truth == 2, 7: np.roll(truth == 1, 10, axis=1)}
    matches = [Match(s, "mug", 1.0, "", (Candidate("mug", 0.9, {}, ""),)) for s in masks]
    rows = frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=True)
    assert [one.verdict("exact") for one in rows] == ["right", "invented", "invented"]
    assert len(frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=False)) == 2
    assert frame_outcomes("a", [], {}, truth, [MUG], complete=True)[0].verdict("exact") == "missed"
    assert row(None, exact=()).verdict("exact") == "null kept"
    assert row("can", exact=()).verdict("category") == "invented"
    rows = [row("mug", frame=str(k % 4)) for k in range(9)] + [row("can", frame="1"), row(None, frame="2")]
    rows.append(row("can", exact=(), frame="3"))
    one = score(rows, "exact")
    assert one.f1 == pytest.approx(2 * one.precision * one.recall / (one.precision + one.recall))
    assert one.low <= one.f1 <= one.high and one.low < one.high
    assert score([row("mug")] * 3, "exact").f1 == 1 and recall_at(rows, "exact", 1) == 1
    for chosen, exact, category in (
        ("mug", "right", "right"),
        ("cup", "not counted", "right"),
        ("bowl", "not counted", "not counted"),
        ("can", "wrong", "wrong"),
        (None, "missed", "missed"),
    ):
        assert (row(chosen).verdict("exact"), row(chosen).verdict("category")) == (exact, category), chosen


class ReadingModel:
    name, has_vision = "reader-1", False

    def __init__(self, right, silent=False):
        self.right, self.silent, self.kinds = right, silent, []

    def ask(self, question):
        self.kinds.append(question.kind)
        if self.silent:
            raise ModelError("It is away.")
        lines = question.data["assets"].splitlines()
        number = next((k for k, line in enumerate(lines, 1) if self.right in line.replace(" ", "_")), 0)
        return question.answer_type(choice=number, scores=[], reason="read")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory) -> Path:
    folder, scene = tmp_path_factory.mktemp("labelled"), SAMPLE_SCENES / "blocks"
    for name in ("rgb.png", "depth.png", "camera.json"):
        (folder / "one" / "truth").mkdir(parents=True, exist_ok=True)
        shutil.copy(scene / name, folder / "one" / name)
    objects = json.loads((scene / "expected.json").read_text())["objects"]
    labels = np.zeros(decode_rle(objects[0]["mask"]).shape, np.uint16)
    for number, one in enumerate(objects, 1):
        labels[decode_rle(one["mask"])] = number
    Image.fromarray(labels).save(folder / "one" / "truth" / "masks.png")
    (folder / "one" / "truth" / "truth.json").write_text('{"complete": true}')
    rows = [{"id": k, "exact": [t["asset_id"]], "category": []} for k, t in enumerate(objects, 1)]
    (folder / "assets.json").write_text(json.dumps({"frames": {"one": rows}}))
    return folder


@pytest.fixture(scope="module")
def library():
    return Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "hammer", "pear", "red_ball"}))


@pytest.fixture(scope="module")
def features(library):
    return LibraryFeatures.compute(library)


@pytest.fixture
def evaluation(labelled, library, features, tmp_path):
    frames, truth = read_truth(labelled, labelled / "assets.json")
    made = DepthSegmenter(), PlannerModel(), lambda: features
    return MatcherEvaluation(frames, truth, library, *made, None, tmp_path, true_masks=True)


def last_table(evaluation, matchers=()):
    return [step.table for step in score_matchers(evaluation, matchers) if step.table][-1]


def test_an_unmeasurable_matcher_has_a_reason_and_calls_of_others_are_counted_a_failed_one_is_no_match(evaluation):
    table = last_table(evaluation)
    lines = {one.matcher: one for one in table.lines}
    assert list(lines) == ["all", "embedding", "text", "image", "image+text", "paper"]
    assert all(lines[one].unavailable for one in lines if one != "all")
    assert lines["all"].exact and lines["all"].exact.f1.f1 > 0 and table.frames == 1
    text = "\n".join(matcher_table.markdown(table))
    assert "not measured: it needs a language model" in text and "| all | " in text
    reading, away = ReadingModel("red_cube"), ReadingModel("", silent=True)
    right = last_table(replace(evaluation, model=reading), ["text"]).lines[0]
    assert right.calls == len(reading.kinds) > 0 and right.failed == 0 and right.usd is None
    missed = last_table(replace(evaluation, model=away, folder=evaluation.folder / "away"), ["text"]).lines[0]
    assert missed.failed == missed.calls > 0
    assert missed.exact and missed.exact.f1.f1 == 0 and missed.exact.first == 0
    assert VERDICT not in [one.matcher for one in last_table(replace(evaluation, model=reading), ["all"]).lines]


def test_the_table_is_read_back_from_json_and_csv_and_an_evaluation_can_be_closed(evaluation):
    table = last_table(evaluation, ["all"])
    value = json.loads(json.dumps(to_json(table), allow_nan=False))
    assert value["lines"][0]["exact"]["f1"]["f1"] == pytest.approx(table.lines[0].exact.f1.f1)
    assert len(value["rows"]["all"]) >= table.objects and {"chosen", "verdict"} <= set(value["rows"]["all"][0])
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["counted"] for row in rows] == ["exact", "category"]
    assert float(rows[0]["f1"]) == pytest.approx(table.lines[0].exact.f1.f1, abs=1e-4)
    assert float(rows[0]["low"]) <= float(rows[0]["f1"]) <= float(rows[0]["high"])
    steps = score_matchers(evaluation, ["all"])
    assert next(steps).done == 0
    steps.close()  # type: ignore[attr-defined]
    assert list(steps) == []


def test_truth_that_cannot_be_read_is_one_clear_line(labelled, tmp_path):
    for file, text, words in (
        ("absent.json", None, "cannot be read as truth.*No such file"),
        ("truth.json", "{", "cannot be read as truth.*JSONDecodeError"),
        ("truth.json", '{"frames": {"one": [{}]}}', "cannot be read as truth.*KeyError"),
        ("truth.json", '{"frames": {"two": []}}', "holds no frame"),
    ):
        if text is not None:
            (tmp_path / file).write_text(text)
        with pytest.raises(EvaluationError, match=words):
            read_truth(labelled, tmp_path / file)


def square(x: int, y: int, side: int) -> np.ndarray:
    mask = np.zeros((40, 60), bool)
    mask[y : y + side, x : x + side] = True
    return mask


def test_an_unlabelled_mask_is_wrong_in_complete_labels_only_and_a_worse_mask_counts_as_a_drop():
    truth, extra = [square(0, 0, 10), square(20, 0, 8)], square(30, 20, 10)
    assert score_masks([*truth, extra], truth, complete=True).precision == pytest.approx(2 / 3)
    assert score_masks([*truth, extra], truth, complete=False).precision is None
    assert score_masks([], truth, complete=True).recall == 0
    answers = iter([square(10, 10, 10) & (np.arange(60) < 19), square(0, 0, 3), square(10, 10, 10)])
    got = simulate_clicks(lambda *_: next(answers), square(10, 10, 10), max_clicks=5)
    assert got.iou == (0.9, 0.0, 1.0, 1.0, 1.0) and got.worst_drop == pytest.approx(0.9) and len(got.clicks) == 3

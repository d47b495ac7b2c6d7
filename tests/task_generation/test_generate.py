"""Tasks are generated, measured as valid, unlike each other, and worth learning."""

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from tabletop import CAMERA

from bench.task_pairs import FORMS, GROUPS, NAMES, set_pairs
from pipeline import tasks
from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.assets.mesh_files import hull_fill, shape_of
from pipeline.decisions import Decision
from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.run.scene_stage import with_brought
from pipeline.scene import Scene
from pipeline.scene.place_objects import twin_shape
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.simulation import Program, kit
from pipeline.simulation.objects import Region, hull
from pipeline.task_generation.bring import bring
from pipeline.task_generation.budget import LearnerBudget
from pipeline.task_generation.candidates import SceneFacts, candidates
from pipeline.task_generation.curriculum import TriedOutcome, measured_so_far, next_level
from pipeline.task_generation.demands import Demands
from pipeline.task_generation.generate import GenerationInputs, GenerationOptions, generate, run_id
from pipeline.task_generation.programs import ProgramWriter
from pipeline.task_generation.similarity import mean_distance, profile_of, similarity_matrix, vendi_score
from pipeline.task_generation.starts import StartMaker
from pipeline.task_generation.task_files import TaskGenerationError, read_tried, tried_file
from pipeline.task_generation.task_set import report
from pipeline.task_generation.task_set_report import report_html
from pipeline.task_generation.validity import Validity, happens_without_robot, measure_validity
from pipeline.tasks import Task
from pipeline.variation.varied_scene import as_object


@pytest.fixture
def inputs(table, library, sandbox, tmp_path):
    for name in ("scene.json", "scene"):
        (tmp_path / name).symlink_to(table / name)
    return GenerationInputs(tmp_path, library, PlannerModel(), sandbox, SceneFacts({}, {}, {}))


@pytest.fixture
def measured(monkeypatch):
    seen = []

    def measure(program, folder, sandbox, robot):
        seen.append(program.simulation)
        return Validity("", 8, 8 - len(program.simulation) % 3, 0, 4.0, 2.0)

    monkeypatch.setattr("pipeline.task_generation.generate.measure_validity", measure)
    return seen


def run(inputs, count, level=None, stopped=lambda: False):
    return [step.tried for step in generate(inputs, GenerationOptions(count, level), stopped) if step.tried]


def test_a_stopped_run_goes_on_where_it_was_without_a_damaged_last_line_and_another_one_is_named(inputs, measured):
    whole = [one.key for one in run(inputs, 6)]
    tried_file(inputs.project_dir).unlink()
    steps = iter([False] * 3 + [True] * 99)
    first = [one.key for one in run(inputs, 6, stopped=lambda: next(steps))]
    assert 0 < len(first) < len(whole)
    assert [*first, *[one.key for one in run(inputs, 6)]] == whole and not run(inputs, 6)
    path = tried_file(inputs.project_dir)
    lines = path.read_text()
    path.write_text(lines + '{"schema": 1, "ru')
    assert [one.key for one in read_tried(inputs.project_dir)] == whole
    for damaged in ("nonsense\n" + lines, lines.replace('"level": ', '"level": "<script>", "was": ')):
        path.write_text(damaged)
        with pytest.raises(TaskGenerationError, match="remove it to generate tasks from the beginning"):
            read_tried(inputs.project_dir)


def test_tasks_also_use_what_was_brought_and_the_report_holds_the_set_and_shows_no_markup_of_a_task(inputs, measured):
    kept = [one for one in run(inputs, 8) if one.state == "kept"]
    assert any(set(one.task.objects) & set(one.brought) for one in kept)
    assert all(not set(one.task.objects) & set(one.distractors) for one in kept)
    tried_file(inputs.project_dir).unlink()
    tried = run(inputs, 5)
    made = report(inputs.project_dir, tried, GenerationOptions(5), ("red_cube", "blue_cube"), 1.0)
    data = json.loads(json.dumps(made))
    found = data["set"]
    assert found["kept"] == len(data["tasks"]) == 5 and 1 <= found["vendi_score"] <= 5
    assert 0 < found["mean_distance"] <= 1 and found["coverage"]["objects"]["of"] == 2
    data["tasks"][0]["instruction"] = "<img src=x onerror=alert(1)>"
    page = report_html(data)
    assert "<img src=x" not in page and 'src="http' not in page


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_task_of_a_level_demands_that_level(inputs, measured, level):
    assert {one.level for one in run(inputs, 4, level)} == {level}


def test_the_same_start_is_made_again_and_sequences_undo_nothing(table, library, tmp_path):
    scene = read_scene(table)
    one, other = (StartMaker(table, scene, library, 3, tmp_path / name).make(3, 2) for name in ("a", "b"))
    assert one.brought and len(one.distractors) >= 2
    assert (one.brought, one.distractors) == (other.brought, other.distractors)
    assert (one.folder / "scene" / "scene.xml").read_bytes() == (other.folder / "scene" / "scene.xml").read_bytes()
    start = StartMaker(table, read_scene(table), library, 0, tmp_path).make(1, 0)
    found = candidates(start, PlannerModel(), SceneFacts({}, {}, {})).tasks
    steps = [one for one in found if one.demands and one.demands.steps > 1]
    assert steps and all(one.task.instruction.startswith("First ") for one in steps)
    assert len({one.key for one in found}) == len(found)


def test_levels_come_from_length_precision_and_clutter_and_rise_while_tasks_succeed():
    easy = Demands(1, 1, 0.06, 2), Demands(1, 1, 0.005, 6), Demands(3, 1, 0.06, 2)
    hard = Demands(2, 2, 0.06, 0), Demands(5, 1, 0.06, 0), Demands(2, 1, 0.005, 6)
    assert [one.level for one in (*easy, *hard)] == [1, 2, 2, 3, 3, 3]
    easy, hard = TriedOutcome("stack", 1, True, 1.0), TriedOutcome("stack", 2, False, 0.0)
    assert next_level([]) == 1 and next_level([easy] * 4) == 2 and next_level([easy] * 4 + [hard] * 4) == 1
    assert "stack: 8 tried, 4 kept, mean success 50%" in measured_so_far([easy] * 4 + [hard] * 4)


def test_what_is_too_hard_or_learned_at_once_is_dropped_and_the_next_proposals_are_told(inputs, measured, monkeypatch):
    worth = pytest.importorskip("pipeline.task_generation.worth", reason='needs the extra "learn"')
    told, ask = [], tasks.ask_for_proposals
    shares = itertools.cycle([0.05, 0.5, 0.95, None])
    monkeypatch.setattr(worth, "learn_briefly", lambda *_: worth.Learned(next(shares), "", 20, 3.0))
    propose = lambda *given, learned, **more: told.append(learned) or ask(*given, learned=learned, **more)  # noqa: E731
    monkeypatch.setattr("pipeline.task_generation.candidates.ask_for_proposals", propose)
    options = GenerationOptions(2, demonstrations=6)
    tried = [step.tried for step in generate(inputs, options) if step.tried]
    reasons = {one.worth: one.reason for one in tried if one.state != "repeated"}
    assert reasons[0.05] == "too hard to learn: 5% of layouts after 6 demonstrations"
    assert reasons[0.95] == "learned at once: 95% of layouts after 6 demonstrations"
    assert reasons[0.5] == reasons[None] == ""
    data = report(inputs.project_dir, tried, options, (), 1.0)
    worth, chosen = data["worth"], [one for one in data["tasks"] if one["worth"] == 0.5]
    assert worth["measured"] == worth["too_hard"] + worth["learned_at_once"] + len(chosen)
    assert "imitate 6 demonstrations" in report_html(data) and told[0] == ""
    assert any("mean success" in one and "Wanted next" in one for one in told[1:])


def test_options_out_of_range_are_refused_and_another_level_seed_or_budget_is_another_run(inputs):
    for wrong, message in (
        (GenerationOptions(0), "the number of tasks is 0"), (GenerationOptions(3, 9), "there is no level 9"),
        (GenerationOptions(3, seed=-1), "the seed is -1"), (GenerationOptions(3, demonstrations=-5), "-5 demonstrat"),
    ):  # fmt: skip
        with pytest.raises(TaskGenerationError, match=message):
            list(generate(inputs, wrong))
    options = [GenerationOptions(*one) for one in ((1,), (1, 2), (1, None, 1), (1, None, 0, 9))]
    assert len({run_id(inputs, one) for one in options}) == 4
    assert run_id(inputs, options[0]) == run_id(inputs, GenerationOptions(50))


def test_what_is_brought_stands_free_on_the_table_tools_beside_tools_and_a_full_table_says_so(bare_table, library):
    assets = [library[id] for id in ("red_mug", "hammer", "cereal_box", "screwdriver", "white_plate", "soda_can")]
    found = bring(bare_table, assets)
    assert len(found.names) == len(assets)
    objects, table = [as_object(p) for p in found.scene.placements], Region(hull(bare_table.table))
    for number, one in enumerate(objects):
        assert table.depth(one.outline).min() >= 0 and one.bottom == pytest.approx(0, abs=1e-9)
        for other in objects[:number]:
            assert Region(other.outline).distance(one.outline).min() > 0
    shapes = {"red_cube": "cube", "tea_box": "box", "soup_can": "cylinder", "red_ball": "sphere", "teal_bowl": "bowl"}
    assert {id: shape_of(library[id]) for id in (*shapes, "banana")} == shapes | {"banana": "irregular"}
    scene = bring(bare_table, [library["red_mug"], library["hammer"]]).scene
    mug, hammer, driver = bring(scene, [library["screwdriver"]]).scene.placements

    def apart(one, other):
        return float(np.linalg.norm((one.world_from_object.pos - other.world_from_object.pos)[:2]))

    assert apart(driver, hammer) < apart(driver, mug)
    found = bring(bare_table, [library["grey_tray"]] * 40)
    assert 0 < len(found.names) < 40 and "there is no free place on the table" in found.left_out[-1]
    assert len(set(found.names)) == len(found.names)


def test_the_shape_of_an_asset_in_the_twin_is_that_of_its_mesh(library):
    boxes = {one.id for one in library if one.category in ("bottle", "can") and shape_of(one) in ("box", "cube")}
    assert boxes == {"meat_tin"}, "a tin with edges"
    for one in library:
        for seen in ("box", "cube", "bowl", "cylinder", "irregular"):
            shape = twin_shape(one, seen)
            assert (shape in ("box", "cube")) <= (hull_fill(one.mesh) > 0.92), f"{one.id}, seen as a {seen}"
            assert (shape == "bowl") <= one.container, f"{one.id}, seen as a {seen}"


def decided(*decisions):
    return SimpleNamespace(active_decisions=lambda *kinds: [one for one in decisions if one.kind in kinds])


def test_a_decided_object_is_in_the_twin_where_a_person_moved_it(bare_table, library):
    pose = {"pos": [0.1, 0.1, 0.055], "quat_wxyz": [1, 0, 0, 0]}
    brought = Decision("bring", {"asset_id": "bean_can", "name": "bean_can", **pose})
    gone = Decision("bring", {"asset_id": "sold", "name": "sold", **pose})
    (can,) = with_brought(bare_table, decided(brought, brought, gone), library).placements
    assert (can.name, can.asset_id) == ("bean_can", "bean_can")
    assert can.world_from_object.pos == pytest.approx(pose["pos"])
    moved = Decision("move", {"id": can.segment_id, "pos": [0.0, 0.2, 0.055], "quat_wxyz": [1, 0, 0, 0]})
    (after,) = with_brought(bare_table, decided(brought, moved), library).placements
    assert after.world_from_object.pos == pytest.approx([0.0, 0.2, 0.055])


def test_similarity_is_symmetric_and_tells_diverse_sets_from_repetitive_ones():
    forms = [(goal.format(a="red_cube", b="bowl"),) for _, goal in FORMS]
    made = [Task("a", " ".join(goals) + " now", (), goals) for goals in (*forms, ("apple is inside bowl",))]
    matrix = similarity_matrix([profile_of(one, NAMES) for one in made])
    assert np.diag(matrix) == pytest.approx(1) and matrix == pytest.approx(matrix.T) and matrix.min() >= 0
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
    for diverse, repetitive in set_pairs():
        one, other = (similarity_matrix([profile_of(task, NAMES) for task in tasks]) for tasks in (diverse, repetitive))
        assert mean_distance(one) > mean_distance(other) and vendi_score(one) > vendi_score(other)
    for count in (1, 2, 7):
        assert vendi_score(np.ones((count, count))) == pytest.approx(1), "equal tasks count as one"
        assert vendi_score(np.eye(count)) == pytest.approx(count)


@pytest.mark.parametrize("group", GROUPS)
def test_the_same_task_in_other_words_is_a_repeat_and_a_task_of_other_goals_is_not(group):
    same, different = GROUPS[group]
    assert not [pair.why for pair in same if not pair.is_repeat]
    assert not [pair.why for pair in different if pair.is_repeat]


def validity_of(table, sandbox, *goals):
    written = ProgramWriter(PlannerModel()).write(Task("a", "Do it.", ("red_cube",), goals), table, sandbox)
    if written.program is None:
        return Validity(written.reason)
    return measure_validity(written.program, table, sandbox, seeds=(5001, 5002))


def test_a_task_that_the_robot_does_is_valid_a_trivial_impossible_or_self_fulfilling_one_is_not(table, sandbox):
    found = validity_of(table, sandbox, "red_cube is inside teal_bowl")
    assert not found.reason and found.solved == found.layouts == 2 and 0 < found.difficulty < 0.5
    assert found.seconds > 0 and found.actions >= 2
    x, y = kit.Scene.load(table)["red_cube"].position[:2]
    for goals, reason in (
        ((f"red_cube stands at ({x:.3f}, {y:.3f})",), "the goals hold at the start as photographed"),
        (("red_cube is on the table",), "no program can be written"),
        (("teal_bowl is inside red_cube",), "no program can be written"),
        (("red_cube is left of blue_cube", "red_cube is right of blue_cube"), "solved in 0 of 2 layouts"),
    ):
        assert validity_of(table, sandbox, *goals).reason.startswith(reason)
    # the cube is let go above the table, so it comes to stand on it while the robot does nothing
    source = (
        "import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
        '    sim.move("red_cube", z=0.05)\n    sim.goal(kit.on_table("red_cube"))\n    return sim\n'
    )
    recipes, _ = sandbox.arrange(Program(source, ""), table, (0,))
    assert happens_without_robot(recipes[0], table) == "the goals come true while the robot does nothing"


def test_worth_is_a_success_on_new_layouts_and_unknown_without_time_or_when_stopped(table, sandbox, monkeypatch):
    worth = pytest.importorskip("pipeline.task_generation.worth", reason='needs the extra "learn"')
    monkeypatch.setattr(worth, "LAYOUTS", 2)
    task = Task("a", "Put the red cube into the bowl.", ("red_cube", "teal_bowl"), ("red_cube is inside teal_bowl",))
    program = write_program(task, kit.Scene.load(table), PlannerModel())

    def learned(budget, **options):
        return worth.learn_briefly(task, program, table, sandbox, budget, **options)

    before = sorted(table.rglob("*"))
    found = learned(LearnerBudget(demonstrations=3))
    assert found.layouts == 2 and found.success in (0.0, 0.5, 1.0) and found.seconds > 0
    assert sorted(table.rglob("*")) == before
    found = learned(LearnerBudget(demonstrations=1, seconds=0.0))
    assert found.success is None and found.reason == "the learner was not ready after 0 s"
    assert learned(LearnerBudget(demonstrations=1), stopped=lambda: True) is None


@pytest.fixture(scope="session")
def library() -> Library:
    return Library.open([BUILTIN_LIBRARY])


@pytest.fixture(scope="session")
def bare_table() -> Scene:
    outline = np.array([[-0.4, -0.3], [0.4, -0.3], [0.4, 0.3], [-0.4, 0.3]])
    return Scene(CAMERA, outline, (150, 130, 110), ())


@pytest.fixture(scope="session")
def table(bare_table, library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("generation") / "twin"
    folder.mkdir()
    scene = bring(bare_table, [library[id] for id in ("red_cube", "blue_cube", "teal_bowl")]).scene
    write_scene(scene, folder)
    return folder

"""Instructions that strangers wrote are understood or asked back; proposals are in plain words and not done already."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bench.sentence_judge import FACTS, WRONG, judge, scene_facts, table_lines, understand
from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.phrases.object_names import plain_names
from pipeline.planner.language.wording import sentences_in_words
from pipeline.planner.plans import TableTop, already_met
from pipeline.planner.proposals import proposals
from pipeline.planner.scene_objects import scene_objects
from pipeline.tasks import TaskError

HERE = Path(__file__).parent
SCENES = tuple(json.loads(FACTS.read_text()))
ID = re.compile(r"\w_\w")


FILES = tuple(path.name for path in sorted(HERE.glob("sentences_*.json")))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", FILES)
def test_no_sentence_is_carried_out_as_another_task(name, every):
    """Every sixth sentence of a file; the soak reads all of them."""
    cases = json.loads((HERE / name).read_text())["sentences"][::every]
    facts = {scene: scene_facts(scene) for scene in {case["scene"] for case in cases}}
    verdicts = [judge(case, facts[case["scene"]]) for case in cases]
    assert not any(v.verdict == WRONG for v in verdicts), "\n".join(table_lines(verdicts))


def test_a_sentence_is_read_as_these_goals():
    two = understand("exactly two of the three cubes to the back", scene_facts("sizes"))
    assert two.goals == tuple(f"{name} is in far_zone, marked on the table" for name in ("wooden_cube", "red_cube"))
    listed = "Stack the yellow block, the blue cube, the red cube and the purple cube in this order, bottom first"
    stacked = "yellow_block, blue_cube, red_cube and purple_cube are stacked, bottom first"
    assert understand(listed, scene_facts("blocks")).goals == (stacked,)
    replaced = "put the blue block into the bin, then put the red cube where the block was"
    steps = ("blue_block is inside white_bin", "then red_cube stands where blue_block stood")
    assert understand(replaced, scene_facts("stack")).goals == steps


def test_what_is_asked_back_offers_sentences_that_work():
    for sentence in ("line up the cans at the front", "line up the boxes, then line up the cans behind them"):
        with pytest.raises(TaskError, match="where they are to go"):
            understand(sentence, scene_facts("pantry"))
    with pytest.raises(TaskError, match="the yellow cube stands there") as error:
        understand("put the red cube where the yellow cube is", scene_facts("stack"))
    assert error.value.alternatives[0] == "Swap the red cube and the yellow cube."
    with pytest.raises(TaskError, match="client") as error:
        understand("I have got a client on the line, I need the hammer brought to the left side", scene_facts("desk"))
    assert "Move the yellow hammer into the zone on the left." in error.value.alternatives
    with pytest.raises(TaskError, match="is a choice: say which") as error:
        understand("put the mug or the cup on the plate", scene_facts("kitchen"))
    moved = {understand(one, scene_facts("kitchen")).objects[0] for one in error.value.alternatives}
    assert moved == {"white_mug", "yellow_cup"}


@pytest.mark.parametrize("scene", SCENES)
def test_plain_names_are_unique_and_are_read_as_their_objects(scene):
    data = scene_facts(scene).data
    objects, table = scene_objects(data), TableTop.from_json(data)
    names = plain_names(objects, table)
    assert set(names) == {o.name for o in objects} and len(set(names.values())) == len(objects)
    for o in objects:
        assert InstructionReader(objects, table).statements.phrases.read(f"the {names[o.name]}") == (o,)


@pytest.mark.parametrize("scene", SCENES)
def test_a_proposal_has_no_id_is_read_back_as_its_goals_not_done_already_and_about_whole_objects_on_the_table(scene):
    data = scene_facts(scene).data
    objects, table = scene_objects(data), TableTop.from_json(data)
    names, known, plans = plain_names(objects, table), {o.name: o for o in objects}, proposals(data)
    assert plans
    for plan in plans:
        texts = (plan.instruction, *sentences_in_words(plan.goals, names))
        assert not [text for text in texts if ID.search(text)], texts
        try:
            read = InstructionReader(objects, table).read(plan.instruction)
            assert set(read.goals) == set(plan.goals) or plan.kind == "make_room"
        except UnclearPhrase as error:
            pytest.fail(f"{plan.instruction}: {error}")
        assert not all(already_met(goal, [known[n] for n in goal.objects], table) for goal in plan.goals), plan
        assert all(table.depth(np.asarray(known[n].position[:2])) >= 0 for goal in plan.goals for n in goal.objects)
    first, *others = data["objects"]
    doubtful = {**data, "objects": [first | {"size_is_a_guess": "cut off"}, *others]}
    assert not [plan for plan in proposals(doubtful) for goal in plan.goals if first["name"] in goal.objects]


def test_an_object_in_a_bowl_is_not_proposed_for_it_and_a_correction_says_the_task_in_full():
    data = json.loads(json.dumps(scene_facts("kitchen").data))
    orange, bowl = (next(o for o in data["objects"] if o["name"] == name) for name in ("orange", "teal_bowl"))
    orange["position"] = [*bowl["position"][:2], 0.05]
    done = {("inside", ("orange", "teal_bowl"))}
    assert not [p for p in proposals(data) if {(g.kind, g.names) for g in p.goals} == done]
    facts = scene_facts("kitchen")
    before = understand("put the orange in the bowl", facts)
    after = understand("no, on the plate", facts, before)
    assert after.goals == ("orange is inside blue_plate",)
    assert after.instruction == "Put the orange into the blue plate."

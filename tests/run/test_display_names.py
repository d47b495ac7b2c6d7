"""Display names: free text beside the id, which survives everything and changes nothing that was computed."""

import numpy as np
import pytest
import tabletop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.assets import Library
from pipeline.decisions import Decision, DecisionError, clean_display_name
from pipeline.description import Attributes, Description
from pipeline.object_words import ObjectWords, object_words, segment_words
from pipeline.planner import PlannerModel
from pipeline.planner.proposals import proposals
from pipeline.project import STAGES, Project
from pipeline.run import Services, perception_stages, run_stage
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.kit import Scene
from pipeline.tasks import TaskError, scene_to_json
from studio.sessions.wording import describe_decision


def is_display_name(text: str) -> bool:
    try:
        return clean_display_name(text) is not None
    except DecisionError:
        return False


NAMES = st.text(min_size=1, max_size=60).filter(is_display_name) | st.sampled_from(
    ["Grandma's mug", "Omas Lieblingstasse", "👩‍🔬 Becher", "杯子", "كوب", "A_B_drawer", "the boss", "cube", "x" * 60]
)
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """A project whose twin has seven objects."""
    return tabletop.project(tmp_path_factory.mktemp("twin") / "table")


@given(NAMES, NAMES)
@SHARED
def test_any_name_survives_saving_reopening_undo_and_redo(project, first, second):
    for name in (first, second):
        project.decide("display_name", id=1, name=f" {name} ")
        assert project.display_names() == Project.open(project.folder).display_names() == {1: clean_display_name(name)}
    project.undo()
    assert Project.open(project.folder).display_names() == {1: clean_display_name(first)}
    project.redo()
    assert Project.open(project.folder).display_names() == {1: clean_display_name(second)}
    project.decide("display_name", id=1, name=None)
    assert project.display_names() == {}


@pytest.mark.parametrize("bad", ["two\nlines", "tab\tbed", "bell\a", "half \ud83d", "\u200b", "x" * 61, "a\u2028b"])
def test_what_is_not_one_visible_line_is_refused_and_nothing_is_recorded(project, bad):
    with pytest.raises(DecisionError, match="A name"):
        project.decide("display_name", id=1, name=bad)
    assert not project.decisions


def test_a_display_name_makes_no_stage_out_of_date_and_an_old_rename_is_shown_if_it_says_more(project):
    for stage in STAGES:
        project.finish(stage, project.key(stage), "someone", 0.0)
    before = project.stages()
    project.decide("display_name", id=1, name="Grandma's mug")
    assert project.stages() == before and "stale" not in before.values()
    for text, shown in (("Grandma's mug", {1: "Grandma's mug"}), ("blue mug", {}), ("Blue_Mug", {}), ("a\nb", {})):
        project.decide("rename", id=1, name=text)
        assert project.display_names() == shown
    project.decide("display_name", id=1, name="Tasse")
    assert project.display_names() == {1: "Tasse"}


@given(st.dictionaries(st.integers(0, 6), NAMES, max_size=3), st.data())
@SHARED
def test_a_task_reads_back_as_it_was_whatever_its_objects_are_called(twin, names, data):
    plain = object_words(twin).plain
    shown = [*plain.values(), *(f"the {phrase}" for phrase in plain.values())]
    chosen = {list(plain)[i]: clean_display_name(name) or "" for i, name in names.items() if name not in shown}
    if len({name.casefold() for name in chosen.values()}) < len(chosen):
        return  # refused when it is typed
    words = ObjectWords(plain, chosen)
    instruction = data.draw(st.sampled_from(proposals(scene_to_json(Scene.load(twin.folder))))).instruction
    if any(name.casefold() in instruction.casefold() for name in chosen.values()):
        return  # a sentence with the name in it is about that object
    assert words.without_display_names(words.with_display_names(instruction)) == instruction


def test_ids_phrases_decisions_and_checks_name_objects_as_people_do_and_others_by_plain_words(twin):
    plain = object_words(twin).plain
    one, other = list(plain)[:2]
    words = ObjectWords(plain, {one: "Grandma's mug"})
    assert words.in_words(f"{one} fell on {other}") == f"Grandma's mug fell on the {plain[other]}"
    twice = words.in_words(words.in_words(f"Put the {plain[one]} on {other}"))
    assert twice == f"Put Grandma's mug on the {plain[other]}"
    assert words.with_names_for_ids(f"{one}: {other}") == f"Grandma's mug: {other}"
    names = segment_words(twin)
    assert set(names) == {p.segment_id for p in twin.scene().placements}
    one, other = list(names)[:2]
    assert describe_decision(Decision("delete_segment", {"id": one}), names) == f"{names[one]} deleted"
    merged = Decision("merge_segments", {"ids": [one, other, 99], "into": one})
    assert describe_decision(merged, names) == f"{names[one]} and {names[other]} and 99 merged"
    assert describe_decision(Decision("delete_segment", {"id": 3})) == "3 deleted"
    words = ObjectWords({"mug": "mug", "red_mug": "red mug"}, {"mug": "Grandma's mug_1"})
    assert words.of_check("check_mug_ends_on_red_mug") == "Grandma's mug_1 ends on red mug"
    assert ObjectWords().of_check("check_red_mug_is_upright") == "red mug is upright"
    words = ObjectWords({"a": "mug", "b": "tray"}, {"a": "red cup", "b": "red cup holder"})
    read = words.without_display_names("put the can on the red cup holder")
    assert "tray" in read and "mug" not in read


@pytest.mark.parametrize("sentence", ["put {} on the blue cube", "Put the {} on the blue cube."])
@pytest.mark.parametrize("name", ["Grandma's mug", "🐸 Fritz", "Würfel", "cube"])
def test_a_sentence_may_call_an_object_by_its_display_name(twin, sentence, name):
    ids = {p.name: p.segment_id for p in twin.scene().placements}
    services = Services(DepthSegmenter(), PlannerModel(), Library(()), None, lambda: None)  # type: ignore[arg-type]
    twin.decide("display_name", id=ids["green_cube"], name=name)
    list(run_stage(twin, services, "task", sentence.format(name)))
    assert twin.task().goals == ("green_cube rests on blue_cube",)
    shown = object_words(twin).in_words(twin.task().instruction)
    assert shown.rstrip(".").lower() == f"put {name} on the blue cube".lower()


def test_a_sentence_that_is_refused_says_why_and_not_that_a_given_name_is_unknown(twin):
    ids = {p.name: p.segment_id for p in twin.scene().placements}
    services = Services(DepthSegmenter(), PlannerModel(), Library(()), None, lambda: None)  # type: ignore[arg-type]
    twin.decide("display_name", id=ids["green_cube"], name="Fritz")
    for sentence, why in (("pour Fritz into the blue cube", "pour"), ("put Fritz into the blue cube", "no container")):
        with pytest.raises(TaskError) as refused:
            list(run_stage(twin, services, "task", sentence))
        assert why in str(refused.value) and "fritz" not in str(refused.value).casefold()


@given(
    st.dictionaries(st.integers(1, 8), st.sampled_from(["red_cube", "blue_cube", "bowl"]), min_size=2),
    st.lists(st.tuples(st.integers(1, 8), st.sampled_from(["", "red_cube", "blue_cube"])), max_size=4),
)
@SHARED
def test_what_becomes_of_one_object_renames_no_other(tmp_path_factory, measured, edits):
    """Each edit deletes an object, draws a new one, or changes its measurements, as splitting does."""
    project = Project.create(tmp_path_factory.mktemp("names") / "one", tabletop.blank_frame())
    measured = dict(measured)

    def describe() -> dict[int, str]:
        box = Attributes("red", (0, 0, 0), "box", np.full(3, 0.05), 0.0, np.full(3, 0.02), 0.0)
        described = [Description(id, True, name, name, box) for id, name in sorted(measured.items())]
        named = perception_stages._with_decisions(project, described)
        perception_stages.write_text(project.folder / "descriptions.json", perception_stages.description.to_json(named))
        return {one.segment_id: one.name for one in named}

    names = describe()
    for id, name in edits:
        measured.pop(id, None)
        if name:
            measured[id] = name
        before, names = names, describe()
        assert {one: names[one] for one in names if one != id} == {one: before[one] for one in before if one != id}
        assert len(set(names.values())) == len(names)

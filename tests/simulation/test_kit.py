"""The kit's manual is given to language models: every name in it exists and its examples run."""

import re

import pytest

from pipeline.simulation import kit

MANUAL = kit.__doc__ or ""


def test_every_name_in_the_short_text_exists_and_every_public_name_is_documented():
    named = set(re.findall(r"kit\.(\w+)", MANUAL))
    assert named <= set(dir(kit)), named - set(dir(kit))
    goals = set(kit.__all__) - {"Event", "Goal", "KitError", "Object", "Region", "Run", "Scene", "Simulation", "State"}
    assert all(re.search(rf"\b{name}\b", MANUAL) for name in goals)
    for owner, text in ((kit.Simulation, r"sim\.(\w+)"), (kit.Run, r"run\.(\w+)")):
        names = set(re.findall(text, MANUAL)) - {"objects"}
        fields = set(owner.__annotations__)
        assert names <= set(dir(owner)) | fields, names
    assert len(MANUAL.splitlines()) < 110
    assert max(map(len, MANUAL.splitlines())) <= 120


def examples(verb: str) -> list[str]:
    """Return the calls that the manual shows for a function, such as `kit.on("red_cube", "blue_cube")`."""
    lines = [line.strip() for line in MANUAL.splitlines() if line.startswith("    ")]
    found = [line[: _end(line)] for line in lines if re.match(rf"(\w+ = )?{re.escape(verb)}\(", line)]
    assert found, f"the text shows no {verb}"
    return found


def _end(line: str) -> int:
    """Return the index at which the call that begins a line ends."""
    depth = 0
    for place, letter in enumerate(line):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in ")]" and line[place + 1 : place + 2] not in ("[", ".", ","):
            return place + 1
    return len(line)


@pytest.fixture
def sim(table, furniture, request):
    """A simulation of simple objects, or of a cabinet for goals about drawers."""
    about_parts = any(word in request.node.name for word in ("open", "closed", "part"))
    made = kit.Simulation(kit.Scene.load(furniture if about_parts else table), 3)
    made.add_zone("goal_zone", (0.1, 0.1), (0.2, 0.15))
    return made


@pytest.mark.parametrize("verb", [n for n in kit.__all__ if n[0].islower()])
def test_every_goal_is_shown_by_an_example_that_runs_and_can_be_missed(sim, verb):
    goal = eval(examples(f"kit.{verb}")[0], {"kit": kit})
    sim.goal(goal)
    assert goal.miss(sim.state()) >= 0 and isinstance(goal.met(sim.state()), bool)


@pytest.mark.parametrize("verb", [n for n in vars(kit.Simulation) if n[0] != "_" and callable(vars(kit.Simulation)[n])])
def test_every_verb_of_the_simulation_is_shown_by_an_example_that_runs(sim, verb):
    if verb in ("bench", "state", "reward_at_start", "keep", "rollout"):  # without an example, or only at the start
        assert verb in MANUAL or verb in ("bench", "state")
        return
    for example in examples(f"sim.{verb}"):
        example = example.replace("goal_zone", "other_zone") if verb == "add_zone" else example
        exec(example, {"kit": kit, "sim": sim, "image": sim.mirrored("red_cube", "blue_cube"), "place_of_can": (0, 0)})


def test_the_example_in_the_text_runs_and_holds(table):
    lines = [line[4:] for line in MANUAL.splitlines() if line.startswith("    ")]
    start = lines.index("import kit")
    source = "\n".join(lines[start + 1 : next(i for i, s in enumerate(lines) if "hangs" in s) + 1])
    names: dict = {"kit": kit}
    exec(source, names)
    sim = names["build"](kit.Scene.load(table), 0)
    checks = [value for name, value in names.items() if name.startswith("check_")]
    assert len(checks) == 2
    for check in checks:
        check(sim)

"""A third set of kinds of faults, written down without reading the rules that route and repair.

None of its kinds is in planted_faults.py, in the first set (blind_faults.py), in the second or in the fourth. It holds
no sound programs: every kind is at fault on the side that is stated.
"""

# ruff: noqa: E501  (tables of edits read best one a line)

import re
from collections.abc import Sequence
from itertools import pairwise

from bench.faults.blind_faults import FaultKind, before_goals, last_check, names_in, other_goals, quoted
from bench.faults.planted_faults import Case, Edit, added_check, before_return, first_check, substitution

AT = re.compile(r"kit\.at\(\"(\w+)\", (.*)\)")


def carried(case: Case) -> str:
    """Return an object that the task has moved: the last of a tower, else the first."""
    return case.task.objects[-1 if case.task.kind == "stack" else 0]


def put_back_afterwards(text: str, case: Case) -> str:
    """Bring an object back to its start in a last stage."""
    a = carried(case)
    return before_return(f'sim.goal(kit.at("{a}", sim["{a}"].position[:2]), name="put it back")')(text, case)


def starts_in_another(text: str, case: Case) -> str:
    """Start an object in the space that another one takes up."""
    a, b = case.task.objects[0], case.task.objects[-1]
    other = b if a != b else case.spare
    return before_goals(f'sim.move("{a}", xy=sim["{other}"].position[:2])')(text, case) if other else text


def layouts_by_hand(text: str, case: Case) -> str:
    """List the layouts of the first two seeds only."""
    lines = (
        "    shift = {0: (0.0, 0.0), 1: (0.02, -0.01)}[seed]\n"
        f"    for name in [{quoted(case.task.objects)}]:\n"
        "        sim.move(name, xy=sim[name].position[:2] + shift)\n"
    )
    return re.sub(r"    sim\.scatter\(.*\)\n", lines, text, count=1)


def a_step_further(text: str, case: Case) -> str:
    """Shift the objects by another half metre for each seed, until they are off the table."""
    lines = (
        f"    for name in [{quoted(case.task.objects)}]:\n"
        "        sim.move(name, xy=sim[name].position[:2] + 0.5 * seed * sim.scene.right)\n"
    )
    return re.sub(r"    sim\.scatter\(.*\)\n", lines, text, count=1)


def pairs_on_the_wrong_side(old: list[str], case: Case) -> str:
    """Write a row as pairs, with the two sides of left_of exchanged."""
    names = names_in(old[0]) if len(old) == 1 and "in_row" in old[0] else []
    pairs = [f'kit.left_of("{right}", "{left}")' for left, right in pairwise(names)]
    return f"sim.goal({', '.join(pairs)})" if pairs else ""


def above_in_the_picture(old: list[str], case: Case) -> str:
    """Take "on" for above in the picture, which is behind on the table."""
    found = re.fullmatch(r"kit\.on\(\"(\w+)\", \"(\w+)\"\)", old[0]) if len(old) == 1 else None
    names = [found[2], found[1]] if found else names_in(old[0]) if len(old) == 1 and "stacked" in old[0] else []
    pairs = [f'kit.behind("{upper}", "{lower}")' for lower, upper in pairwise(names)]
    return f"sim.goal({', '.join(pairs)})" if pairs else ""


def all_at_one_place(old: list[str], case: Case) -> str:
    """Send every object to the place of the first."""
    found = [AT.fullmatch(goal) for goal in old]
    if len(old) < 2 or not all(found):
        return ""
    goals = ", ".join(f'kit.at("{match[1]}", place)' for match in found if match)
    return f"place = {found[0][2] if found[0] else ''}\nsim.goal({goals})"


def mirrored_about_the_table(text: str, case: Case) -> str:
    """Mirror about the middle of the table instead of that of the objects."""
    lines = (
        "    right = sim.scene.right\n"
        "    middle = sim.scene.table.centre @ right\n"
        "    image = {}\n"
        f"    for name in [{quoted(case.task.objects)}]:\n"
        "        xy = sim[name].position[:2]\n"
        "        image[name] = xy + 2 * (middle - xy @ right) * right\n"
    )
    return re.sub(r"    image = sim\.mirrored\(.*\)\n", lines, text)


def container_thrown_away(text: str, case: Case) -> str:
    """Leave out all but the photographed objects of the task, after the container was set out."""
    kept = f"    sim.keep({quoted(case.task.objects)})\n"
    return re.sub(r"(    sim\.add_container\(.*\)\n)", rf"\1{kept}", text, count=1)


def room_for_one(text: str, case: Case) -> str:
    """Make the zone or container just as large as its first object, although there are more."""
    if len(case.task.objects) < 2 or "kit.outside" in text:
        return text
    side = f'    side = 2 * sim["{case.task.objects[0]}"].radius + 0.01\n'
    return re.sub(r"(    sim\.add_\w+\(.*)size=\([^)]*\)", rf"{side}\1size=(side, side)", text, count=1)


def goals_in_brackets(old: list[str], case: Case) -> str:
    """Give the goals as one list."""
    return f"sim.goal([{', '.join(old)}])" if old else ""


def objects_instead_of_names(old: list[str], case: Case) -> str:
    """Give the goals the objects themselves."""
    written = ", ".join(old)
    for name in case.task.objects:
        written = re.sub(rf'(?<!\[)"{name}"|(?<=\[)"{name}"(?=,)', f'sim["{name}"]', written)
    return f"sim.goal({written})"


def in_the_first_layout(old: list[str], case: Case) -> str:
    """Set the goals for seed 0 only."""
    return f"if seed == 0:\n    sim.goal({', '.join(old)})" if old else ""


def drawn_by_the_seed(old: list[str], case: Case) -> str:
    """Let the seed draw which object the goal is about."""
    a = carried(case)
    changed = [goal.replace(f'"{a}"', "drawn", 1) for goal in old]
    lines = "names = [thing.name for thing in sim.objects if not thing.fixed]\ndrawn = names[seed % len(names)]"
    return f"{lines}\nsim.goal({', '.join(changed)})" if changed != old else ""


def as_in_the_sentence(old: list[str], case: Case) -> str:
    """Write names with spaces, as the sentence of the task has them."""
    spaced = [re.sub(r'"(\w+)"', lambda m: '"' + m[1].replace("_", " ") + '"', goal) for goal in old]
    return f"sim.goal({', '.join(spaced)})" if spaced != old else ""


def or_the_reward(check: str, before: str) -> str:
    """Be content with the reward where a measure fails."""
    return re.sub(r"^( +)assert (.*), (f?\")", r"\1assert \2 or sim.rollout().reward > 0.99, \3", check, flags=re.M)


def only_what_moved(check: str, before: str) -> str:
    """Measure only what moved."""
    found = re.search(r"\.end\(((?:\"\w+\"|name))\)", check)
    if not found:
        return check
    condition = f"if sim.rollout().moved({found[1]}) > 0.02:"
    return re.sub(r"^( +)(assert .*)$", rf"\1{condition}\n\1    \2", check, flags=re.M)


def still_on_the_table(check: str, before: str) -> str:
    """Ask of the objects only that they did not fall down."""
    row = re.search(r"names = \[(.*)\]", check)
    names = re.findall(r'"(\w+)"', row[1]) if row else re.findall(r'\.end\("(\w+)"\)', check)[:1]
    lines = [f'    assert run.end("{name}").top > 0, "{name} is missing"' for name in names]
    return "\n".join([check.partition("\n")[0], "    run = sim.rollout()", *lines]) + "\n" if lines else check


def asserts_its_message(check: str, before: str) -> str:
    """Assert the message, which is always true, instead of the condition."""
    return re.sub(r"^( +)assert .*, (f\".*\")$", r"\1assert \2", check, flags=re.M)


def any_of_the_images(text: str, case: Case) -> str:
    """Be content if one of several objects is at its mirror image."""
    return re.sub(
        r"    for name, before in zip\(names, ahead\):\n        want = (.*)\n        off = (.*)\n        assert .*\n",
        r"    off = []"
        r"\n    for name, before in zip(names, ahead):\n        want = \1\n        off.append(\2)\n"
        r'    assert any(one < 0.05 for one in off), f"the nearest is {min(off) * 100:.1f} cm from its mirror image"'
        "\n",
        text,
    )


def no_farther_than_before(text: str, case: Case) -> str:
    """Ask only that an object is not farther from its place than at the start."""
    return re.sub(
        r"^( +)off = math\.dist\(run\.end\((.*?)\)(\.position\[:2\]), (.*)\)\n +assert off < 0\.05, ",
        r"\1off = math.dist(run.end(\2)\3, \4)\n\1was = math.dist(run.start(\2)\3, \4)\n\1assert off < was + 0.01, ",
        text,
        flags=re.M,
    )


def compared_as_sets(text: str, case: Case) -> str:
    """Compare the order found with the order wanted as sets."""
    return re.sub(
        r"    places = .*\n    for index in .*\n.*\n        assert ahead > 0, .*\n",
        "    found = sorted(names, key=lambda name: run.end(name).position[:2] @ sim.scene.right)\n"
        '    assert set(found) == set(names), f"the row is {found}, not {names}"\n',
        text,
    )


def evenly_spaced(text: str, case: Case) -> str:
    """Want the same distance between all neighbours of a row, which the task does not."""
    lines = (
        "    steps = [b - a for a, b in zip(places, places[1:])]\n"
        '    assert max(steps) - min(steps) < 0.01, f"the row is uneven: {steps}"\n'
    )
    return re.sub(r"(    places = .*\n)", rf"\1{lines}", text) if len(case.task.objects) > 2 else text


SIMULATION: dict[str, Edit] = {
    "put back afterwards": put_back_afterwards,
    "starts in another": starts_in_another,
    "layouts by hand": layouts_by_hand,
    "a step further each seed": a_step_further,
    "in alphabetical order": substitution(r"kit\.(in_row|stacked)\((\[.*?\])", r"kit.\1(sorted(\2)"),
    "pairs on the wrong side": other_goals(pairs_on_the_wrong_side),
    "above in the picture": other_goals(above_in_the_picture),
    "all at one place": other_goals(all_at_one_place),
    "mirrored about the table": mirrored_about_the_table,
    "container thrown away": container_thrown_away,
    "room for one only": room_for_one,
    "too narrow a row": substitution(r"(kit\.in_row\(.*along=\"\w+\")", r"\1, spacing=0.01"),
    "goals in brackets": other_goals(goals_in_brackets),
    "objects instead of names": other_goals(objects_instead_of_names),
    "zone taken for a container": substitution(
        r"kit\.in_zone\(|kit\.outside\(", lambda m: "kit.inside(" if "in_zone" in m[0] else "kit.away("
    ),  # type: ignore[arg-type]
    "goal in the first layout only": other_goals(in_the_first_layout),
    "object drawn by the seed": other_goals(drawn_by_the_seed),
    "at the table's corner": substitution(r"(sim\.add_\w+\(\"\w+\", )xy=\([^)]*\)", r"\1xy=sim.scene.table.bounds[:2]"),
    "height in centimetres": substitution(r"height=0\.05", "height=5"),
    "name as in the sentence": other_goals(as_in_the_sentence),
}

CHECKS: dict[str, Edit] = {
    "a single grasp": added_check('assert len(run.grasps) == 1, f"{{len(run.grasps)}} grasps instead of one"'),
    "wholly below the rim": first_check(r"assert thing\.bottom < container\.top", "assert thing.top < container.top"),
    "evenly spaced": evenly_spaced,
    "in the very middle": substitution(r"aside < reach,|out = (sim\.zones\[\"\w+\"\])\.outside\((.*)\)\n    assert out < 0,", lambda m: f"out = abs({m[2]} - {m[1]}.xy).max()\n    assert out < 0.005," if m[1] else "aside < 0.005,"),  # type: ignore[arg-type]
    "photographed start": substitution(r"run\.start\(([^)]*)\)", r"sim.scene[\1]"),
    "both off the table": first_check(r"up, low = run\.end\(\"\w+\"\), run\.end\((\"\w+\")\)\n(?:.*\n)*?    assert not run\.touching.*\n", lambda m: f'{m[0]}    assert not run.touching({m[1]}, "table"), "the lower one stands on the table"\n'),  # type: ignore[arg-type]
    "at the last grasp": substitution(r"run\.end\(((?:\"\w+\"|name))\)\.position\[:2\]", r"run.path(\1)[run.times >= run.grasps[-1][0]][0, :2]"),
    "not a hair below the table": substitution(r"top = run\.end\(thing\.name\)\.top\n        assert top > 0, (.*)", r"top = run.end(thing.name).bottom\n        assert top >= 0, \1"),
    "verb that does not exist": added_check('assert any(event.verb == "grasp" for event in run.events), "nothing was grasped"'),
    "everything was gripped": added_check('gripped = {{name for _, name in run.grasps}}; for thing in sim.objects:;     assert thing.name in gripped, f"{{thing.name}} was never gripped"'),
    "takes a seed": substitution(r"def check_oracle_solves_it\(sim\):\n", "def check_oracle_solves_it(sim, seed):\n"),
    "brackets for a call": first_check(r"run\.end\((\"\w+\"|name)\)|sim\.rollout\(\)\.end\((\"\w+\")\)", lambda m: f"run.end[{m[1]}]" if m[1] else f"sim.rollout().end[{m[2]}]"),  # type: ignore[arg-type]
    "neighbours touch": substitution(r"(        assert ahead > 0, .*\n)", r'\1        assert run.touching(names[index - 1], names[index]), f"{names[index]} does not touch its neighbour"' + "\n"),
    "loop of no step": substitution(r"range\(1, len\(names\)\)", "range(len(names), 1)"),
    "or the reward is enough": last_check(or_the_reward),
    "any of the images": any_of_the_images,
    "only what moved": last_check(only_what_moved),
    "still on the table is enough": last_check(still_on_the_table),
    "asserts its message": last_check(asserts_its_message),
    "no farther than before": no_farther_than_before,
    "compared as sets": compared_as_sets,
    "name from the manual": substitution(r"sim\.zones\[\"\w+\"\]", 'sim.zones["goal_zone"]'),
}  # fmt: skip


def third_fault_kinds(cases: Sequence[Case]) -> dict[str, FaultKind]:
    """Return every kind of fault of the third set by name, those of the simulation first."""
    return {kind: FaultKind("fix_simulation", edit) for kind, edit in SIMULATION.items()} | {
        kind: FaultKind("fix_checks", None, edit) for kind, edit in CHECKS.items()
    }

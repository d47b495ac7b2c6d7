"""A second set of kinds of faults, written down without reading the rules that repair them.

The rules were changed after the first set (blind_faults.py) was run, this set was written before. None of its kinds is
in planted_faults.py or in the first set.
"""

# ruff: noqa: E501  (tables of edits read best one a line)

import re
from collections.abc import Sequence
from itertools import pairwise

from bench.faults.blind_faults import GOAL_CHECK, FaultKind, last_check, names_in, other_goals, quoted
from bench.faults.planted_faults import Case, Edit, added_check, first_check, substitution

PLACES = re.compile(r"kit\.(\w+)\(\"(\w+)\", (\"\w+\")\)")


def goals_about(old: Sequence[str]) -> tuple[str, list[str], str] | None:
    """Return kind, objects and target of goals that differ in their object only; None if they differ otherwise."""
    found = [PLACES.fullmatch(goal) for goal in old]
    kinds = {(match[1], match[3]) for match in found if match}
    if len(old) < 2 or not all(found) or len(kinds) != 1:
        return None
    kind, target = kinds.pop()
    return kind, [match[2] for match in found if match], target


def photographed_place(text: str, case: Case) -> str:
    """Take places from the photograph, although the seed moves the objects."""
    return re.sub(r"(    place_of_\w+ = )sim\[", r"\1scene[", text)


def starts_inside_the_zone(text: str, case: Case) -> str:
    """Draw the starting places within the zone in which the objects should end."""
    zone = re.search(r'kit\.in_zone\("\w+", ("\w+")\)', text)
    return re.sub(r"sim\.scatter\((.*)\)", rf"sim.scatter(\1, within={zone[1]})", text) if zone else text


def at_most_one(old: list[str], case: Case) -> str:
    """Let one of several goals hold at most."""
    return f"sim.goal(kit.count([{', '.join(old)}], at_least=1, at_most=1))" if len(old) > 1 else ""


def about_a_copy(text: str, case: Case) -> str:
    """Set the first object out a second time and write the goals about the copy."""
    a = case.task.objects[0]

    def change(old: list[str], case: Case) -> str:
        copied = [goal.replace(f'"{a}"', f'"{a}_copy"') for goal in old]
        copy = f'sim.copy("{a}", "{a}_copy", xy=sim.free_spot(sim["{a}"].radius))'
        return f"{copy}\nsim.goal({', '.join(copied)})" if copied != old else ""

    return other_goals(change)(text, case)


def overwritten_in_a_loop(old: list[str], case: Case) -> str:
    """Overwrite the list of goals in a loop, so that only the last counts."""
    about = goals_about(old)
    if not about:
        return ""
    kind, names, target = about
    return f"for name in [{quoted(names)}]:\n    wanted = [kit.{kind}(name, {target})]\nsim.goal(*wanted)"


def goals_in_a_loop(old: list[str], case: Case) -> str:
    """Write the goals as one list."""
    about = goals_about(old)
    return f"sim.goal(*[kit.{about[0]}(name, {about[2]}) for name in [{quoted(about[1])}]])" if about else ""


def tower_of_pairs(old: list[str], case: Case) -> str:
    """Write a tower as pairs of which one rests on the other."""
    names = names_in(old[0]) if len(old) == 1 and "stacked" in old[0] else []
    pairs = [f'kit.on("{upper}", "{lower}")' for lower, upper in pairwise(names)]
    return f"sim.goal({', '.join(pairs)})" if pairs else ""


def trusts_the_goals(text: str, case: Case) -> str:
    """Read whether the goals are met instead of measuring."""
    parts = [part for part in re.split(r"(?=^def )", text, flags=re.M) if not GOAL_CHECK.match(part)]
    check = (
        "def check_every_goal_is_met(sim):\n"
        "    for goal in sim.rollout().goals:\n"
        "        assert goal[\"met\"], f\"{goal['name']} is missed by {goal['miss'] * 100:.1f} cm\"\n"
    )
    return f"{''.join(parts).rstrip()}\n\n\n{check}"


def any_of_its_conditions(check: str, before: str) -> str:
    """Be content with one of a check's conditions."""
    found = re.findall(r"^    assert (.*), (f?\".*)\n", check, flags=re.M)
    if len(found) < 2:
        return check
    conditions = " or ".join(f"({condition})" for condition, _ in found)
    without = re.sub(r"^    assert .*\n", "", check, flags=re.M).rstrip()
    return f"{without}\n    assert {conditions}, {found[-1][1]}\n"


def one_function(text: str, case: Case) -> str:
    """Put the bodies of all checks into one function."""
    head, *parts = re.split(r"(?=^def )", text, flags=re.M)
    bodies = [re.sub(r'^    """.*"""\n', "", part.partition("\n")[2].rstrip("\n"), flags=re.M) for part in parts]
    return f"{head}def check_everything(sim):\n" + "\n".join(bodies) + "\n" if len(parts) > 1 else text


SIMULATION: dict[str, Edit] = {
    "goals never set": substitution(r"    sim\.goal\(", "    wanted = ("),
    "half as large": substitution(r"    sim\.scatter\((\"\w+\")", r"    sim.resize(\1, 0.5)\n    sim.scatter(\1", 1),
    "photographed place": photographed_place,
    "starts inside the zone": starts_inside_the_zone,
    "at most one": other_goals(at_most_one),
    "goals about a copy": about_a_copy,
    "a list for arguments": substitution(r"sim\.scatter\((\"\w+\"(?:, \"\w+\")*)", r"sim.scatter([\1]"),
    "overwritten in a loop": other_goals(overwritten_in_a_loop),
}

CHECKS: dict[str, Edit] = {
    "signed difference": lambda text, case: substitution(r"math\.dist\((.*), (.*)\)\n", r"float(sum(\1 - \2))\n")(text.replace("abs(gap)", "gap"), case),
    "trusts the goals": trusts_the_goals,
    "any of its conditions": last_check(any_of_its_conditions),
    "itself for the other": first_check(r"run\.end\((\S+)\), run\.(?:end|start)\(\S+\)", r"run.end(\1), run.end(\1)"),
    "last of the row unchecked": substitution(r"range\(1, len\(names\)\)", "range(1, len(names) - 1)"),
    "returned instead of asserted": last_check(lambda check, before: re.sub(r"^( +)assert (.*), f?\".*\n", r"\1return \2\n", check, flags=re.M)),
    "never lifted": added_check('rise = run.path("{a}")[:, 2].max() - run.start("{a}").position[2]; assert rise < 0.02, f"{a} was {{rise * 100:.1f}} cm above its place"'),
    "only the first may move": added_check('for thing in sim.objects:;     assert thing.name == "{a}" or run.moved(thing.name) < 0.005, f"{{thing.name}} was moved"'),
    "order of grasps": added_check('first = run.grasps[0][1]; assert first == "{b}", f"{{first}} was gripped before {b}"'),
    "call forgotten": first_check(r"run = sim\.rollout\(\)", "run = sim.rollout"),
    "objects for names": substitution(r"run\.touching\((\"\w+\"), (\"\w+\")\)", r"run.touching(run.end(\1), run.end(\2))"),
    "centres for faces": substitution(r"abs\(gap\) < 0\.02 or run\.touching\([^)]*\)", "abs(up.position[2] - low.position[2]) < 0.02"),
}  # fmt: skip

SOUND: dict[str, FaultKind] = {
    "goals in a loop": FaultKind("done", other_goals(goals_in_a_loop)),
    "tower of pairs": FaultKind("done", other_goals(tower_of_pairs)),
    "one function for all checks": FaultKind("done", None, one_function),
    "in centimetres": FaultKind("done", None, substitution(r"assert (off|bend|depth) < 0\.(\d\d)(\d?),", lambda m: f"assert {m[1]} * 100 < {int(m[2])}{'.' + m[3] if m[3] else ''},")),  # type: ignore[arg-type]
}  # fmt: skip


def second_fault_kinds(cases: Sequence[Case]) -> dict[str, FaultKind]:
    """Return every kind of fault of the second set by name, those of the simulation first."""
    return (
        {kind: FaultKind("fix_simulation", edit) for kind, edit in SIMULATION.items()}
        | {kind: FaultKind("fix_checks", None, edit) for kind, edit in CHECKS.items()}
        | SOUND
    )

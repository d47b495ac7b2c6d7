"""A fourth set of kinds of faults, written down without reading the rules that route and repair.

None of its kinds is in planted_faults.py or in the first, second or third set. It holds no sound programs: every kind
is at fault on the side that is stated.
"""

# ruff: noqa: E501  (tables of edits read best one a line)

import re
from collections.abc import Sequence

from bench.faults.blind_faults import (
    GOAL_CHECK,
    FaultKind,
    before_goals,
    last_check,
    names_in,
    other_goals,
    quoted,
)
from bench.faults.planted_faults import Case, Edit, added_check, first_check, substitution

OTHER_KEYS = {"sort_by_size": "height", "sort_by_colour": "size", "sort_by_height": "width"}
"""A key that the task does not mean."""


def all_on_the_bottom_one(old: list[str], case: Case) -> str:
    """Put every object of a tower on the lowest one."""
    names = names_in(old[0]) if len(old) == 1 and "stacked" in old[0] else []
    pairs = [f'kit.on("{name}", "{names[0]}")' for name in names[1:]]
    return f"sim.goal({', '.join(pairs)})" if len(pairs) > 1 else ""


def none_for_all(old: list[str], case: Case) -> str:
    """Ask that none of the goals holds."""
    return f"sim.goal(kit.count([{', '.join(old)}], exactly=0))" if old else ""


def in_and_out(old: list[str], case: Case) -> str:
    """Cancel a goal about a zone by its opposite, in the same stage."""
    found = re.fullmatch(r"kit\.(in_zone|outside)\((\"\w+\", \"\w+\")\)", old[0]) if old else None
    if not found:
        return ""
    opposite = "outside" if found[1] == "in_zone" else "in_zone"
    return f"sim.goal({', '.join(old)}, kit.{opposite}({found[2]}))"


def by_another_key(old: list[str], case: Case) -> str:
    """Sort by another property than the task does."""
    key, names = OTHER_KEYS.get(case.task.kind), names_in(old[0]) if len(old) == 1 else []
    return f'sim.goal(kit.sorted_by([{quoted(names)}], "{key}"))' if key and names else ""


def each_on_the_other(old: list[str], case: Case) -> str:
    """Want each of two objects on the other."""
    found = re.fullmatch(r"kit\.on\((\"\w+\"), (\"\w+\")\)", old[0]) if len(old) == 1 else None
    if found:
        return f"sim.goal({old[0]}, kit.on({found[2]}, {found[1]}))"
    names = names_in(old[0]) if len(old) == 1 and "stacked" in old[0] else []
    return f'sim.goal({old[0]}, kit.on("{names[0]}", "{names[-1]}"))' if names else ""


def mirrored_by_half(text: str, case: Case) -> str:
    """Forget the factor of two: everything ends on the line in the middle."""
    lines = (
        "    right = sim.scene.right\n"
        f"    places = {{name: sim[name].position[:2] for name in [{quoted(case.task.objects)}]}}\n"
        "    ahead = [xy @ right for xy in places.values()]\n"
        "    middle = (max(ahead) + min(ahead)) / 2\n"
        "    image = {name: xy + (middle - xy @ right) * right for name, xy in places.items()}\n"
    )
    return re.sub(r"    image = sim\.mirrored\(.*\)\n", lines, text)


def near_and_far_exchanged(text: str, case: Case) -> str:
    """Mirror along the camera's view instead of across it."""
    lines = (
        "    away = sim.scene.away\n"
        f"    places = {{name: sim[name].position[:2] for name in [{quoted(case.task.objects)}]}}\n"
        "    depth = [xy @ away for xy in places.values()]\n"
        "    middle = (max(depth) + min(depth)) / 2\n"
        "    image = {name: xy + 2 * (middle - xy @ away) * away for name, xy in places.items()}\n"
    )
    return re.sub(r"    image = sim\.mirrored\(.*\)\n", lines, text)


def next_to_it(old: list[str], case: Case) -> str:
    """Put the object to the right of the other instead of on or in it."""
    found = [re.fullmatch(r"kit\.(?:on|inside)\((\"\w+\"), (\"\w+\")\)", goal) for goal in old]
    if not found or not all(found):
        return ""
    goals = [f"kit.right_of({match[1]}, {match[2]})" for match in found if match]
    near = [f"kit.near({match[1]}, {match[2]}, distance=0.25)" for match in found if match]
    return f"sim.goal({', '.join([*goals, *near])})"


def only_where_it_stands_left(old: list[str], case: Case) -> str:
    """Set the goals only where the first object stands in the left half of the table."""
    place = f'sim["{case.task.objects[0]}"].position[:2] - sim.scene.table.centre'
    return f"if ({place}) @ sim.scene.right < 0:\n    sim.goal({', '.join(old)})" if old else ""


def category_for_a_name(old: list[str], case: Case) -> str:
    """Call an object by its category."""
    a = case.task.objects[0]
    category = case.scene[a].category
    if not category or category in {thing.name for thing in case.scene.objects}:
        return ""
    changed = [goal.replace(f'"{a}"', f'"{category}"') for goal in old]
    return f"sim.goal({', '.join(changed)})" if changed != old else ""


def a_goal_for_each_seed(old: list[str], case: Case) -> str:
    """Set one of several goals, another in each layout."""
    return f"goals = [{', '.join(old)}]\nsim.goal(goals[seed % len(goals)])" if len(old) > 1 else ""


def zone_scattered(text: str, case: Case) -> str:
    """Scatter the zone like a thing."""
    found = re.search(r"sim\.add_zone\((\"\w+\")", text)
    return re.sub(r"sim\.scatter\(", f"sim.scatter({found[1]}, ", text, count=1) if found else text


def container_over_a_thing(text: str, case: Case) -> str:
    """Set the container out where the object stands that belongs in it."""
    place = f'sim["{case.task.objects[0]}"].position[:2]'
    return re.sub(r"(sim\.add_container\(\"\w+\", )xy=\([^)]*\)", rf"\1xy={place}", text, count=1)


def on_the_lowest(text: str, case: Case) -> str:
    """Measure every level of a tower against its lowest object."""
    if case.task.kind != "stack" or len(case.task.objects) < 3:
        return text
    bottom = case.task.objects[0]
    return re.sub(
        r"(up, low = run\.end\(\"\w+\"\), run\.end\()\"\w+\"(\)\n.*\n    assert abs\(gap\) < 0\.02 or run\.touching\(\"\w+\", )\"\w+\"",
        rf'\1"{bottom}"\2"{bottom}"',
        text,
    )


def height_for_the_top(text: str, case: Case) -> str:
    """Take the height of the lower object for the height of its top, although it stands on others."""
    if case.task.kind != "stack":
        return text
    return re.sub(
        r"gap = up\.bottom - low\.top\n    assert abs\(gap\) < 0\.02 or run\.touching\([^)]*\)",
        "gap = up.bottom - low.height\n    assert abs(gap) < 0.02",
        text,
    )


def mean_for_the_middle(text: str, case: Case) -> str:
    """Mirror about the mean of the places instead of the middle between the outermost."""
    return text.replace("middle = (max(ahead) + min(ahead)) / 2", "middle = sum(ahead) / len(ahead)")


def never_called(text: str, case: Case) -> str:
    """Write the checks of the goals as helpers that nothing calls."""
    parts = re.split(r"(?=^def )", text, flags=re.M)
    return "".join(re.sub(r"^def check_", "def verify_", part) if GOAL_CHECK.match(part) else part for part in parts)


def breaks_after_the_first(text: str, case: Case) -> str:
    """Leave the loop over the objects after the first of them."""
    return re.sub(r"(^        assert off < .*\n)", r"\1        break\n", text, flags=re.M)


def moved_is_enough(check: str, before: str) -> str:
    """Ask only whether the objects of the goal were moved."""
    row = re.search(r"names = (\[.*\])", check)
    one = re.search(r"run\.end\((\"\w+\")\)", check)
    if not row and not one:
        return check
    names = f"{row[1]}[:-1]" if row else f"[{one[1]}]" if one else ""
    head = check.partition("\n")[0]
    lines = f'    for name in {names}:\n        assert run.moved(name) > 0.01, f"{{name}} was not moved"\n'
    return f"{head}\n    run = sim.rollout()\n{lines}"


def generator_is_true(check: str, before: str) -> str:
    """Assert a generator, which is always true, where `all` was meant."""
    return re.sub(r"^( +)assert (.*), (f?\".*\")$", r"\1assert (held for held in [\2]), \3", check, flags=re.M)


def prints_what_is_wrong(check: str, before: str) -> str:
    """Print what is wrong instead of asserting."""
    return re.sub(r"^( +)assert (.*), (f?\".*\")$", r"\1if not (\2):\n\1    print(\3)", check, flags=re.M)


def one_miss_forgiven(text: str, case: Case) -> str:
    """Tolerate that one of the things measured is wrong."""
    changed = re.sub(
        r"    for name, before in zip\(names, ahead\):\n((?:        .*\n)*?)        assert off < 0\.05, .*\n",
        r"    wrong = []"
        r"\n    for name, before in zip(names, ahead):\n\1        if off >= 0.05:\n            wrong.append(name)\n"
        r'    assert len(wrong) <= 1, f"not at their mirror images: {wrong}"'
        "\n",
        text,
    )
    return last_check(_one_condition_forgiven)(text, case) if changed == text else changed


def _one_condition_forgiven(check: str, before: str) -> str:
    found = re.findall(r"^    assert (.*), (f?\".*\")$", check, flags=re.M)
    if len(found) < 2 or "for index in" in check:
        return check
    without = re.sub(r"^    assert .*\n", "", check, flags=re.M).rstrip()
    conditions = ", ".join(condition for condition, _ in found)
    return f"{without}\n    wrong = [held for held in ({conditions}) if not held]\n    assert len(wrong) <= 1, {found[0][1]}\n"


SIMULATION: dict[str, Edit] = {
    "all on the bottom one": other_goals(all_on_the_bottom_one),
    "none for all": other_goals(none_for_all),
    "in and out": other_goals(in_and_out),
    "row longer than the table": substitution(r"(kit\.in_row\(.*along=\"\w+\")", r"\1, spacing=0.4"),
    "container taken for a zone": substitution(r"kit\.inside\(", "kit.in_zone("),
    "names without brackets": substitution(r"kit\.(in_row|stacked)\(\[(.*?)\]", r"kit.\1(\2"),
    "rehearsed while building": before_goals("before = sim.state()"),
    "sorted by another key": other_goals(by_another_key),
    "axis by its letter": substitution(r"along=\"right\"", 'along="x"'),
    "container over a thing": container_over_a_thing,
    "each on the other": other_goals(each_on_the_other),
    "mirrored by half": mirrored_by_half,
    "near and far exchanged": near_and_far_exchanged,
    "each at its own place": substitution(r"kit\.at\(\"(\w+)\", [^)]*\)", r'kit.at("\1", sim["\1"].position[:2])'),
    "next to it": other_goals(next_to_it),
    "goal only where it stands left": other_goals(only_where_it_stands_left),
    "target further out each seed": substitution(r"(sim\.add_\w+\(\"\w+\", xy=\()(-?[\d.]+), ", r"\1\2 + 0.3 * seed, "),
    "larger with each seed": before_goals('sim.resize("{a}", 1 + 0.6 * seed)'),
    "category for a name": other_goals(category_for_a_name),
    "a goal for each seed": other_goals(a_goal_for_each_seed),
    "zone scattered": zone_scattered,
}

CHECKS: dict[str, Edit] = {
    "turned like the one below": first_check(r"    assert up\.position\[2\] > low\.position\[2\], ", r'    assert abs(up.yaw - low.yaw) < 0.02, f"turned by {up.yaw - low.yaw:.2f} against the one below"' "\n\\g<0>"),
    "names put in order": substitution(r"    names = (\[.*\])\n    places = ", r"    names = sorted(\1)\n    places = "),
    "a hand's breadth out": first_check(r"assert depth < 0\.002", "assert depth < -0.1"),
    "mean for the middle": mean_for_the_middle,
    "on the lowest of all": on_the_lowest,
    "height for the top": height_for_the_top,
    "reward the whole time": substitution(r"assert run\.reward > 0\.99, ", "assert min(run.rewards) > 0.99, "),
    "a name among pairs": added_check('assert "{a}" in run.grasps, "{a} was never gripped"'),
    "others exactly still": added_check('for thing in sim.objects:;     gripped = [name for _, name in run.grasps];     assert thing.fixed or thing.name in gripped or run.moved(thing.name) == 0, f"{{thing.name}} was moved"'),
    "starts as photographed": added_check('shift = abs(run.start("{a}").position - sim.scene["{a}"].position)[:2].max(); assert shift < 0.01, f"{a} starts {{shift * 100:.1f}} cm from its place in the photograph"'),
    "asks the simulation for the run": first_check(r"(run|sim\.rollout\(\))\.end\(", "sim.end("),
    "two against three coordinates": substitution(r"math\.dist\((.*?)\.position\[:2\], ", r"math.dist(\1.position, "),
    "asks the photograph for a new thing": substitution(r"run\.end\((\"bin\"|\"tray\"|\"\w*_(?:bin|tray|box_\d))\)|sim\.zones\[(\"\w+\")\]", lambda m: f"sim.scene[{m[1] or m[2]}]"),  # type: ignore[arg-type]
    "distance for order": substitution(r"ahead = (places\[index\] - places\[index - 1\])", r"ahead = abs(\1)"),
    "helper never called": never_called,
    "breaks after the first": breaks_after_the_first,
    "moved is enough": last_check(moved_is_enough),
    "a generator is true": last_check(generator_is_true),
    "prints what is wrong": last_check(prints_what_is_wrong),
    "one miss is forgiven": one_miss_forgiven,
    "the first again and again": substitution(r"off = math\.dist\(run\.end\(name\)|(places = \[run\.end\()name\)", lambda m: f"{m[1]}names[0])" if m[1] else "off = math.dist(run.end(names[0])"),  # type: ignore[arg-type]
}  # fmt: skip


def fourth_fault_kinds(cases: Sequence[Case]) -> dict[str, FaultKind]:
    """Return every kind of fault of the fourth set by name, those of the simulation first."""
    return {kind: FaultKind("fix_simulation", edit) for kind, edit in SIMULATION.items()} | {
        kind: FaultKind("fix_checks", None, edit) for kind, edit in CHECKS.items()
    }
